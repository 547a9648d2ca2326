"""In which form a window keeps its inverse: by its settings, its shape and its rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from anabranch.errors import ConfigurationError, ModelError
from anabranch.learners.doml_window_dense import DenseRing
from anabranch.learners.doml_window_dual import Dual
from anabranch.learners.doml_window_endless import Endless
from anabranch.learners.doml_window_inverse import Step
from anabranch.learners.doml_window_primal import Primal
from anabranch.learners.doml_window_sparse import SparseRing
from anabranch.learners.options import check_choice, check_whole
from anabranch.learners.states import saved_value
from anabranch.protocol import Array

__all__ = ["FORMS", "AnyRows", "Inverse", "WindowSettings"]

FORMS = ("primal", "dual", "sparse")
AnyRows = DenseRing | SparseRing | Endless
_TYPES: Mapping[str, type] = {"float64": np.float64, "float32": np.float32}
_REFACTORISE, _ROUGH = 1000, 100
"""Rows until the inverse is built anew, and those in float32 where the inverse is too."""
_FLOORS = {"float64": 1e-3, "float32": 0.1}
_SPARSE = 0.1
"""Share of values that are not zero up to which rows are kept sparse."""


class Inverse(Protocol):
    """`Primal` or `Dual`, with the rows that belong to it."""

    def outdated(self, rows: Any) -> bool:
        """Tell whether it is cheaper to build the inverse anew."""
        ...

    def renew(self, rows: Any, step: Step) -> None:
        """Build the inverse from the rows."""
        ...

    def solve(self, rows: Any, step: Step, right: Array) -> Array | None:
        """Take changes in and give (c I + k X'X)^-1 right; None if digits were lost."""
        ...

    def export(self) -> dict[str, Any]:
        """Give the arrays of the inverse."""
        ...

    def fill(self, state: Mapping[str, Any], settled: int) -> None:
        """Take what `export` gave; raises `ModelError` where it is damaged."""
        ...


@dataclass(frozen=True, slots=True)
class WindowSettings:
    """Settings of a `Window`, checked; see there."""

    features: int
    capacity: int | None
    dtype: str
    form: str
    refactorise: int | None

    @classmethod
    def of(
        cls,
        features: int,
        capacity: int | None,
        dtype: str = "float64",
        form: str = "auto",
        refactorise: int | None = None,
    ) -> Self:
        """Check settings.

        Raises
        ------
        ConfigurationError
            A value is out of range.
        """
        check_choice("dtype", dtype, tuple(_TYPES))
        check_choice("form", form, ("auto", *FORMS) if capacity else ("auto", "primal"))
        check_whole("features", features, 1)
        if refactorise is not None:
            check_whole("refactorise", refactorise, 1)
        if capacity is not None:
            check_whole("capacity", capacity, 1)
        return cls(features, capacity, dtype, form, refactorise)

    @property
    def type(self) -> type:
        """The numpy type of rows, inverse and solutions."""
        return _TYPES[self.dtype]

    @property
    def floor(self) -> float:
        """Part of a pivot that must be left when a row goes."""
        return _FLOORS[self.dtype]

    def rows_between(self, form: str) -> int:
        """Give the rows after which the inverse of a form is built anew."""
        if self.refactorise is not None:
            return self.refactorise
        return _ROUGH if (form, self.dtype) == ("primal", "float32") else _REFACTORISE

    @property
    def possible(self) -> Sequence[str]:
        """The forms that it may take."""
        if self.form != "auto":
            return (self.form,)
        return FORMS if self.capacity else FORMS[:1]

    def choose(self, density: float) -> str:
        """Choose the form for rows of which this share is not zero."""
        d, s = self.features, self.capacity or self.features
        if self.form != "auto":
            return self.form
        if 2 * s < d and density <= _SPARSE:
            return "sparse"
        return "dual" if 4 * s < d else "primal"

    def rows(self, form: str, outputs: int) -> AnyRows:
        """Give empty rows for a form; "" while none is chosen."""
        d, s = self.features, self.capacity
        if s is None:
            return Endless(d, self.type, Primal.most_changes(d, 0))
        if form == "sparse":
            return SparseRing(d, outputs, s, self.type)
        keep = Primal.most_changes(d, s) if form == "primal" else 0
        return DenseRing(d, outputs, s, self.type, keep)

    def inverse(self, form: str) -> Inverse:
        """Give an empty inverse for a form."""
        maker = Primal if form == "primal" else Dual
        return maker(self.features, self.capacity or 0, self.type)

    def export(self) -> dict[str, Any]:
        """Give the settings as JSON values."""
        names = ("features", "capacity", "dtype", "form", "refactorise")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> Self:
        """Read them from a state; raises `ModelError` where it is damaged."""
        names = ("features", "capacity", "dtype", "form", "refactorise")
        given = {name: saved_value(state, name) for name in names}
        try:
            return cls.of(**given)
        except ConfigurationError as error:
            raise ModelError(f"damaged state: {error}") from error
