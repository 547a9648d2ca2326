"""The units of DOML's fields: z-scores that a whole network shares, and the way between them."""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Self

import numpy as np

from anabranch.protocol import Array

__all__ = ["Coordinates"]

_FLAT = 1e-26
"""A variance below _FLAT mean^2 is rounding noise of a constant."""


@dataclass(frozen=True, slots=True)
class Coordinates:
    """Centres and scales (d,) of the fields, and whether a bias stands behind them.

    A score is sum_j P_j (x_j - m_j)/s_j + P_bias. Of two coordinates in a network the one with
    the larger `key` is taken up by all.

    Attributes
    ----------
    count : samples they were made from; 0 for fields as they are
    digest : of the numbers, below 2^52

    Examples
    --------
    >>> plain = Coordinates.plain(1, bias=True)
    >>> units = Coordinates.of(2.0, np.array([3.0]), np.array([8.0]), np.array([1.0]), bias=True)
    >>> units.rows(np.array([[5.0]]))
    array([[1., 1.]])
    >>> P = np.array([[2.0], [1.0]])  # 2 x + 1 of x = 5 is 11
    >>> units.rows(np.array([[5.0]])) @ plain.carry(P, units)
    array([[11.]])
    """

    count: float
    centre: Array
    scale: Array
    bias: bool
    digest: int

    @classmethod
    def plain(cls, features: int, *, bias: bool) -> Self:
        """Give the fields as they are."""
        return cls(0.0, np.zeros(features), np.ones(features), bias, 0)

    @classmethod
    def of(cls, count: float, mean: Array, m2: Array, varied: Array, *, bias: bool) -> Self:
        """Give z-scores by moments; fields of 0 and 1 only, and constants, keep their scale.

        Without a bias nothing is centred, since no parameter could make up for it.
        """
        variance = m2 / count if count > 0.0 else np.zeros_like(m2)
        some = (varied > 0.0) & (variance > _FLAT * mean * mean)
        scale = np.where(some, np.sqrt(np.where(some, variance, 1.0)), 1.0)
        centre = np.where(varied > 0.0, mean, 0.0) if bias else np.zeros_like(mean)
        return cls.read(count, centre, scale, bias=bias)

    @classmethod
    def read(cls, count: float, centre: Array, scale: Array, *, bias: bool) -> Self:
        """Give coordinates by their numbers."""
        digest = blake2b(centre.tobytes() + scale.tobytes(), digest_size=8).digest()
        return cls(count, centre, scale, bias, int.from_bytes(digest, "big") >> 12)

    @property
    def key(self) -> tuple[float, int]:
        """What decides between coordinates of two nodes."""
        return self.count, self.digest

    def rows(self, X: Array) -> Array:
        """Give (n, d) fields as rows (n, d or d + 1) in these coordinates."""
        Z = np.empty((len(X), X.shape[1] + int(self.bias)))
        Z[:, : X.shape[1]] = (X - self.centre) / self.scale
        Z[:, X.shape[1] :] = 1.0
        return Z

    def recast(self, Z: Array, new: "Coordinates") -> Array:
        """Give rows of these coordinates in new ones."""
        d = len(self.centre)
        return new.rows(Z[:, :d] * self.scale + self.centre)

    def carry(self, P: Array, new: "Coordinates") -> Array:
        """Give the parameters of the same scores in new coordinates."""
        d, out = len(self.centre), P.copy()
        out[:d] *= (new.scale / self.scale)[:, None]
        if self.bias:
            moved = (new.centre - self.centre) / self.scale
            out[d] += (moved[:, None] * P[:d]).sum(axis=0)
        return out

    def carry_slope(self, slope: Array, new: "Coordinates") -> Array:
        """Give derivatives by the parameters, as beta is one, in new coordinates."""
        d, out = len(self.centre), slope.copy()
        out[:d] *= (self.scale / new.scale)[:, None]
        if self.bias:
            moved = (new.centre - self.centre) / new.scale
            out[:d] -= moved[:, None] * slope[d]
        return out
