"""What scikit-learn classifiers of ordered labels do alike."""

from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from anabranch.protocol import Array
from anabranch.sklearn_face.ranked import rank_scores

__all__ = ["RankClassifier"]


class RankClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Predict 1 + the number of thresholds that a row is above; `fit` sets `classes_`."""

    _sparse: ClassVar[bool] = True
    """Whether rows may be sparse."""

    classes_: Array

    @abstractmethod
    def _above(self, X: Any) -> Array:
        """Give how far checked rows are above each threshold (n, p - 1)."""

    def _refit(self, fit: Callable[[Self], object]) -> Self:
        """Fit a copy and become it, so that a fit that fails leaves everything as it was."""
        fitted = copy(self)
        fit(fitted)
        self.__dict__.clear()
        self.__dict__.update(vars(fitted))
        return self

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        kinds = [np.float64, np.float32] if self._sparse else np.float64
        return validate_data(
            self, X, accept_sparse="csr" if self._sparse else False, dtype=kinds, order="C",
            reset=False,
        )  # fmt: skip

    def decision_function(self, X: Any) -> Array:
        """Give a score for each class (n, p), the largest at the prediction; two: (n,), its sign.

        The score of rank r is the sum of the r - 1 largest distances above thresholds.

        Raises
        ------
        ValueError
            A value is not finite, or the number of columns is another than in `fit`.
        """
        return rank_scores(self._above(self._checked(X)))

    def predict(self, X: Any) -> Array:
        """Give the label of each row (n,).

        Raises
        ------
        ValueError
            As `decision_function`.
        """
        above = self._above(self._checked(X))
        labels: Array = self.classes_[(above > 0.0).sum(axis=1)]
        return labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._sparse
        tags.classifier_tags.poor_score = True  # on classes without an order
        return tags
