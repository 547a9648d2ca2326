"""LIBLINEAR beside NPSVOR: processor time of training, and the duality gap it ends with."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from anabranch.protocol import Array
from benchmarks.npsvor_sets import TextSet

__all__ = ["EPSILON", "PEERS", "C", "Peer", "available"]

C, EPSILON = 1.0, 0.1
_GRID = 10.0 ** -np.arange(0.0, 5.01, 0.25)


def available() -> bool:
    """Tell whether LIBLINEAR's own package is installed."""
    try:
        import liblinear.liblinearutil  # noqa: F401
    except ImportError:
        return False
    return True


@dataclass(frozen=True)
class Peer:
    """One of LIBLINEAR's solvers.

    Attributes
    ----------
    kind : LIBLINEAR's number of it
    losses : loss of each row, of z = w'x + b and what it should be: -1 or 1, or the rank
    planes : whether there is one a rank, against all others
    """

    name: str
    kind: int
    losses: Callable[[Array, Array], Array]
    planes: bool = True

    def rows(self, given: TextSet) -> Any:
        """Give the set in LIBLINEAR's form."""
        from liblinear.liblinearutil import problem

        return problem(given.y.astype(float), given.X.astype(float), bias=1)

    def seconds(self, rows: Any, tol: float) -> float:
        """Give processor seconds of training alone."""
        from liblinear.liblinearutil import parameter, train

        options = parameter(f"{self._options(tol)} -q")
        begin = time.process_time()
        train(rows, options)
        return time.process_time() - begin

    def gap(self, rows: Any, given: TextSet, tol: float) -> float:
        """Give the relative gap of all planes together; the dual's value is what it prints."""
        from liblinear.liblinear import PRINT_STRING_FUN
        from liblinear.liblinearutil import parameter, train

        printed: list[bytes] = []
        options = parameter(self._options(tol))
        options.print_func = PRINT_STRING_FUN(printed.append)
        primal = self._primal(train(rows, options), given)
        duals = re.findall(rb"Objective value = (\S+)", b"".join(printed))
        return (primal + sum(float(dual) for dual in duals)) / primal

    def tolerance(self, rows: Any, given: TextSet, gap: float) -> float:
        """Give the first tolerance of 1, 10^(-1/4), ... 10^-5 whose gap is no larger.

        Raises
        ------
        RuntimeError
            There is none.
        """
        for tol in _GRID:
            if self.gap(rows, given, tol) <= gap:
                return float(tol)
        raise RuntimeError(f"{self.name} does not come to a gap of {gap:.1e}")

    def _options(self, tol: float) -> str:
        return f"-s {self.kind} -c {C} -p {EPSILON} -e {tol:.6g} -B 1"

    def _primal(self, model: Any, given: TextSet) -> float:
        count = model.get_nr_class() if self.planes and model.get_nr_class() > 2 else 1
        shape = (given.X.shape[1] + 1, count)
        W = np.ctypeslib.as_array(model.w, (shape[0] * count,)).reshape(shape)
        z = given.X @ W[:-1] + W[-1]
        targets = given.y[:, None].astype(float)
        if self.planes:
            labels = np.array(model.get_labels())[None, :count]
            targets = np.where(targets == labels, 1.0, -1.0)
        return 0.5 * float((W * W).sum()) + C * float(self.losses(z, targets).sum())


def _hinge(z: Array, side: Array) -> Array:
    loss: Array = np.maximum(1.0 - side * z, 0.0)
    return loss


PEERS = (
    Peer("L2-SVC", 1, lambda z, side: _hinge(z, side) ** 2),
    Peer("L1-SVC", 3, _hinge),
    Peer("SVR", 13, lambda z, rank: np.maximum(np.abs(z - rank) - EPSILON, 0.0), planes=False),
)
