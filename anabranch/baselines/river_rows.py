"""Rows as River takes them: dictionaries, of sparse rows without their zeros."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar

from anabranch.baselines.base import Baseline
from anabranch.learners.rows import checked_rows
from anabranch.learners.sparse_samples import checked_sparse
from anabranch.sparse import SparseRows

__all__ = ["RiverBaseline", "Sample"]

Sample = dict[Any, float]
"""A row: number of a field -> its value."""


class RiverBaseline(Baseline):
    """A model of River's; fields go by their numbers, and of sparse rows only those that are there.

    River takes a field that is not there as none, not as 0: scalers leave it out of its mean.
    """

    sparse: ClassVar[bool] = True

    def _samples(self, X: Any) -> Sequence[Sample]:
        if not isinstance(X, SparseRows):
            return [dict(enumerate(x.tolist())) for x in checked_rows(X, self.features)]
        rows = checked_sparse(X, self.features)
        ends, indices, values = (a.tolist() for a in (rows.indptr, rows.indices, rows.values))
        return [
            dict(zip(indices[start:end], values[start:end], strict=True))
            for start, end in pairwise(ends)
        ]
