"""DOML's step: the parameters that fit the samples and agree with the neighbours'."""

from collections.abc import Callable
from math import ceil
from typing import Any, Self

import numpy as np

from anabranch.errors import ModelError
from anabranch.kernels.doml_step import damped_move, right_side
from anabranch.learners.doml_frame import Coordinates
from anabranch.learners.doml_mailbox import Totals
from anabranch.learners.doml_recast import recast
from anabranch.learners.doml_settings import DomlSettings
from anabranch.learners.doml_window import Window
from anabranch.learners.doml_wire import fit
from anabranch.learners.states import saved_array
from anabranch.protocol import Array, State

__all__ = ["Solver"]

_SHARE = 0.3
"""Ridge that is not given, in mean eigenvalues of the own X'X: the nodes' ridges add up.

Chosen on rows to learn alone: .3 is better than .1 for learned thresholds on emotions, yeast,
scene, enron and medical, and beyond it a threshold of .5 suffers.
"""
_STALE = 1.5
"""Factor by which it may be off before it is set anew, which costs a factorisation."""
_WINDOW = "window_"
"""What names of the window's entries in a state begin with."""
_PARTS = 8
"""Steps in which the samples behind a restored model make room for new ones."""


class Solver:
    """P and beta (d, q) of one node, and its window of samples.

    With d_i = sum_j w_ij, k = 1/d_i, S_P = k sum_j w_ij P_j, S_b = k sum_j w_ij beta_j and
    F = beta - S_P a step solves (Eq. 9-12, 2d x 2d there, by elimination of beta)

        ((2 + k lam) I + k X'X) P+ = P + S_b + k X'Y - F,  beta+ = F + P+.

    Where all P are equal and steps change nothing, (lam_i I + X_i'X_i) P - X_i'Y_i =
    sum_j w_ij (beta_j - beta_i). Over all nodes the right sides add up to 0 where w is
    symmetric, so P is the least squares of all samples with ridge sum_i lam_i, whatever w.

    Attributes
    ----------
    P, beta : as they are now
    ridge : lam_i
    """

    def __init__(self, settings: DomlSettings, labels: int) -> None:
        self.settings = settings
        self.dtype = np.float32 if settings.dtype == "float32" else np.float64
        self.window = self._new_window(labels)
        shape = (settings.width, labels)
        self.P, self.beta = np.zeros(shape, self.dtype), np.zeros(shape, self.dtype)
        self._base = np.zeros((2, *shape), self.dtype)
        self.ridge = 0.0
        self._prior = np.zeros(shape, self.dtype)
        self._prior_square = self._prior_rows = 0.0
        self._stale = self._together = False

    def _new_window(self, labels: int) -> Window:
        own = self.settings
        return Window(own.width, labels, own.cache or None, dtype=own.dtype, form=own.form)

    def add(self, Z: Array, y: Array) -> None:
        """Take rows (n, d) in this node's coordinates, and labels (n, q)."""
        if len(Z):
            self.window.add(Z, y)
            self._stale = True

    @property
    def mean_square(self) -> float:
        """Mean eigenvalue of X'X."""
        return float(self.window.trace) / self.settings.width

    def _terms(self) -> tuple[float, Array]:
        """Give the ridge and X'Y, those of the samples behind a restored model included."""
        given, wish = self.settings.ridge, _SHARE * self.mean_square
        if given is not None:
            self.ridge = given
        elif not self.ridge / _STALE <= wish <= self.ridge * _STALE:
            self.ridge = wish
        rows = self.window.count
        cross = self.window.cross.copy()
        if self.settings.bias and rows:
            cross[-1] *= self._cast(1.0 + self.ridge / rows)
        if not self._prior_rows:
            return self.ridge, cross
        missing = max(0.0, 1.0 - rows / self._prior_rows)
        pull = self._prior_square * ceil(_PARTS * missing) / _PARTS
        return self.ridge + pull, cross + self._cast(pull) * self._prior

    def step(self, totals: Totals, eta: float) -> None:
        """Step on what the neighbours said last: z+ = z + eta (step(z) - z), z = (P, beta)."""
        self._base = self.pair
        self._stale = True
        self.again(totals, eta)

    def again(self, totals: Totals, eta: float) -> None:
        """Take samples that came since into the last step; nothing new, nothing changes."""
        if self._together and not self._stale:
            return
        self._together = True
        ridge, cross = self._terms()
        P, beta = self._base
        k = 1.0 / totals.degree
        T_P, T_b = totals.pair
        self.window.tune(k, 2.0 + k * ridge)
        right, new, out = np.empty((3, *P.shape), self.dtype)
        right_side(P, beta, T_P, T_b, cross, self._cast(k), right)
        solved = self.window.solve(right)
        damped_move(P, beta, T_P, solved, self._cast(k), self._cast(eta), new, out)
        self.P, self.beta = new, out
        self._stale = False

    def alone(self) -> None:
        """Solve for the own samples, (lam I + X'X) P+ = X'Y; beta stays.

        Without a ridge it is the paper's step without neighbours, (w I + X'X) P+ = w P + X'Y,
        which tends to the same.
        """
        if not (self._stale or self._together) or not self.window.count:
            return
        self._together = False
        ridge, cross = self._terms()
        if ridge == 0.0:
            ridge = self.settings.w or 1.0
            cross = cross + self._cast(ridge) * self.P
            self._stale = True
        else:
            self._stale = False
        self.window.tune(1.0, ridge)
        # By rows, as a restored state is: the last bits of a product depend on the layout.
        self.P = np.ascontiguousarray(self.window.solve(np.ascontiguousarray(cross)))
        self._base = self.pair

    def clear(self) -> None:
        """Forget the samples."""
        self.window = self._new_window(self.P.shape[1])
        self._prior_rows = 0.0
        self._stale = True

    def shrink(self, samples: int) -> None:
        """Forget all but the newest samples."""
        if samples < self.window.count or self._prior_rows:
            X, Y = self.window.rows
            self.clear()
            self.window.add(X[-samples:], Y[-samples:])

    def move(self, old: Coordinates, new: Coordinates) -> None:
        """Take samples to other coordinates; the parameters follow by `change`."""
        self.window = recast(self.window, old, new)
        self._stale = True

    def change(self, P: Callable[[Array], Array], beta: Callable[[Array], Array]) -> None:
        """Take the parameters to other coordinates or columns."""
        parts = (P(self.P), beta(self.beta), P(self._prior))
        self.P, self.beta, self._prior = map(np.ascontiguousarray, parts)
        self._base = np.stack((P(self._base[0]), beta(self._base[1])))

    @property
    def pair(self) -> Array:
        """P and beta, as a copy (2, d, q)."""
        return np.stack((self.P, self.beta))

    @property
    def fit(self) -> bool:
        """Whether the parameters may be sent."""
        return fit(self.P) and fit(self.beta)

    def reset(self) -> None:
        """Begin anew from the own samples."""
        self.P, self.beta = np.zeros_like(self.P), np.zeros_like(self.beta)
        self._base, self._stale = self.pair, True
        self.alone()

    def _cast(self, value: float) -> Any:
        return self.dtype(value)

    def model(self) -> State:
        """Give parameters, and how many rows of which mean square stand behind them."""
        square, rows = self.mean_square, float(self.window.count)
        if rows < self._prior_rows:
            square, rows = self._prior_square, self._prior_rows
        return {
            "P": self.P.copy(),
            "beta": self.beta.copy(),
            "behind": np.array([square, rows, 0.0, 0.0, self.ridge]),
        }

    def export(self) -> State:
        """Give the whole state, bit for bit, also of a node that diverged."""
        flags = [float(self._stale), float(self._together)]
        behind = [self._prior_square, self._prior_rows, *flags, self.ridge]
        finite = np.isfinite(self.P).all() and np.isfinite(self.beta).all()
        window = self.window.export()
        return {
            "P": self.P.copy(),
            "beta": self.beta.copy(),
            "prior": self._prior.copy(),
            "behind": np.array(behind),
            "base": self._base.copy(),
            "diverged": bool(not finite),
            **{f"{_WINDOW}{key}": value for key, value in window.items()},
        }

    def restore(self, state: State) -> Self:
        """Take a state of `export` or `model`.

        Raises
        ------
        ModelError
            It is damaged.
        """
        shape, finite = self.P.shape, not state.get("diverged", False)
        self.P = saved_array(state, "P", shape, finite=finite).astype(self.dtype)
        self.beta = saved_array(state, "beta", shape, finite=finite).astype(self.dtype)
        behind = saved_array(state, "behind", (5,))
        if (behind < 0.0).any():
            raise ModelError("damaged state: behind is negative")
        self._prior_square, self._prior_rows, stale, together, self.ridge = behind.tolist()
        self._stale, self._together = bool(stale), bool(together)
        self._prior, self._base = self.P, np.stack((self.P, self.beta))
        if "base" not in state:
            return self
        self._prior = saved_array(state, "prior", shape).astype(self.dtype)
        self._base = saved_array(state, "base", (2, *shape), finite=finite).astype(self.dtype)
        entries = {key[len(_WINDOW) :]: state[key] for key in state if key.startswith(_WINDOW)}
        self.window = Window.restore(entries)
        if self.window.cross.shape != shape:
            raise ModelError(f"damaged state: samples for {self.window.cross.shape}, not {shape}")
        return self
