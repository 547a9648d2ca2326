"""Centralised support vector ordinal regression as baselines of ranks: what dSVOR approximates."""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from anabranch.baselines.base import Baseline
from anabranch.learners.kernel_rows import Kernel, decisions
from anabranch.learners.options import check_between, check_choice, check_whole
from anabranch.learners.sparse_samples import checked_ranks
from anabranch.learners.svor import solve_svor, warn_vain
from anabranch.protocol import Array, Task

__all__ = ["CentralSVOREX", "CentralSVORIM"]

_TOLERANCE = 1e-3


class _Solved(NamedTuple):
    """What was solved for the first `rows` rows: 1 + the number of f((x - mean)/scale) > b."""

    rows: int
    mean: Array
    scale: Array
    support: Array
    beta: Array
    b: Array


class _Rows:
    """All rows so far, and what was solved for them."""

    def __init__(self) -> None:
        self.X: list[Array] = []
        self.y: list[float] = []
        self.solved: _Solved | None = None


class _Central(Baseline):
    """Solved for all rows when asked to predict, and anew when there are more."""

    task: ClassVar[Task] = "ordinal"
    kernels: ClassVar[tuple[str, ...]] = ("gaussian", "laplacian", "linear")
    shares: ClassVar[tuple[str, ...]] = ("kernel", "gamma", "lam", "scaling")
    _explicit: ClassVar[bool]
    """Whether rows bear on the thresholds beside their rank only."""

    def __init__(
        self,
        features: int,
        ranks: int = 0,
        names: Sequence[str] | None = None,
        *,
        kernel: str = "gaussian",
        gamma: float | None = None,
        lam: float = 1e-3,
        scaling: str = "consensus",
    ) -> None:
        super().__init__(features, ranks, names)
        check_choice("kernel", kernel, self.kernels)
        check_choice("scaling", scaling, ("consensus", "none"))
        check_between("lam", lam, 0.0, above=True)
        self.gamma = 1.0 / features if gamma is None else gamma
        check_between("gamma", self.gamma, 0.0, above=True)
        self.kernel, self.lam, self.scaling = kernel, lam, scaling

    def _make(self) -> _Rows:
        check_whole("ranks", self.ranks, 2)
        return _Rows()

    def _targets(self, y: Array, count: int) -> Array:
        return checked_ranks(y, count, self.ranks)

    def _learn_row(self, x: Array, y: float) -> None:
        self._model.X.append(x.copy())
        self._model.y.append(float(y))

    def _predict_row(self, x: Array) -> int:
        return int(self._predicted(x[None, :])[0])

    def _stacked(self, predicted: list[int]) -> Array:
        return np.array(predicted, dtype=np.int64)

    def predict(self, X: Any) -> Array:
        """Predict rows X (n, d); 1 before any was learned.

        Raises
        ------
        SampleError
            X has the wrong shape or a value that is not finite.
        """
        return self._predicted(np.asarray(self._samples(X)))

    def _predicted(self, X: Array) -> Array:
        if not self._model.y or not len(X):
            return np.ones(len(X), np.int64)
        if self._model.solved is None or self._model.solved.rows < len(self._model.y):
            self._model.solved = self._solve()
        found = self._model.solved
        f = decisions((X - found.mean) / found.scale, found.support, found.beta, self._kernel())
        return np.asarray(1 + (f[:, None] > found.b).sum(axis=1), np.int64)

    def _kernel(self) -> Kernel:
        return Kernel(self.kernel, self.gamma)

    def _solve(self) -> _Solved:
        X, y = np.array(self._model.X), np.array(self._model.y, np.int64)
        mean, scale = np.zeros(self.features), np.ones(self.features)
        if self.scaling == "consensus":
            mean, deviation = X.mean(axis=0), X.std(axis=0)
            scale = np.where(deviation > 0.0, deviation, 1.0)
        Z, caps = (X - mean) / scale, np.full(len(y), 1.0 / (self.lam * len(y)))
        found = solve_svor(
            Z, y - 1, self.ranks, self._kernel(), caps, explicit=self._explicit, tol=_TOLERANCE,
            most=np.iinfo(np.int64).max,
        )  # fmt: skip
        if found.violation > max(_TOLERANCE, found.rounding):
            warn_vain(self.kind, found)
        used = np.flatnonzero(found.beta)
        return _Solved(len(y), mean, scale, Z[used], found.beta[used], found.thresholds)

    def _config(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in ("kernel", "gamma", "lam", "scaling")}
        return {**super()._config(), **own}


class CentralSVORIM(_Central):
    """SVORIM over all rows: the optimum that dSVOR approximates, with the exact kernel.

    Made for batch jobs; in a stream it is solved anew for every sample. Of dSVOR's settings it
    shares those that correspond: with C = 1/(lam N) for N rows it minimises, times C N,

        lam/2 |w|^2 + mean over rows of the hinge losses at all thresholds,

    which is dSVOR's problem at alpha = 0, with the kernel that its random features approximate,
    over rows standardised by mean and deviation of all.

    Parameters
    ----------
    features : int
        Fields K of a sample.
    ranks : int
        Ranks Q, labels 1..Q; 1 is predicted before any was seen.
    names : sequence of str, optional
        Names of the fields.
    kernel : {"gaussian", "laplacian", "linear"}
        As of `DSVOR`.
    gamma : float, optional
        exp(-gamma |x - z|^2); 1/K.
    lam : float
        1/(C N), per sample.
    scaling : {"consensus", "none"}
        "none" takes rows as they are.

    Raises
    ------
    ConfigurationError
        A setting is out of its range.

    Examples
    --------
    >>> model, X = CentralSVORIM(1, 2), np.tile(np.array([[-1.0], [1.0]]), (50, 1))
    >>> model.learn(X, np.tile([1, 2], 50))
    >>> model.predict(np.array([[-2.0], [2.0]])).tolist()
    [1, 2]
    """

    kind: ClassVar[str] = "svorim"
    _explicit = False


class CentralSVOREX(_Central):
    """SVOREX over all rows: as `CentralSVORIM`, rows bearing on the thresholds beside them only.

    Parameters, errors and settings are the same.

    Examples
    --------
    >>> model, X = CentralSVOREX(1, 2), np.tile(np.array([[-1.0], [1.0]]), (50, 1))
    >>> model.learn(X, np.tile([1, 2], 50))
    >>> model.predict(np.array([[-2.0], [2.0]])).tolist()
    [1, 2]
    """

    kind: ClassVar[str] = "svorex"
    _explicit = True
