"""Factors of the shards' problems, in single precision where there are many fields."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.lapack import spotrf

from anabranch.features.frame import Frame
from anabranch.kernels.elastic import fill_lower
from anabranch.kernels.elastic_mixed import moment_product, square_product
from anabranch.kernels.elastic_solve import factorise
from anabranch.learners.elastic_net_moments import CoMoments
from anabranch.protocol import Array

__all__ = ["WIDEST", "Each", "Factors"]

WIDEST = 256
"""Fields from which a shard is worked on as one, and its factor kept in single precision."""

Each = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]


@dataclass
class Factors:
    """A_i + rho_i = L_i L_i', nearly, and c_i of every shard i.

    Where L is in single precision, L_i L_i' is off by some 1e-7 of A_i; `correct` adds to c_i
    what that is off by at alpha, so that rounds end where exact factors would.

    Attributes
    ----------
    L : (N, p + 1, p + 1), lower
    c : (N, p + 1)
    """

    shards: Sequence[CoMoments]
    frame: Frame
    total: float
    rho: Array
    L: Array
    c: Array
    _exact: Array

    @classmethod
    def of(
        cls, each: Each, shards: Sequence[CoMoments], frame: Frame, total: float, rho: Array
    ) -> "Factors":
        """Factorise the problem of every shard that has rows, `each` at the same time."""
        for kind in (np.float32, np.float64)[frame.scale.size <= WIDEST :]:
            made = cls._empty(shards, frame, total, rho, kind)
            if made._factorise(each):
                break  # else too near singular for half the bits
        return made

    @classmethod
    def _empty(
        cls, shards: Sequence[CoMoments], frame: Frame, total: float, rho: Array, kind: Any
    ) -> "Factors":
        nodes, size = len(shards), frame.scale.size
        c = np.zeros((nodes, size))
        return cls(shards, frame, total, rho, np.zeros((nodes, size, size), kind), c, c)

    def _factorise(self, each: Each) -> bool:
        done = all(list(each(self._factor, range(len(self.shards)))))
        self._exact = self.c.copy()
        return done

    def exact(self, each: Each) -> "Factors":
        """Give the same in double precision."""
        made = self._empty(self.shards, self.frame, self.total, self.rho, np.float64)
        made._factorise(each)
        return made

    @property
    def rough(self) -> bool:
        """Whether the factors are in single precision."""
        return self.L.dtype == np.float32

    def correct(self, each: Each, alpha: Array) -> None:
        """Set c_i to the exact one + (L_i L_i' - A_i - rho_i) alpha."""

        def corrected(i: int) -> None:
            own = self.shards[i].total()
            A = moment_product(*own, self.frame.centre, self.frame.scale, self.total, alpha)
            off = square_product(self.L[i], alpha) - A - self.rho[i] * alpha
            self.c[i] = self._exact[i] + off

        list(each(corrected, range(len(self.shards))))

    def _factor(self, i: int) -> bool:
        L, frame = self.L[i], self.frame
        fill_lower(*self.shards[i].total(), frame.centre, frame.scale, self.total, L, self.c[i])
        if not self.rough:
            factorise(L, np.full(len(L), self.rho[i]), L)
            return True
        L.flat[:: len(L) + 1] += np.float32(self.rho[i])
        _, wrong = spotrf(L.T, lower=0, clean=0, overwrite_a=1)  # in place: L.T is Fortran's order
        return bool(wrong == 0 or self.rho[i] == 0.0)
