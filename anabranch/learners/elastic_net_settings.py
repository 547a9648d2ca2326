"""The settings of the elastic net, checked once."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from anabranch.errors import ConfigurationError
from anabranch.features.frame import Frame
from anabranch.learners.options import check_between, check_choice, check_names, check_whole
from anabranch.protocol import Array

__all__ = ["ElasticNetSettings"]

_CHOICES = {
    "shape": ("server", "graph"),
    "role": ("node", "hub"),
    "scaling": ("consensus", "none"),
    "solver": ("cholesky", "prp"),
}
_WHOLE = {"features": 1, "window": 0, "panes": 2, "timeout": 0, "ttl": 0}
_BETWEEN = {
    "u1": (0.0, None), "u2": (0.0, None), "quorum": (0.0, 1.0), "growth": (0.0, None),
    "absolute": (0.0, None), "relative": (0.0, None), "units": (0.0, None),
}  # fmt: skip
_POSITIVE = {"kappa": None, "relax": 2.0, "decay": 1.0}


@dataclass(frozen=True, slots=True)
class ElasticNetSettings:
    """Settings of the elastic net; `units` is how far a frame may be from the moments."""

    features: int
    u1: float
    u2: float
    shape: str
    role: str
    scaling: str
    rho: float | None
    kappa: float
    relax: float
    solver: str
    decay: float
    window: int
    panes: int
    quorum: float
    timeout: int
    ttl: int
    growth: float
    absolute: float
    relative: float
    units: float
    names: tuple[str, ...]

    @classmethod
    def of(cls, *, names: Sequence[str] | None, **given: Any) -> Self:
        """Check everything; without `names` the fields are "0", "1", ...

        Raises
        ------
        ConfigurationError
            A value is not allowed; the message says what is.
        """
        check_whole("features", given["features"], 1)
        if names is None:
            names = [str(i) for i in range(int(given["features"]))]
        settings = cls(names=tuple(names), **given)
        settings.check()
        return settings

    def check(self) -> None:
        """Refuse what is not allowed.

        Raises
        ------
        ConfigurationError
            Names the key, the value and what is allowed.
        """
        for key, allowed in _CHOICES.items():
            check_choice(key, getattr(self, key), allowed)
        for key, least in _WHOLE.items():
            check_whole(key, getattr(self, key), least)
        for key, (low, high) in _BETWEEN.items():
            check_between(key, getattr(self, key), low, high)
        for key, most in _POSITIVE.items():
            check_between(key, getattr(self, key), 0.0, most, above=True)
        if self.rho is not None:
            check_between("rho", self.rho, 0.0, above=True)
        self._check_together()

    def _check_together(self) -> None:
        if self.window and self.decay < 1.0:
            raise ConfigurationError(
                f"two ways to forget: window={self.window}, decay={self.decay}; "
                "allowed: one of them"
            )
        if self.relax == 2.0 or (self.window and self.window < self.panes):
            raise ConfigurationError(
                f"out of range: relax={self.relax}, window={self.window}; "
                f"allowed: relax < 2, and window of 0 or >= panes ({self.panes})"
            )
        check_names(self.names, self.features)

    @classmethod
    def restore(cls, saved: Mapping[str, Any]) -> Self:
        """Build them from `as_dict`.

        Raises
        ------
        KeyError, TypeError, ValueError, ConfigurationError
            A setting is missing, unknown or not allowed.
        """
        settings = cls(**{**saved, "names": tuple(saved["names"])})
        settings.check()
        return settings

    def as_dict(self) -> dict[str, Any]:
        """Give them as JSON values."""
        return {**asdict(self), "names": list(self.names)}

    @property
    def size(self) -> int:
        """Parameters: a weight for each field, and the intercept."""
        return self.features + 1

    @property
    def plain(self) -> bool:
        """Whether parameters are compared in the units of the fields.

        A penalty rho of one's own without scaling is the paper's algorithm, which has no
        other; else the units do not matter to the optimum, and z-scores converge sooner.
        """
        return self.scaling == "none" and self.rho is not None

    @property
    def forgets(self) -> bool:
        """Whether samples lose their weight."""
        return self.decay < 1.0 or self.window > 0

    def penalty(self, frame: Frame) -> tuple[Array, Array]:
        """Give u1 and u2 (p + 1,) for parameters in a frame; 0 for the intercept.

        Without scaling they hold for weights of the fields as they are.
        """
        l1, l2 = np.full(self.size, float(self.u1)), np.full(self.size, float(self.u2))
        if self.scaling == "none":
            l1 /= frame.scale * frame.scale[-1]
            l2 /= frame.scale * frame.scale
        l1[-1] = l2[-1] = 0.0
        return l1, l2
