"""How far apart the nodes' parameters are."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anabranch.errors import MessageError
from anabranch.protocol import Array

__all__ = ["Disagreement", "disagreement"]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Euclidean distances of the nodes' parameters from their average."""

    max: float
    mean: float


def disagreement(vectors: Sequence[Array]) -> Disagreement:
    """Measure the distances of flat vectors from their average.

    Parameters
    ----------
    vectors : one (p,) array a node; a single one agrees with itself, and so does none

    Raises
    ------
    MessageError
        The vectors differ in length.

    Examples
    --------
    >>> disagreement([np.array([0.0, 0.0]), np.array([6.0, 8.0])])
    Disagreement(max=5.0, mean=5.0)
    """
    if not vectors:
        return Disagreement(0.0, 0.0)
    lengths = sorted({np.size(vector) for vector in vectors})
    if len(lengths) > 1:
        raise MessageError(f"parameter vectors have lengths {lengths}; allowed: one length")
    stacked = np.array([np.ravel(vector) for vector in vectors], dtype=np.float64)
    distances = np.sqrt(np.square(stacked - stacked.mean(axis=0)).sum(axis=1))
    return Disagreement(float(distances.max()), float(distances.mean()))
