"""The settings of the ordinal learners, checked once."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from anabranch.errors import ConfigurationError
from anabranch.features.additive import ADDITIVE_KERNELS
from anabranch.features.fourier import check_orthogonal
from anabranch.features.maps import KERNELS, feature_count
from anabranch.learners.options import (
    check_between,
    check_choice,
    check_flag,
    check_names,
    check_whole,
)

__all__ = ["Settings"]

_CHOICES = {
    "kernel": KERNELS,
    "serve": ("average", "last"),
    "scaling": ("consensus", "none"),
}
_AT_LEAST = {
    "features": 1,
    "ranks": 2,
    "dimension": 1,
    "cache": 1,
    "warm_up": 1,
    "seed": 0,
    "drop": 0,
}
_BETWEEN = {
    "alpha": (0.0, 1.0),
    "averaging": (0.0, 1.0),
    "prune": (0.0, 1.0),
    "lam": (0.0, None),
    "decay": (0.0, None),
    "floor": (0.0, None),
}
_POSITIVE = ("gamma", "step")


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of dSVOR as resolved: `gamma` and `dimension` are numbers here."""

    features: int
    ranks: int
    kernel: str
    gamma: float
    dimension: int
    alpha: float
    lam: float
    step: float
    decay: float
    floor: float
    cache: int
    averaging: float
    serve: str
    scaling: str
    warm_up: int
    prune: float
    seed: int
    names: tuple[str, ...]
    orthogonal: bool = False
    drop: int = 0

    @classmethod
    def of(
        cls,
        *,
        gamma: float | None,
        dimension: int | None,
        names: Sequence[str] | None,
        **given: Any,
    ) -> "Settings":
        """Fill in what depends on the number of features, and check everything.

        Raises
        ------
        ConfigurationError
            A value is not allowed; the message says what is.
        """
        check_whole("features", given["features"], 1)
        features = int(given["features"])
        names = tuple(str(i) for i in range(features)) if names is None else tuple(names)
        gamma = 1.0 / features if gamma is None else gamma
        check_choice("kernel", given["kernel"], KERNELS)
        if dimension is not None:
            check_whole("dimension", dimension, 1)
        dimension = feature_count(given["kernel"], features, dimension)
        settings = cls(gamma=gamma, dimension=dimension, names=names, **given)
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
        for key, least in _AT_LEAST.items():
            check_whole(key, getattr(self, key), least)
        for key, (low, high) in _BETWEEN.items():
            check_between(key, getattr(self, key), low, high)
        for key in _POSITIVE:
            check_between(key, getattr(self, key), 0.0, above=True)
        check_flag("orthogonal", self.orthogonal)
        if self.orthogonal:
            check_orthogonal(self.kernel)
        self._check_shrinking()
        check_names(self.names, self.features)

    def _check_shrinking(self) -> None:
        """Refuse steps that throw w beyond 0 where only the regulariser acts."""
        for key in ("step", "floor"):
            if getattr(self, key) * self.lam * (1.0 - self.alpha) > 1.0:
                raise ConfigurationError(
                    f"steps too large: {key}={getattr(self, key)} with lam={self.lam}, "
                    f"alpha={self.alpha}; allowed: {key} lam (1 - alpha) <= 1"
                )

    @property
    def additive(self) -> bool:
        """Whether the kernel is one of fields that are not negative."""
        return self.kernel in ADDITIVE_KERNELS

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
