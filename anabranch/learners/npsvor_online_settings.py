"""The settings of online NPSVOR, checked once."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from anabranch.learners.options import (
    check_between,
    check_choice,
    check_flag,
    check_names,
    check_whole,
)

__all__ = ["NpsvorSettings"]

_WIRES = {"single": np.float32, "half": np.float16, "double": np.float64}
_LONGEST = 100.0


@dataclass(frozen=True, slots=True)
class NpsvorSettings:
    """Settings of online NPSVOR; see `NPSVOR`."""

    features: int
    ranks: int
    step: float
    epsilon: float
    bias: bool
    batch_rows: int
    wire: str
    names: tuple[str, ...] | None

    @classmethod
    def of(cls, *, names: Sequence[str] | None, **given: Any) -> Self:
        """Check everything.

        Raises
        ------
        ConfigurationError
            A value is not allowed; the message says what is.
        """
        own = cls(names=None if names is None else tuple(names), **given)
        check_whole("features", own.features, 1)
        check_whole("ranks", own.ranks, 2)
        check_between("step", own.step, 0.0, _LONGEST, above=True)
        check_between("epsilon", own.epsilon, 0.0, 1.0)
        check_flag("bias", own.bias)
        check_whole("batch_rows", own.batch_rows, 1)
        check_choice("wire", own.wire, tuple(_WIRES))
        if own.names is not None:
            check_names(own.names, own.features)
        return own

    @property
    def kind(self) -> Any:
        """Type of numbers in messages."""
        return np.dtype(_WIRES[self.wire])

    @property
    def held(self) -> Any:
        """Type of numbers in the node."""
        return np.dtype(np.float64 if self.wire == "double" else np.float32)

    @property
    def order(self) -> Any:
        """The columns in sorted order of their names; None where they stand in it."""
        order = np.argsort(np.array(self.names or ()), kind="stable")
        return None if (order == np.arange(len(order))).all() else order

    @classmethod
    def restore(cls, saved: Mapping[str, Any]) -> Self:
        """Build them from `as_dict`.

        Raises
        ------
        KeyError, TypeError, ValueError, ConfigurationError
            A setting is missing, unknown or not allowed.
        """
        return cls.of(**saved)

    def as_dict(self) -> dict[str, Any]:
        """Give them as JSON values."""
        return {**asdict(self), "names": None if self.names is None else list(self.names)}
