"""Linear nonparallel support vector ordinal regression as a scikit-learn classifier."""

from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import _check_sample_weight, validate_data

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
from anabranch.learners.npsvor_newton import Plane, newton
from anabranch.learners.options import check_whole
from anabranch.protocol import Array
from anabranch.sklearn_face.rank_classifier import RankClassifier
from anabranch.sklearn_face.ranked import (
    check_choice,
    check_lengths,
    check_positive,
    lengths_of,
    ranks_of,
    warn_unfinished,
)
from anabranch.sparse import SparseRows

__all__ = ["NPSVOR"]


class NPSVOR(RankClassifier):
    """Ordinal regression by one hyperplane a rank, near its own rows and far from all others.

    With s_i = -1 for rows of ranks below k and +1 for those above, plane k minimises

        |w|^2/2 + C1 sum_{rank k} loss(|w'x_i| - epsilon) + C2 sum_{others} loss(1 - s_i w'x_i)

    with the bias as one more, regularised field, and the prediction is the rank
    1 + sum_{k<p} [f_k(x) + f_{k+1}(x) > 0].

    Parameters
    ----------
    C : what an error costs, where `C1` or `C2` is None
    C1, C2 : of the own rank's rows, and of all others
    epsilon : distance from the own plane that costs nothing
    loss : "squared_hinge" (L2-NPSVOR) or "hinge" (L1)
    solver : "dcd", dual coordinate descent for all planes at once; "tron", a trust-region
        Newton method (L2 only), plane after plane, each beginning where the one before ended
    tol : "dcd" stops when no projected gradient exceeds it; "tron" when the gradient is `tol`
        times the one at 0
    max_iter : passes over the rows, or Newton steps a plane
    fit_intercept : whether planes have a bias
    dtype : "float32" or "float64", of planes and dual variables; "tron" uses float64
    classes : all labels from the lowest to the highest; None: those in the data, sorted
    warm_start : begin at what the last `fit` found, if it had as many rows, features, planes
    random_state : seed of the order in which rows are visited

    Attributes
    ----------
    classes_ : labels, in order
    coef_, intercept_ : (p, d) and (p,)
    objective_, dual_objective_ : (p,) of each plane
    gap_ : (p,) their difference relative to the objective, a certificate of optimality
    n_iter_ : passes, or Newton steps of all planes together

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
        solver: Literal["dcd", "tron"] = "dcd",
        tol: float = 0.01,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        dtype: Literal["float32", "float64"] = "float32",
        classes: Any = None,
        warm_start: bool = False,
        random_state: int = 0,
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
        costs = self._costs()
        kind = np.dtype(self.dtype if self.solver == "dcd" else "float64")
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32],
            accept_large_sparse=True,
        )  # fmt: skip
        self.classes_, ranks = ranks_of(y, self.classes)
        with np.errstate(over="ignore"):
            check_lengths(lengths_of(X, kind))
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        rows, squared = SparseRows.of(X, kind), self.loss == "squared_hinge"
        problem = Problem(rows, ranks, len(self.classes_), weights, costs, squared)
        return self._descend(problem) if self.solver == "dcd" else self._newton(problem)

    def _costs(self) -> Costs:
        near = self.C if self.C1 is None else self.C1
        far = self.C if self.C2 is None else self.C2
        check_positive("C" if self.C1 is None else "C1", near)
        check_positive("C" if self.C2 is None else "C2", far)
        check_positive("tol", self.tol)
        check_positive("epsilon", self.epsilon, zero=True)
        check_whole("max_iter", self.max_iter, 1)
        check_choice("loss", self.loss, ("squared_hinge", "hinge"))
        check_choice("solver", self.solver, ("dcd", "tron"))
        check_choice("dtype", self.dtype, ("float32", "float64"))
        if self.solver == "tron" and self.loss == "hinge":
            raise ConfigurationError(
                "solver = 'tron' needs a loss with a slope; allowed with loss = 'hinge': dcd"
            )
        return Costs(float(near), float(far), float(self.epsilon), float(self.fit_intercept))

    def _descend(self, problem: Problem) -> Self:
        planes = self._begin(problem)
        rng = np.random.default_rng(self.random_state)
        before = planes.passes
        descend_dual(problem, planes, tol=self.tol, most=self.max_iter, rng=rng)
        self.n_iter_ = planes.passes - before
        self._beta = planes.beta if self.warm_start else None
        if planes.worst > self.tol:
            warn_unfinished("NPSVOR", self.n_iter_)
        objective, dual = values_of(problem, planes)
        count = problem.planes
        W = np.ascontiguousarray(planes.W.T[:count]).astype(np.float64)
        return self._found(W, planes.B[:count] * problem.costs.bias, objective, dual)

    def _begin(self, problem: Problem) -> Planes:
        """Begin at 0, or at the last dual variables where they fit this problem."""
        last = getattr(self, "_beta", None)
        lanes = lanes_for(problem.planes)
        if self.warm_start and last is not None and last.shape == (len(problem.rows), lanes):
            return planes_of(problem, last)
        return empty_planes(problem)

    def _newton(self, problem: Problem) -> Self:
        X = problem.rows.matrix(problem.costs.bias)
        kept = problem.weights > 0.0
        X, ranks, weights = X[kept], problem.ranks[kept], problem.weights[kept]
        XT, w = X.T.tocsr(), np.zeros(X.shape[1])
        planes, values = [], []
        self.n_iter_ = 0
        for rank in range(problem.planes):
            plane = Plane(X, XT, np.sign(ranks - rank).astype(float), weights, problem.costs)
            w, beta, steps, _ = newton(plane, w, tol=self.tol, most=self.max_iter)
            self.n_iter_ += steps
            planes.append(w)
            values.append((plane.objective(w, beta), plane.dual(beta)))
        W, (objective, dual) = np.array(planes), np.array(values).T
        return self._found(W[:, :-1], W[:, -1] * problem.costs.bias, objective, dual)

    def _found(self, W: Array, b: Array, objective: Array, dual: Array) -> Self:
        self.coef_, self.intercept_ = W, b.astype(np.float64)
        self.objective_, self.dual_objective_ = objective, dual
        self.gap_ = (objective - dual) / np.where(objective > 0.0, objective, 1.0)
        return self

    def _above(self, X: Any) -> Array:
        f: Array = X @ self.coef_.T + self.intercept_
        return f[:, :-1] + f[:, 1:]
