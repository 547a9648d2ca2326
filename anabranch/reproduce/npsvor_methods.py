"""The methods of the L2-NPSVOR paper's Table 2, each as a scikit-learn estimator."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.svm import LinearSVC, LinearSVR

from anabranch.protocol import Array
from anabranch.sklearn_face.npsvor import NPSVOR
from anabranch.sklearn_face.redsvm import RedSVM

__all__ = ["COMPARED", "LIBLINEAR", "METHODS", "ranks_by"]

_TOL, _NEWTON_TOL = 0.1, 1e-3
_SAME: Mapping[str, Any] = {"max_iter": 1000, "random_state": 0}
_SVM: Mapping[str, Any] = {"dual": True, "tol": _TOL, **_SAME}
_BAND: Mapping[str, Any] = {"epsilon": 0.1}
_SQUARED = "squared_epsilon_insensitive"

METHODS: Mapping[str, Callable[[], Any]] = {
    "L1-SVC": lambda: LinearSVC(loss="hinge", **_SVM),
    "L2-SVC": lambda: LinearSVC(**_SVM),
    "SVR": lambda: LinearSVR(loss=_SQUARED, **_BAND, **_SVM),
    "RedSVM": lambda: RedSVM(tol=_TOL, **_SAME),
    "L1-NPSVOR": lambda: NPSVOR(loss="hinge", tol=_TOL, **_BAND, **_SAME),
    "L2 TRON": lambda: NPSVOR(solver="tron", tol=_NEWTON_TOL, warm_start=True, **_BAND, **_SAME),
    "L2 DCD": lambda: NPSVOR(tol=_TOL, **_BAND, **_SAME),
}
"""Name -> maker of an estimator whose C is still to be set: LIBLINEAR by scikit-learn, and ours."""

LIBLINEAR = ("L1-SVC", "L2-SVC", "SVR")
"""Methods whose random numbers all threads share: one fit at a time gives the same each time."""

COMPARED = ("L1-NPSVOR", "L2 DCD")
"""Methods whose error against C is drawn."""


def ranks_by(model: Any, rows: Any, ranks: int) -> Array:
    """Give predicted ranks (m,) as whole numbers; a regression's are rounded, within 1 to `ranks`.

    >>> model = LinearSVR().fit([[1.0], [3.0]], [1, 3])
    >>> ranks_by(model, [[2.1], [9.0]], 3).tolist()
    [2, 3]
    """
    predicted = np.clip(np.rint(model.predict(rows)), 1, ranks)
    found: Array = predicted.astype(np.int64)
    return found
