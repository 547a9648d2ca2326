"""Disagreement between nodes."""

import numpy as np
import pytest

from anabranch.errors import MessageError
from anabranch.evaluation import Disagreement, disagreement


def test_distances_from_the_average() -> None:
    vectors = [np.array([0.0, 0.0]), np.array([3.0, 0.0]), np.array([0.0, 6.0])]
    mean = np.array([1.0, 2.0])
    distances = [float(np.linalg.norm(v - mean)) for v in vectors]
    found = disagreement(vectors)
    assert found.max == pytest.approx(max(distances))
    assert found.mean == pytest.approx(np.mean(distances))


def test_equal_vectors_one_vector_or_none_agree() -> None:
    assert disagreement([np.ones(4)] * 3) == Disagreement(0.0, 0.0)
    assert disagreement([np.ones(4)]) == Disagreement(0.0, 0.0)
    assert disagreement([]) == Disagreement(0.0, 0.0)


def test_unlike_lengths_are_refused() -> None:
    with pytest.raises(MessageError, match=r"lengths \[2, 3\]"):
        disagreement([np.ones(2), np.ones(3)])
