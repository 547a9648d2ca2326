"""The settings of DOML, checked once."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from anabranch.errors import ConfigurationError
from anabranch.labels import named
from anabranch.learners.options import (
    check_between,
    check_choice,
    check_flag,
    check_names,
    check_whole,
)

__all__ = ["DomlSettings"]

_CHOICES = {
    "predictor": ("threshold", "linear", "per-label", "mlknn"),
    "scaling": ("consensus", "none"),
    "form": ("auto", "primal", "dual", "sparse"),
    "dtype": ("float64", "float32"),
    "wire": ("dense", "changed", "low-rank", "half"),
}
_WHOLE = {
    "features": 1, "warm_up": 1, "cache": 0, "neighbours": 1, "rank": 1, "refresh": 1,
}  # fmt: skip
_LITERAL = {
    "predictor": "linear", "w": 1.0, "ridge": 0.0, "bias": False, "scaling": "none",
    "damped": False,
}  # fmt: skip
_PRACTICAL = {"predictor": "threshold", "bias": True, "scaling": "consensus", "damped": True}


@dataclass(frozen=True, slots=True)
class DomlSettings:
    """Settings as resolved; `w` and `ridge` of None follow the samples."""

    features: int
    predictor: str
    w: float | None
    ridge: float | None
    bias: bool
    scaling: str
    warm_up: int
    damped: bool
    cache: int
    neighbours: int
    form: str
    dtype: str
    wire: str
    tolerance: float
    rank: int
    refresh: int
    names: tuple[str, ...]
    labels: tuple[str, ...]

    @classmethod
    def of(
        cls,
        *,
        literal: bool,
        names: Sequence[str] | None,
        labels: int | Sequence[str],
        **given: Any,
    ) -> Self:
        """Fill in what was not given, by the paper's values or ours, and check everything.

        Raises
        ------
        ConfigurationError
            A value is not allowed; the message says what is.
        """
        check_whole("features", given["features"], 1)
        if names is None:
            names = [str(i) for i in range(int(given["features"]))]
        for key, value in (_LITERAL if literal else _PRACTICAL).items():
            if given[key] is None:
                given[key] = value
        settings = cls(names=tuple(names), labels=named(labels), **given)
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
        for key in ("bias", "damped"):
            check_flag(key, getattr(self, key))
        check_between("tolerance", self.tolerance, 0.0)
        if self.w is not None:
            check_between("w", self.w, 0.0, above=True)
        if self.ridge is not None:
            check_between("ridge", self.ridge, 0.0)
        check_names(self.names, self.features)
        if self.predictor == "mlknn" and not self.cache:
            raise ConfigurationError(
                "no samples to search: cache=0 with predictor='mlknn'; allowed: cache >= 1"
            )

    @classmethod
    def restore(cls, saved: Mapping[str, Any]) -> Self:
        """Build them from `as_dict`.

        Raises
        ------
        KeyError, TypeError, ValueError, ConfigurationError
            A setting is missing, unknown or not allowed.
        """
        texts = {key: tuple(saved[key]) for key in ("names", "labels")}
        settings = cls(**{**saved, **texts})
        settings.check()
        return settings

    def as_dict(self) -> dict[str, Any]:
        """Give them as JSON values."""
        return {**asdict(self), "names": list(self.names), "labels": list(self.labels)}

    @property
    def width(self) -> int:
        """Rows of P: one for each field, and the bias."""
        return self.features + int(self.bias)
