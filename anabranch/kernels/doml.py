"""Loops of DOML over the rows of a block."""

from numba import njit

from anabranch.kernels.moments import CLOSED, COUNT, OWN, add_row
from anabranch.protocol import Array

__all__ = ["note_rows", "note_strays", "project"]


@njit(cache=True, nogil=True)
def project(Z: Array, P: Array, out: Array) -> None:
    """out_r = P'z_r for rows Z (n, d) and P (d, q), fields of 0 left out."""
    for r in range(Z.shape[0]):
        for c in range(out.shape[1]):
            out[r, c] = 0.0
        for i in range(Z.shape[1]):
            z = Z[r, i]
            if z != 0.0:
                for c in range(out.shape[1]):
                    out[r, c] += z * P[i, c]


@njit(cache=True, nogil=True)
def note_rows(X: Array, scale: Array, progress: Array, varied: Array) -> None:
    """Take rows into the moments unless these are closed; varied_i = 1 where x_i is not 0 or 1."""
    for r in range(X.shape[0]):
        if progress[CLOSED] == 0.0:
            progress[COUNT] = add_row(X, r, progress[COUNT], scale)
            progress[OWN] += 1.0
        for i in range(X.shape[1]):
            if X[r, i] != 0.0 and X[r, i] != 1.0:
                varied[i] = 1.0


@njit(cache=True, nogil=True)
def note_strays(X: Array, centre: Array, scale: Array, far: float, strays: Array) -> None:
    """Add to each field's sums of z, of z^2 and of |z| > far, z = (x - centre)/scale; (3, d)."""
    for r in range(X.shape[0]):
        for i in range(X.shape[1]):
            z = (X[r, i] - centre[i]) / scale[i]
            strays[0, i] += z
            strays[1, i] += z * z
            if abs(z) > far:
                strays[2, i] += 1.0
