"""A cross-validated search of what errors cost, folds in parallel threads."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils.validation import _check_sample_weight, validate_data

from anabranch.errors import ConfigurationError
from anabranch.learners.options import check_flag, check_whole
from anabranch.protocol import Array
from anabranch.sklearn_face.npsvor import NPSVOR
from anabranch.sklearn_face.rank_classifier import RankClassifier
from anabranch.sklearn_face.ranked import (
    check_choice,
    check_cost,
    order_of,
    ranks_of,
    seed_of,
)
from anabranch.sklearn_face.redsvm import RedSVM

__all__ = ["NPSVORCV"]

Cost = float | tuple[float, float]
Fold = tuple[Array, Array]

_ERRORS: Mapping[str, Callable[[Array], Array]] = {
    "absolute": np.abs,
    "squared": np.square,
    "zero_one": lambda missed: missed != 0,
}


class NPSVORCV(RankClassifier):
    """NPSVOR or RedSVM, at the C whose cross-validated error is least.

    The compiled loops leave other threads alone, so folds run side by side in one process and
    share the rows; the result does not depend on how many threads there are.

    Parameters
    ----------
    model : what is fitted, `NPSVOR` or `RedSVM`; None: `NPSVOR()`
    Cs : costs to try, each 1e-20 to 1e30; for `NPSVOR` a pair is (C1, C2)
    error : of a row, in ranks: "absolute", "squared" or "zero_one"; ties go to the first cost
    cv : number of folds, stratified and shuffled by the model's `random_state`; or scikit-learn's
        splitter or pairs of row numbers
    threads : folds at a time
    path : within a fold, begin at what the cost before gave (`NPSVOR` only): sooner done, and the
        same within the tolerance

    Attributes
    ----------
    classes_ : labels, in order
    best_ : the model of all rows at `C_`, the cost chosen
    errors_ : (costs, folds) mean error of the rows held back
    coef_, intercept_ : of `best_`

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(90, 2))
    >>> y = np.digitize(X[:, 0], [-0.5, 0.5])
    >>> search = NPSVORCV(Cs=(0.01, 1.0), cv=3).fit(X, y)
    >>> search.C_, search.errors_.shape
    (1.0, (2, 3))
    """

    def __init__(
        self,
        model: Any = None,
        *,
        Cs: Sequence[Cost] = (0.03125, 0.125, 0.5, 2.0, 8.0),
        error: Literal["absolute", "squared", "zero_one"] = "absolute",
        cv: Any = 5,
        threads: int = 2,
        path: bool = False,
    ) -> None:
        self.model = model
        self.Cs = Cs
        self.error = error
        self.cv = cv
        self.threads = threads
        self.path = path

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Try all costs on all folds, then fit all rows X (n, d) with labels y (n,).

        Raises
        ------
        ValueError
            As the model's `fit`; or a class has too few rows for the folds.
        ConfigurationError
            A setting is out of its range.
        """
        return self._refit(lambda new: new._fit(X, y, sample_weight))

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        model = self._checked_model()
        classes = order_of(y, model.classes)
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32],
            accept_large_sparse=True,
        )  # fmt: skip
        self.classes_, ranks = ranks_of(y, classes)
        model.set_params(classes=self.classes_)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        folds = list(self._folds(model, X, ranks))
        with ThreadPoolExecutor(self.threads) as pool:
            tried = pool.map(lambda fold: self._errors_of(model, fold, X, y, ranks, weights), folds)
            self.errors_ = np.array(list(tried)).T
        self.C_ = self.Cs[int(np.argmin(self.errors_.mean(axis=1)))]
        self.best_ = model.set_params(**_costs(model, self.C_)).fit(X, y, sample_weight)
        self.coef_, self.intercept_ = self.best_.coef_, self.best_.intercept_

    def _checked_model(self) -> Any:
        check_choice("error", self.error, _ERRORS)
        check_whole("threads", self.threads, 1)
        check_flag("path", self.path)
        model = NPSVOR() if self.model is None else self.model
        if not isinstance(model, NPSVOR | RedSVM):
            raise ConfigurationError(f"model = {model!r} is unknown; allowed: NPSVOR(), RedSVM()")
        pairs = isinstance(model, NPSVOR)
        if self.path and not pairs:
            raise ConfigurationError(f"path = True with {model!r}; allowed: False, or an NPSVOR()")
        _check_costs(self.Cs, pairs=pairs)
        seed_of(model.random_state)
        return clone(model)

    def _folds(self, model: Any, X: Any, ranks: Array) -> Iterator[Fold]:
        if isinstance(self.cv, Integral):
            check_whole("cv", self.cv, 2)
            count, most = int(self.cv), int(np.bincount(ranks).max())
            if count > most:
                raise ValueError(
                    f"cv = {count} is more than the rows of any class, {most}, "
                    f"n_samples = {len(ranks)}; allowed: 2 to {most}"
                )
            splitter = StratifiedKFold(count, shuffle=True, random_state=model.random_state)
        else:
            splitter = check_cv(self.cv, ranks, classifier=True)
        yield from splitter.split(X, ranks)

    def _errors_of(
        self, model: Any, fold: Fold, X: Any, y: Array, ranks: Array, weights: Array
    ) -> list[float]:
        """Give the mean error of a fold's rows held back, for each cost."""
        kept, held = fold
        rows, labels, given = X[kept], y[kept], weights[kept]
        held_rows, one, errors = X[held], clone(model), []
        if self.path:
            one.set_params(warm_start=True)
        for cost in self.Cs:
            one.set_params(**_costs(one, cost)).fit(rows, labels, given)
            missed = ranks_of(one.predict(held_rows), self.classes_)[1] - ranks[held]
            errors.append(_mean(_ERRORS[self.error](missed), weights[held]))
        return errors

    def _above(self, X: Any) -> Array:
        above: Array = self.best_._above(X)
        return above


def _check_costs(Cs: Any, *, pairs: bool) -> None:
    """Refuse what is no list of costs, nor, where there may be pairs, of costs and pairs."""
    allowed = "costs above 0" + (" or pairs (C1, C2) of them" if pairs else "")
    flat = isinstance(Cs, np.ndarray) and Cs.ndim == 1
    if not (flat or isinstance(Cs, list | tuple)):
        raise ConfigurationError(f"Cs = {Cs!r} is no list; allowed: a list of {allowed}")
    if len(Cs) == 0:
        raise ConfigurationError(f"Cs = {Cs!r} is empty; allowed: {allowed}")
    for cost in Cs:
        if isinstance(cost, Real):
            check_cost("Cs", float(cost))
        elif not isinstance(cost, tuple) or not pairs or len(cost) != 2:
            raise ConfigurationError(f"Cs has {cost!r}; allowed: {allowed}")
        else:
            for part in cost:
                check_cost("Cs", part)


def _costs(model: Any, cost: Cost) -> dict[str, Any]:
    """Give the settings of a cost."""
    if isinstance(cost, tuple):
        return {"C1": float(cost[0]), "C2": float(cost[1])}
    pair = {"C1": None, "C2": None} if "C1" in model.get_params() else {}
    return {"C": float(cost), **pair}


def _mean(errors: Array, weights: Array) -> float:
    """Average with weights; plainly where they are all 0."""
    return float(np.average(errors, weights=weights if weights.any() else None))
