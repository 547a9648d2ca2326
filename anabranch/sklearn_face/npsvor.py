"""Linear nonparallel support vector ordinal regression as a scikit-learn classifier."""

from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import validate_data

from anabranch.errors import ConfigurationError
from anabranch.kernels.sparse_lanes import lanes_for
from anabranch.learners.npsvor_dual import (
    Costs,
    Planes,
    Problem,
    descend_dual,
    empty_planes,
    planes_of,
    values_of,
)
from anabranch.learners.npsvor_newton import newton_planes
from anabranch.learners.npsvor_shrink import RULES, descend_planes
from anabranch.learners.npsvor_trace import Trace
from anabranch.learners.options import check_flag, check_whole
from anabranch.protocol import Array
from anabranch.sklearn_face.rank_classifier import RankClassifier
from anabranch.sklearn_face.ranked import (
    check_choice,
    check_cost,
    check_finite,
    check_lengths,
    check_positive,
    costly,
    order_of,
    ranks_of,
    rows_of,
    seed_of,
    warn_unfinished,
)

__all__ = ["NPSVOR"]

_NEWTON = ("tron", "tron-cold")
_SOLVERS = ("dcd", *RULES, *_NEWTON)


class NPSVOR(RankClassifier):
    """Ordinal regression by one hyperplane a rank, near its own rows and far from all others.

    With s_i = -1 for rows of ranks below k and +1 for those above, plane k minimises

        |w|^2/2 + C1 sum_{rank k} loss(|w'x_i| - epsilon) + C2 sum_{others} loss(1 - s_i w'x_i)

    with the bias as one more, regularised field, and the prediction is the rank
    1 + sum_{k<p} [f_k(x) + f_{k+1}(x) > 0].

    Parameters
    ----------
    C : what an error costs, where `C1` or `C2` is None; 1e-20 to 1e30
    C1, C2 : of the own rank's rows, and of all others
    epsilon : distance from the own plane that costs nothing
    loss : "squared_hinge" (L2-NPSVOR) or "hinge" (L1)
    solver : "dcd", dual coordinate descent for all planes at once, is the fastest. For comparison,
        plane after plane: "dcd-m" and "dcd-mm", the paper's descents, where rows at a bound leave;
        "tron", a trust-region Newton method (L2 only), each plane beginning where the one before
        ended, and "tron-cold", each at 0
    tol : "dcd" stops when no projected gradient exceeds it; "dcd-m" when the sizes of a plane's
        projected gradients sum to `tol` of what they did in the first pass; "dcd-mm" when the
        largest and the smallest are within `tol`; "tron" when the gradient is `tol` times the one
        at 0, and `gap_` no larger than `tol` and .01
    max_iter : passes over the rows, or Newton steps; a plane, for all solvers but "dcd"
    fit_intercept : whether planes have a bias
    dtype : "float32" or "float64", of planes and dual variables; "tron" uses float64
    classes : all labels from the lowest to the highest; None: the categories of an ordered pandas
        column, in their order, or else the labels in the data, sorted: words by the alphabet
    warm_start : begin at what the last `fit` found, if it had as many rows, features, planes
    random_state : seed of the order in which rows are visited; None: another every time
    trace : whether to note the objective after every pass or step

    Attributes
    ----------
    classes_ : labels, in order
    coef_, intercept_ : (p, d) and (p,)
    objective_, dual_objective_ : (p,) of each plane
    gap_ : (p,) their difference relative to the objective, a certificate of optimality: at most
        so much is missing
    n_iter_ : passes, or Newton steps; of all planes together where they come one after the other
    trace_ : list of (seconds, objective) from the start on: processor time of this thread, what
        it takes to evaluate objectives left out, and the sum over all planes; with `trace` only
    trace_planes_ : (points, p) the same objectives, plane by plane

    References
    ----------
    L2-loss linear nonparallel support vector ordinal regression, Acta Automatica Sinica. The
    printed dual steps have errors (see the tests); these here agree with a general solver.

    Examples
    --------
    >>> X = np.array([[-3.0], [-2.0], [0.0], [0.5], [2.0], [3.0]])
    >>> model = NPSVOR(C=10.0).fit(X, [1, 1, 2, 2, 3, 3])
    >>> model.predict([[-4.0], [0.2], [4.0]]).tolist(), bool(model.gap_.max() < 0.01)
    ([1, 2, 3], True)
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        C1: float | None = None,
        C2: float | None = None,
        epsilon: float = 0.1,
        loss: Literal["squared_hinge", "hinge"] = "squared_hinge",
        solver: Literal["dcd", "dcd-m", "dcd-mm", "tron", "tron-cold"] = "dcd",
        tol: float = 0.01,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        dtype: Literal["float32", "float64"] = "float32",
        classes: Any = None,
        warm_start: bool = False,
        random_state: int = 0,
        trace: bool = False,
    ) -> None:
        self.C = C
        self.C1 = C1
        self.C2 = C2
        self.epsilon = epsilon
        self.loss = loss
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.dtype = dtype
        self.classes = classes
        self.warm_start = warm_start
        self.random_state = random_state
        self.trace = trace

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the planes of rows X (n, d), dense or sparse, with labels y (n,) that sort.

        Raises
        ------
        ValueError
            A value is not finite, an index is out of range, labels are no classes or not among
            `classes`, or shapes do not fit.
        ConfigurationError
            A setting is out of its range.
        """
        return self._refit(lambda new: new._fit(X, y, sample_weight))

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        costs, seed = self._costs(), seed_of(self.random_state)
        classes = order_of(y, self.classes)
        kind = np.dtype("float64" if self.solver in _NEWTON else self.dtype)
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32],
            accept_large_sparse=True,
        )  # fmt: skip
        self.classes_, ranks = ranks_of(y, classes)
        weights = costly(sample_weight, X, max(costs.near, costs.far))
        rows, squared = rows_of(X, kind), self.loss == "squared_hinge"
        problem = Problem(rows, ranks, len(self.classes_), weights, costs, squared)
        check_lengths(problem.norms)
        if self.solver in _NEWTON:
            self._newton(problem)
        else:
            self._descend(problem, seed)

    def _costs(self) -> Costs:
        self._check_settings()
        near = self.C if self.C1 is None else self.C1
        far = self.C if self.C2 is None else self.C2
        check_cost("C" if self.C1 is None else "C1", near)
        check_cost("C" if self.C2 is None else "C2", far)
        return Costs(float(near), float(far), float(self.epsilon), float(self.fit_intercept))

    def _check_settings(self) -> None:
        check_positive("tol", self.tol)
        check_positive("epsilon", self.epsilon, zero=True)
        check_whole("max_iter", self.max_iter, 1)
        check_choice("loss", self.loss, ("squared_hinge", "hinge"))
        check_choice("solver", self.solver, _SOLVERS)
        check_choice("dtype", self.dtype, ("float32", "float64"))
        for name in ("fit_intercept", "warm_start", "trace"):
            check_flag(name, getattr(self, name))
        if self.solver in _NEWTON and self.loss == "hinge":
            allowed = ", ".join(name for name in _SOLVERS if name not in _NEWTON)
            raise ConfigurationError(
                f"solver = {self.solver!r} needs a loss with a slope; "
                f"allowed with loss = 'hinge': {allowed}"
            )

    def _descend(self, problem: Problem, seed: int) -> None:
        planes = self._begin(problem)
        trace = Trace(problem.planes) if self.trace else None
        if self.solver == "dcd":
            descend_dual(problem, planes, tol=self.tol, most=self.max_iter, seed=seed, trace=trace)
        else:
            descend_planes(
                problem, planes, RULES[self.solver], tol=self.tol, most=self.max_iter, seed=seed,
                trace=trace,
            )  # fmt: skip
        self._beta = planes.beta if self.warm_start else None
        count, bias = problem.planes, problem.costs.bias
        self._found(
            planes.W.T[:count], planes.B[:count] * bias, *values_of(problem, planes),
            planes.passes, planes.settled, trace,
        )  # fmt: skip

    def _begin(self, problem: Problem) -> Planes:
        """Begin at 0, or at the last dual variables where they fit this problem."""
        last, lanes = getattr(self, "_beta", None), lanes_for(problem.planes)
        if self.warm_start and last is not None and last.shape == (len(problem.rows), lanes):
            return planes_of(problem, last)
        return empty_planes(problem)

    def _newton(self, problem: Problem) -> None:
        last, shape = getattr(self, "coef_", None), (problem.planes, problem.rows.features)
        start, bias = None, problem.costs.bias
        if self.warm_start and last is not None and last.shape == shape:
            start = np.column_stack([last, self.intercept_]).astype(np.float64)
        trace = Trace(problem.planes) if self.trace else None
        found = newton_planes(
            problem, start, follow=self.solver == "tron", tol=self.tol, most=self.max_iter,
            trace=trace,
        )  # fmt: skip
        self._found(
            found.W[:, :-1], found.W[:, -1] * bias, found.objective, found.dual, found.steps,
            found.settled, trace,
        )  # fmt: skip

    def _found(
        self, W: Array, b: Array, objective: Array, dual: Array, steps: int, settled: bool,
        trace: Trace | None,
    ) -> None:  # fmt: skip
        check_finite(objective)
        self.coef_, self.intercept_ = W, b.astype(np.float64)
        self.objective_, self.dual_objective_ = objective, dual
        self.gap_ = (objective - dual) / np.where(objective > 0.0, objective, 1.0)
        self.n_iter_ = steps
        if trace is not None:
            self.trace_, self.trace_planes_ = trace.points, trace.planes
        else:
            for name in ("trace_", "trace_planes_"):
                self.__dict__.pop(name, None)
        if not settled:
            warn_unfinished("NPSVOR", steps, depth=6)

    def _above(self, X: Any) -> Array:
        f: Array = X @ self.coef_.T + self.intercept_
        return f[:, :-1] + f[:, 1:]
