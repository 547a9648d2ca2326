"""What the kernelised ordinal regressions of scikit-learn's kind share: all but their names."""

from numbers import Real
from sys import float_info
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils.validation import validate_data

from anabranch.errors import ConfigurationError
from anabranch.learners.kernel_rows import KERNELS, Kernel, decisions
from anabranch.learners.options import check_flag, check_whole
from anabranch.learners.svor import Solution, solve_svor, warn_vain
from anabranch.protocol import Array
from anabranch.sklearn_face.rank_classifier import RankClassifier
from anabranch.sklearn_face.ranked import (
    check_choice,
    check_cost,
    check_positive,
    costly,
    ranks_of,
    warn_unfinished,
)

__all__ = ["KernelRanker"]


def _spread(X: Array) -> float:
    """Give the variance of all values, 1 where they are one; raises ValueError beyond numbers."""
    with np.errstate(over="ignore", invalid="ignore"):
        spread = float(X.var())
    if spread == 0.0:
        return 1.0
    if not 1.0 / float_info.max < spread * X.shape[1] < float_info.max:
        raise ValueError(
            f"gamma = 'scale' divides by the variance of X, {spread:g}, out of range; allowed: "
            "1e-300 to 1e300; scale X, or give gamma"
        )
    return spread


class KernelRanker(RankClassifier):
    """One function and a threshold between every two ranks, by their dual."""

    _sparse = False
    _explicit: ClassVar[bool]
    """Whether a row bears on the thresholds beside its rank only, whose order is a constraint."""

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

    def _check_settings(self) -> None:
        check_cost("C", self.C)
        for name in ("tol", "cache_size", "degree"):
            check_positive(name, getattr(self, name))
        check_choice("kernel", self.kernel, KERNELS)
        check_whole("max_iter", self.max_iter, -1)
        check_flag("shrinking", self.shrinking)
        if not isinstance(self.coef0, Real) or not np.isfinite(float(self.coef0)):
            raise ConfigurationError(f"coef0 = {self.coef0!r}; allowed: finite")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Solve for rows X (n, d) with labels y (n,) that sort.

        Parameters
        ----------
        X, y : rows, or the kernel's matrix (n, n) where it is precomputed, and their labels
        sample_weight : (n,) factors of C, 0 and above; None: all are 1

        Raises
        ------
        ValueError
            A value is not finite, labels are no classes, fewer than two, or not among `classes`,
            no weight is above 0, the matrix of a precomputed kernel is not square, or shapes do
            not fit.
        ConfigurationError
            A setting is out of its range.
        """
        self._check_settings()
        X, y = validate_data(self, X, y, dtype=np.float64, order="C")
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(f"X has shape {X.shape}; allowed for a precomputed kernel: (n, n)")
        self.classes_, ranks = ranks_of(y, self.classes)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has one class, {self.classes_.tolist()[0]!r}; allowed: two or more"
            )
        weights = costly(sample_weight, X, self.C)
        self._kernel = self._kernel_of(X)
        most = self.max_iter if self.max_iter >= 0 else np.iinfo(np.int64).max
        found = solve_svor(
            X, ranks, len(self.classes_), self._kernel, self.C * weights, explicit=self._explicit,
            tol=self.tol, most=most, shrinking=self.shrinking, megabytes=self.cache_size,
        )  # fmt: skip
        if not np.isfinite(found.objective):
            raise ValueError("X and the kernel give values that are not finite; scale X")
        if self.max_iter >= 0 and found.violation > self.tol and found.moves >= most:
            warn_unfinished(type(self).__name__, found.moves)
        elif found.violation > max(self.tol, found.rounding):
            warn_vain(type(self).__name__, found)
        self._keep(found, X)
        return self

    def _keep(self, found: Solution, X: Array) -> None:
        self.support_ = np.flatnonzero(found.beta)
        self.dual_coef_ = found.beta[self.support_]
        rows = X[self.support_] if self.kernel != "precomputed" else np.empty((0, X.shape[1]))
        self.support_vectors_: Array = rows
        self.thresholds_, self.n_iter_ = found.thresholds, found.moves
        self.objective_, self.dual_objective_ = found.objective, found.dual
        difference = found.objective - found.dual
        self.gap_ = difference / found.objective if found.objective > 0.0 else difference

    def _kernel_of(self, X: Array) -> Kernel:
        gamma = self.gamma
        if isinstance(gamma, str):
            check_choice("gamma", gamma, ("auto", "scale"))
            gamma = 1.0 / (X.shape[1] * (_spread(X) if gamma == "scale" else 1.0))
        check_positive("gamma", gamma)
        return Kernel(self.kernel, float(gamma), float(self.coef0), float(self.degree))

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
