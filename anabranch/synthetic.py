"""Synthetic ordinal streams: every row is a function of the seed and its position.

The paper names two sets and does not print their generators. `linear` and `nonlinear` are
ours: plain functions whose noise was calibrated until twenty nodes of fifty samples gave
the accuracies known for the paper's sets (centralised .692 and .875, each node alone .670
and .803).
"""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any, Literal

import numpy as np
from scipy.special import ndtri

from anabranch.errors import ConfigurationError, nearest
from anabranch.kernels.counters import fill_normals
from anabranch.kernels.streams import fill_rows
from anabranch.protocol import Array

__all__ = [
    "SITE",
    "STREAMS",
    "OrdinalStream",
    "drifting",
    "linear",
    "make_stream",
    "nonlinear",
    "wide",
]

SITE = 1 << 40
"""Positions of a site: number p has those from p SITE on."""

_LINEAR_NOISE = 0.41
_LINEAR_CUTS = (2.2462, 3.0, 3.7538)
_NONLINEAR_NOISE = 0.088
_NONLINEAR_CUTS = (-0.4715, 0.0, 0.4715)


@dataclass(frozen=True, slots=True)
class OrdinalStream:
    """An endless stream of (x, rank), readable from any position.

    Attributes
    ----------
    features, ranks : int
    seed : int
    weights : tuple of float
        Of the latent value; the first one alone where `bilinear`.
    bilinear : bool
        latent = weights[0] (x_0 - 1/2)(x_1 - 1/2) instead of weights'x.
    noise : float
        Standard deviation of the latent value's noise.
    cuts : tuple of float
        Thresholds on the latent value.
    shift : float
        How far a drift moves all thresholds.
    period : int
        Rows between two drifts (there, and back again); 0: none.
    ramp : int
        Rows over which a drift happens; 0: at once.
    sites : tuple of int
        That drift, each from its own first position on; none given, all do.
    """

    features: int
    ranks: int
    seed: int
    weights: tuple[float, ...]
    cuts: tuple[float, ...]
    noise: float
    bilinear: bool = False
    shift: float = 0.0
    period: int = 0
    ramp: int = 0
    sites: tuple[int, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the fields: x0, x1, ..."""
        return tuple(f"x{i}" for i in range(self.features))

    def block(self, start: int, count: int) -> tuple[Array, Array]:
        """Give rows start .. start + count - 1: X (count, K) in (0, 1) and y (count,) float64.

        Examples
        --------
        >>> stream = nonlinear(seed=1)
        >>> X, y = stream.block(0, 10)
        >>> bool((stream.block(7, 3)[0] == X[7:]).all())
        True
        """
        X, y = np.empty((count, self.features)), np.empty(count)
        fill_rows(
            np.uint64(self.seed),
            start,
            np.array(self.weights),
            self.bilinear,
            self.noise,
            np.array(self.cuts),
            self._shifts(start, count),
            X,
            y,
        )
        return X, y

    def _shifts(self, start: int, count: int) -> Array:
        """How far the thresholds are moved at each row."""
        if self.period == 0:
            return np.zeros(count)
        site, position = np.divmod(np.arange(start, start + count), SITE)
        epoch, within = np.divmod(position, self.period)
        target = self.shift * (epoch % 2)
        before = np.where(epoch > 0, self.shift - target, 0.0)
        done = np.minimum(within / self.ramp, 1.0) if self.ramp else np.ones(count)
        moved: Array = before + done * (target - before)
        return np.where(np.isin(site, self.sites), moved, 0.0) if self.sites else moved


def wide(features: int = 20, ranks: int = 4, *, noise: float = 0.1, seed: int = 0) -> OrdinalStream:
    """Linear stream of any width, ranks about equally frequent; for benchmarks.

    latent = sqrt(12) w'(x - 1/2) + noise e, |w| = 1, w drawn from the seed: about standard
    normal, so the thresholds are normal quantiles.
    """
    weights = np.empty(features)
    fill_normals(np.uint64(seed), weights)
    weights *= np.sqrt(12.0) / np.sqrt(weights @ weights)
    quantiles = np.sqrt(1.0 + noise**2) * ndtri(np.arange(1, ranks) / ranks)
    cuts = quantiles + weights.sum() / 2.0
    return OrdinalStream(features, ranks, seed, tuple(weights), tuple(cuts), noise)


def linear(*, seed: int = 0) -> OrdinalStream:
    """Set 1: four ranks cut from a linear function of three fields, with much noise.

    latent = 2 (x_0 + x_1 + x_2) + .41 e, cut at its quartiles.
    """
    return OrdinalStream(3, 4, seed, (2.0, 2.0, 2.0), _LINEAR_CUTS, _LINEAR_NOISE)


def nonlinear(*, seed: int = 0) -> OrdinalStream:
    """Set 2: four ranks cut from a saddle, which no linear model can tell apart.

    latent = 10 (x_0 - 1/2)(x_1 - 1/2) + .088 e, cut at its quartiles.
    """
    return OrdinalStream(2, 4, seed, (10.0, 0.0), _NONLINEAR_CUTS, _NONLINEAR_NOISE, bilinear=True)


def drifting(
    *,
    kind: Literal["sudden", "gradual"] = "sudden",
    period: int = 10_000,
    ramp: int = 2_000,
    shift: float = 0.8,
    sites: tuple[int, ...] = (),
    seed: int = 0,
) -> OrdinalStream:
    """Set 2 with thresholds that move by `shift` and back, every `period` rows.

    Parameters
    ----------
    kind : {"sudden", "gradual"}
        At once, or over `ramp` rows.
    sites : tuple of int
        Sites that drift, by number from 0; all of them unless given.

    Raises
    ------
    ConfigurationError
        The kind is unknown, or a number of rows is not positive.
    """
    if kind not in ("sudden", "gradual"):
        raise ConfigurationError(f"unknown drift: kind={kind!r}{nearest(kind, _KINDS)}")
    if period < 1 or ramp < 1:
        raise ConfigurationError(f"out of range: period={period}, ramp={ramp}; allowed: >= 1")
    base = nonlinear(seed=seed)
    return OrdinalStream(
        base.features, base.ranks, seed, base.weights, base.cuts, base.noise, True,
        shift, period, ramp if kind == "gradual" else 0, tuple(sites),
    )  # fmt: skip


_KINDS = ["sudden", "gradual"]

STREAMS: dict[str, Callable[..., OrdinalStream]] = {
    "linear": linear,
    "nonlinear": nonlinear,
    "drifting": drifting,
    "wide": wide,
}
"""Every stream by its name."""


def make_stream(name: str, **options: Any) -> OrdinalStream:
    """Build a stream by name.

    Raises
    ------
    ConfigurationError
        No stream has this name, or it has no such option.

    Examples
    --------
    >>> make_stream("wide", features=5).block(0, 2)[0].shape
    (2, 5)
    """
    if name not in STREAMS:
        raise ConfigurationError(f"unknown stream: {name!r}{nearest(name, list(STREAMS))}")
    allowed = list(signature(STREAMS[name]).parameters)
    for key in options:
        if key not in allowed:
            raise ConfigurationError(f"unknown option of {name}: {key!r}{nearest(key, allowed)}")
    return STREAMS[name](**options)
