"""What surrounds the solution of DOML's step; each loop is one pass over the parameters.

With one array for each operation, new memory would cost more than the arithmetic. T_P and T_b
are the sums over the neighbours of w_ij P_j and w_ij beta_j, k = 1/sum_j w_ij, F = beta - k T_P;
all are (d, q).
"""

from numba import njit

from anabranch.protocol import Array

__all__ = ["damped_move", "right_side"]


@njit(cache=True, nogil=True)
def right_side(
    P: Array, beta: Array, T_P: Array, T_b: Array, cross: Array, k: float, out: Array
) -> None:
    """out = P + k (T_b + cross) - F."""
    for i in range(P.shape[0]):
        for c in range(P.shape[1]):
            out[i, c] = P[i, c] + k * (T_b[i, c] + cross[i, c]) - (beta[i, c] - k * T_P[i, c])


@njit(cache=True, nogil=True)
def damped_move(
    P: Array, beta: Array, T_P: Array, solved: Array, k: float, eta: float, new: Array, out: Array
) -> None:
    """new = P + eta (solved - P), out = beta + eta (F + solved - beta)."""
    for i in range(P.shape[0]):
        for c in range(P.shape[1]):
            new[i, c] = P[i, c] + eta * (solved[i, c] - P[i, c])
            out[i, c] = beta[i, c] + eta * (solved[i, c] - k * T_P[i, c])
