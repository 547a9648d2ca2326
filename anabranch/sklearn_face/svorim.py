"""Support vector ordinal regression with implicit constraints, as a scikit-learn classifier."""

from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import _check_sample_weight, validate_data

from anabranch.errors import ConfigurationError
from anabranch.kernels.kernel_rows import KERNELS, Kernel
from anabranch.learners.options import check_whole
from anabranch.learners.svorim import decisions, solve_svorim
from anabranch.protocol import Array
from anabranch.sklearn_face.rank_classifier import RankClassifier
from anabranch.sklearn_face.ranked import (
    check_choice,
    check_positive,
    ranks_of,
    warn_unfinished,
)

__all__ = ["SVORIM"]


class SVORIM(RankClassifier):
    """Ordinal regression by one function and a threshold between every two ranks, kernelised.

    min |w|^2/2 + C sum_i sum_{j<p} max(0, 1 - s_ij (w'phi(x_i) - b_j)), where s_ij = +1 iff the
    rank of row i is above j; every row bears on every threshold, which keeps them in order. The
    prediction is 1 + the number of j with f(x) > b_j. It is the centralised form of dSVOR.

    Parameters
    ----------
    C : what an error costs, at each threshold
    kernel : "gaussian", "laplacian", "polynomial", "linear", or "precomputed": X is then
        (n, n) in `fit` and (m, n) later
    gamma : factor of the distance, or of x'z in polynomials; "auto" is 1/d, "scale" is
        1/(d var X)
    degree, coef0 : of polynomials, (gamma x'z + coef0)^degree
    tol : stops when no threshold is farther from optimal, in units of the margin
    max_iter : pairs of variables moved at most; -1 for no bound
    shrinking : whether rows that are sure to stay are left out for a while
    cache_size : MB for rows of the kernel
    classes : all labels from the lowest to the highest; None: those in the data, sorted

    Attributes
    ----------
    classes_ : labels, in order
    support_, dual_coef_ : rows with beta other than 0, and beta, with f = sum beta k(x_i, .)
    support_vectors_ : these rows; empty for a precomputed kernel
    thresholds_ : (p - 1,), in order; that of a rank beyond all data lies beyond all of f
    objective_, dual_objective_, gap_ : values, and their difference relative to the objective
    n_iter_ : pairs moved

    References
    ----------
    Chu and Keerthi, Support vector ordinal regression, Neural Computation 19 (2007).

    Examples
    --------
    >>> X = np.array([[-3.0], [-2.0], [0.0], [0.5], [2.0], [3.0]])
    >>> model = SVORIM(C=10.0, gamma=0.1).fit(X, [1, 1, 2, 2, 3, 3])
    >>> model.predict([[-4.0], [0.2], [4.0]]).tolist(), bool(model.gap_ < 0.01)
    ([1, 2, 3], True)
    """

    _sparse = False

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Literal["gaussian", "laplacian", "polynomial", "linear", "precomputed"] = (
            "gaussian"
        ),
        gamma: float | Literal["auto", "scale"] = "auto",
        degree: float = 3.0,
        coef0: float = 0.0,
        tol: float = 1e-3,
        max_iter: int = -1,
        shrinking: bool = True,
        cache_size: float = 200.0,
        classes: Any = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.classes = classes

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Solve for rows X (n, d) with labels y (n,) that sort.

        Raises
        ------
        ValueError
            A value is not finite, labels are no classes or not among `classes`, the matrix of a
            precomputed kernel is not square, or shapes do not fit.
        ConfigurationError
            A setting is out of its range.
        """
        for name in ("C", "tol", "cache_size", "degree"):
            check_positive(name, getattr(self, name))
        check_choice("kernel", self.kernel, KERNELS)
        check_whole("max_iter", self.max_iter, -1)
        if not np.isfinite(self.coef0):
            raise ConfigurationError(f"coef0 = {self.coef0!r}; allowed: finite")
        X, y = validate_data(self, X, y, dtype=np.float64, order="C")
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(f"X has shape {X.shape}; allowed for a precomputed kernel: (n, n)")
        self.classes_, ranks = ranks_of(y, self.classes)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        self._kernel = self._kernel_of(X)
        most = self.max_iter if self.max_iter >= 0 else np.iinfo(np.int64).max
        found = solve_svorim(
            X, ranks, len(self.classes_) - 1, self._kernel, self.C * weights, tol=self.tol,
            most=most, shrinking=self.shrinking, megabytes=self.cache_size,
        )  # fmt: skip
        if not np.isfinite(found.objective):
            raise ValueError("X and the kernel give values that are not finite; scale X")
        if found.violation > self.tol and found.moves >= most:
            warn_unfinished("SVORIM", found.moves)
        self.support_ = np.flatnonzero(found.beta)
        self.dual_coef_ = found.beta[self.support_]
        rows = X[self.support_] if self.kernel != "precomputed" else np.empty((0, X.shape[1]))
        self.support_vectors_: Array = rows
        self.thresholds_, self.n_iter_ = found.thresholds, found.moves
        self.objective_, self.dual_objective_ = found.objective, found.dual
        difference = found.objective - found.dual
        self.gap_ = difference / found.objective if found.objective > 0.0 else difference
        return self

    def _kernel_of(self, X: Array) -> Kernel:
        gamma = self.gamma
        if isinstance(gamma, str):
            check_choice("gamma", gamma, ("auto", "scale"))
            spread = float(X.var()) if gamma == "scale" else 1.0
            gamma = 1.0 / (X.shape[1] * spread) if spread > 0.0 else 1.0
        check_positive("gamma", gamma)
        kind = KERNELS.index(self.kernel)
        return Kernel(kind, float(gamma), float(self.coef0), float(self.degree))

    def _above(self, X: Any) -> Array:
        if self.kernel == "precomputed":
            f: Array = X[:, self.support_] @ self.dual_coef_
        else:
            f = decisions(X, self.support_vectors_, self.dual_coef_, self._kernel)
        return f[:, None] - self.thresholds_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
