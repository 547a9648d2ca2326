"""A synthetic stream of reviews: texts with ranks, made of words whose meaning is known."""

from dataclasses import dataclass, field

import numpy as np

from anabranch.features.hashing import TextHasher
from anabranch.kernels.reviews import NONE, NOT, fill_reviews
from anabranch.protocol import Array
from anabranch.sparse import SparseRows

__all__ = ["OPINIONS", "ReviewStream"]

OPINIONS = (
    "awful", "dreadful", "bad", "poor", "dull", "weak", "flat", "fair", "decent", "fine", "nice",
    "good", "strong", "great", "superb", "perfect",
)  # fmt: skip
"""From the worst to the best."""
_OTHERS = (
    "the", "film", "book", "story", "plot", "scene", "actor", "author", "music", "sound",
    "picture", "ending", "chapter", "cast", "script", "this", "that", "it", "was", "is", "has",
    "with", "from", "and", "but", "also", "then", "there", "some", "many", "little", "much",
    "about", "of", "to", "for", "on", "in", "at", "his", "her", "their", "one", "two", "first",
    "last", "long", "short", "old", "new", "day", "night", "city", "house", "family", "friend",
    "love", "war", "work", "time", "year", "page", "line", "word", "light", "colour",
)  # fmt: skip
_WORDS = {**dict(enumerate([*OPINIONS, *_OTHERS])), NOT: "not"}
_LONGEST = 24


@dataclass(frozen=True)
class ReviewStream:
    """An endless stream of (text, rank), readable from any position.

    Ranks are uniform in 1..5. A third of a review's words are opinions, near its rank's place
    among `OPINIONS`; now and then one says the same by "not" and its opposite, which only
    neighbouring words together tell. The others mean nothing.

    Attributes
    ----------
    hasher : makes the rows
    seed : decides every text
    """

    hasher: TextHasher = field(default_factory=TextHasher)
    seed: int = 0

    @property
    def features(self) -> int:
        """Number of columns that the words are hashed into."""
        return self.hasher.features

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return 5

    def texts(self, start: int, count: int) -> tuple[list[str], Array]:
        """Give reviews start .. start + count - 1: texts, and ranks (count,).

        Examples
        --------
        >>> texts, ranks = ReviewStream().texts(3, 1)
        >>> texts[0][:34], ranks.tolist()
        ('perfect day war fair scene great p', [4.0])
        """
        words, y = np.empty((count, _LONGEST), np.int64), np.empty(count)
        seed = np.uint64(self.seed)
        fill_reviews(seed, start, self.ranks, len(OPINIONS), len(_OTHERS), words, y)
        return [" ".join([_WORDS[i] for i in row if i != NONE]) for row in words.tolist()], y

    def block(self, start: int, count: int) -> tuple[SparseRows, Array]:
        """Give rows start .. start + count - 1: X (count, features) and y (count,).

        Examples
        --------
        >>> X, y = ReviewStream().block(0, 10)
        >>> X.shape, bool((ReviewStream().block(7, 3)[1] == y[7:]).all())
        ((10, 262144), True)
        """
        texts, y = self.texts(start, count)
        return self.hasher.rows(texts), y
