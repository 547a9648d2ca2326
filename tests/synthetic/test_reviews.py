"""Reviews that are made up: by position alone, and learnable by their words."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.features.hashing import TextHasher
from anabranch.synthetic_reviews import OPINIONS, ReviewStream


@settings(max_examples=30)
@given(start=st.integers(0, 1 << 41), count=st.integers(1, 20), seed=st.integers(0, 2**32 - 1))
def test_a_review_depends_on_its_position_alone(start: int, count: int, seed: int) -> None:
    stream = ReviewStream(seed=seed)
    texts, y = stream.texts(start, count)
    one, rank = stream.texts(start + count - 1, 1)
    assert (texts[-1], y[-1]) == (one[0], rank[0])
    assert set(y.tolist()) <= {1, 2, 3, 4, 5}
    assert all(12 <= len(text.split()) <= 24 for text in texts)


def test_rows_are_the_hashed_texts() -> None:
    stream = ReviewStream(TextHasher(12, 1), seed=3)
    X, y = stream.block(5, 40)
    texts, ranks = stream.texts(5, 40)
    assert X.indices.tolist() == TextHasher(12, 1).rows(texts).indices.tolist()
    assert y.tolist() == ranks.tolist()
    assert (stream.features, stream.ranks) == (4096, 5)


def test_opinions_tell_the_rank_and_not_turns_them() -> None:
    texts, y = ReviewStream(seed=1).texts(0, 4000)
    assert np.allclose(np.bincount(y.astype(int))[1:] / 4000, 0.2, atol=0.03)
    place = {word: (at + 0.5) / len(OPINIONS) for at, word in enumerate(OPINIONS)}
    straight: list[list[float]] = [[] for _ in range(5)]
    turned: list[list[float]] = [[] for _ in range(5)]
    for text, rank in zip(texts, y.astype(int).tolist(), strict=True):
        words = text.split()
        for before, word in zip(["", *words], words, strict=False):
            if word in place:
                (turned if before == "not" else straight)[rank - 1].append(place[word])
    wanted = [0.1, 0.3, 0.5, 0.7, 0.9]
    # the ends are nearer to the middle: what goes past them stays there
    assert np.allclose([np.mean(some) for some in straight], wanted, atol=0.05)
    assert np.allclose([1 - np.mean(some) for some in turned], wanted, atol=0.05)
