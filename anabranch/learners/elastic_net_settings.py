"""The settings of the elastic net, checked once."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from numbers import Integral, Real
from typing import Any, Self

import numpy as np

from anabranch.errors import ConfigurationError
from anabranch.features.frame import Frame
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
        _check_whole("features", given["features"], 1)
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
            value = getattr(self, key)
            if value not in allowed:
                raise ConfigurationError(
                    f"unknown {key}: {key}={value!r}; allowed: {', '.join(allowed)}"
                )
        for key, least in _WHOLE.items():
            _check_whole(key, getattr(self, key), least)
        for key, (low, high) in _BETWEEN.items():
            _check_between(key, getattr(self, key), low, high)
        for key, most in _POSITIVE.items():
            _check_positive(key, getattr(self, key), most)
        if self.rho is not None:
            _check_positive("rho", self.rho, None)
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
        if len(set(self.names)) != self.features or len(self.names) != self.features:
            raise ConfigurationError(
                f"not one name per feature: names={list(self.names)}; "
                f"allowed: {self.features} different names"
            )

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
        l1, l2 = np.full(self.size, self.u1), np.full(self.size, self.u2)
        if self.scaling == "none":
            l1 /= frame.scale * frame.scale[-1]
            l2 /= frame.scale * frame.scale
        l1[-1] = l2[-1] = 0.0
        return l1, l2


def _check_whole(key: str, value: Any, least: int) -> None:
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not least <= value < 1 << 53:
        raise ConfigurationError(f"out of range: {key}={value!r}; allowed: whole, >= {least}")


def _finite(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)


def _check_between(key: str, value: Any, low: float, high: float | None) -> None:
    if not _finite(value) or value < low or (high is not None and value > high):
        allowed = f">= {low:g}" if high is None else f"{low:g} to {high:g}"
        raise ConfigurationError(f"out of range: {key}={value!r}; allowed: {allowed}")


def _check_positive(key: str, value: Any, most: float | None) -> None:
    if not (_finite(value) and value > 0.0) or (most is not None and value > most):
        allowed = "> 0" if most is None else f"> 0, up to {most:g}"
        raise ConfigurationError(f"out of range: {key}={value!r}; allowed: {allowed}")
