"""Linear RedSVM, ordinal regression by parallel hyperplanes, as a scikit-learn classifier."""

from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import validate_data

from anabranch.kernels.counters import mix
from anabranch.kernels.npsvor import shuffle, squares
from anabranch.kernels.redsvm import red_duality, red_pass
from anabranch.learners.options import check_whole
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
from anabranch.sparse import SparseRows

__all__ = ["RedSVM"]


class RedSVM(RankClassifier):
    """Ordinal regression by one direction and a threshold between every two ranks.

    min |w|^2/2 + |b|^2/2 + C sum_i sum_{k<p} loss(1 - s_ik (w'x_i + b_k)), where s_ik is +1 iff
    the rank of row i is above k; the prediction is 1 + the number of k with w'x + b_k > 0.

    Parameters
    ----------
    C : what an error costs, 1e-20 to 1e30
    loss : "hinge" or "squared_hinge"
    tol : stops when no projected gradient of the dual exceeds it
    max_iter : passes over the rows
    dtype : "float32" or "float64", of weights and dual variables
    classes : all labels from the lowest to the highest; None: the categories of an ordered pandas
        column, in their order, or else the labels in the data, sorted: words by the alphabet
    random_state : seed of the order in which rows are visited; None: another every time

    Attributes
    ----------
    classes_ : labels, in order
    coef_, intercept_ : (1, d) and (p - 1,)
    objective_, dual_objective_ : of the whole problem
    gap_ : their difference relative to the objective
    n_iter_ : passes

    References
    ----------
    Lin and Li, Reduction from cost-sensitive ordinal ranking to weighted binary classification,
    Neural Computation 24 (2012).

    Examples
    --------
    >>> X = np.array([[-3.0], [-2.0], [0.0], [0.5], [2.0], [3.0]])
    >>> RedSVM(C=10.0).fit(X, [1, 1, 2, 2, 3, 3]).predict([[-4.0], [0.2], [4.0]]).tolist()
    [1, 2, 3]
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: Literal["hinge", "squared_hinge"] = "hinge",
        tol: float = 0.01,
        max_iter: int = 1000,
        dtype: Literal["float32", "float64"] = "float32",
        classes: Any = None,
        random_state: int = 0,
    ) -> None:
        self.C = C
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter
        self.dtype = dtype
        self.classes = classes
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find direction and thresholds of rows X (n, d), dense or sparse, with labels y (n,).

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
        check_cost("C", self.C)
        check_positive("tol", self.tol)
        check_whole("max_iter", self.max_iter, 1)
        check_choice("loss", self.loss, ("hinge", "squared_hinge"))
        check_choice("dtype", self.dtype, ("float32", "float64"))
        key, classes = np.uint64(seed_of(self.random_state)), order_of(y, self.classes)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        self.classes_, ranks = ranks_of(y, classes)
        weights = costly(sample_weight, X, float(self.C))
        self._descend(rows_of(X, np.dtype(self.dtype)), ranks, weights, key)

    def _descend(self, rows: SparseRows, ranks: Array, weights: Array, key: np.uint64) -> None:
        squared, kind = self.loss == "squared_hinge", rows.values.dtype
        w, b = np.zeros(rows.features, kind), np.zeros(len(self.classes_) - 1, kind)
        beta, norms = np.zeros((len(rows), len(b)), kind), np.empty(len(rows), kind)
        squares(rows.indptr, rows.values, 0.0, norms)
        check_lengths(norms)
        order = np.flatnonzero(weights > 0.0)
        parts = (rows.indptr, rows.indices, rows.values, ranks)
        for done in range(self.max_iter):
            shuffle(order, np.uint64(mix(key, done)))
            wrong = red_pass(order, *parts, norms, weights, float(self.C), squared, w, b, beta)
            self.n_iter_ = done + 1
            if wrong <= self.tol:
                break
        else:
            warn_unfinished("RedSVM", self.n_iter_, depth=5)
        losses, gain = red_duality(*parts, weights, float(self.C), squared, w, b, beta)
        self.coef_, self.intercept_ = w.astype(np.float64)[None], b.astype(np.float64)
        half = 0.5 * float((self.coef_**2).sum() + (self.intercept_**2).sum())
        self.objective_, self.dual_objective_ = half + losses, gain - half
        check_finite(self.objective_)
        difference = self.objective_ - self.dual_objective_
        self.gap_ = difference / self.objective_ if self.objective_ > 0.0 else difference

    def _above(self, X: Any) -> Array:
        above: Array = X @ self.coef_.T + self.intercept_
        return above
