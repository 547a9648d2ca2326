"""Inverses of positive definite matrices, and when they are built anew."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack

from anabranch.kernels.window_inverse import mirror_lower
from anabranch.protocol import Array

__all__ = ["Step", "add_product", "inverse_of"]


@dataclass(frozen=True, slots=True)
class Step:
    """The matrix of a step, shift I + scale X'X, and how far its inverse may be trusted.

    Attributes
    ----------
    scale, shift : k and c, both positive
    floor : part of a pivot that must be left when a row comes or goes; less has lost digits
    """

    scale: float
    shift: float
    floor: float

    def largest(self, dtype: type) -> float:
        """Give the x'x up to which rounding leaves the pivot of a row that goes its meaning."""
        most = 0.01 * self.floor * self.shift / float(np.finfo(dtype).eps)
        return most / self.scale if self.scale > 0.0 else np.inf

    def matrix(self, gram: Array) -> Array:
        """Give shift I + scale gram, in place, as LAPACK wants it: column by column."""
        gram *= self.scale
        gram.ravel(order="K")[:: len(gram) + 1] += self.shift
        return gram if gram.flags.f_contiguous else gram.T


def add_product(factor: float, left: Array, right: Array, out: Array) -> None:
    """Out += factor left' right in place, all row by row in memory and of one type.

    >>> out = np.ones((1, 1))
    >>> add_product(2.0, np.array([[3.0], [1.0]]), np.array([[1.0], [5.0]]), out)
    >>> out
    array([[17.]])
    """
    if left.size and right.size:
        gemm = blas.dgemm if out.dtype == np.float64 else blas.sgemm
        gemm(factor, right.T, left.T, beta=1.0, c=out.T, trans_b=1, overwrite_c=1)


def inverse_of(A: Array, dtype: type) -> Array:
    """Invert a symmetric positive definite A of which the lower triangle counts; spoils A.

    Where rounding has left A without a Cholesky factor, eigenvalues below its precision are
    lifted to it.

    >>> inverse_of(np.asfortranarray([[2.0, 0.0], [1.0, 2.0]]), np.float64).round(3)
    array([[ 0.667, -0.333],
           [-0.333,  0.667]])
    """
    if len(A) == 0:
        return np.zeros((0, 0), dtype)
    out: Array = np.empty(A.shape, dtype)
    L, failed = lapack.dpotrf(A, lower=1, clean=0)
    if not failed:
        G, failed = lapack.dpotri(L, lower=1, overwrite_c=1)
    if failed:
        values, vectors = np.linalg.eigh(A)
        least = float(np.finfo(np.float64).eps) * max(float(values[-1]), 1e-300)
        G = (vectors / np.maximum(values, least)) @ vectors.T
    mirror_lower(G, out)
    return out
