"""Other projects' ordinal models on an ordinal set, with what went wrong in fitting."""

import io
import warnings
from contextlib import redirect_stdout
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from anabranch.protocol import Array
from anabranch.reproduce.ordinal_data import OrdinalSplit

__all__ = ["UNFINISHED", "PeerError", "linear_svc", "logistic", "ordered_model", "ridge"]

UNFINISHED = "did not converge"


class PeerError(Exception):
    """A peer refused a set; the message is its own."""


def logistic(split: OrdinalSplit, form: str) -> tuple[Array, str]:
    """Give ranks by mord's logistic model with all thresholds ("AT") or the nearest ("IT").

    Returns
    -------
    ranks (m,) of the rows to test, and what went wrong, "" if nothing
    """
    import mord

    classes, places = np.unique(split.y, return_inverse=True)
    kind = mord.LogisticAT if form == "AT" else mord.LogisticIT
    # Only what it prints tells how the solver ended.
    told = io.StringIO()
    with redirect_stdout(told), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind(verbose=1).fit(split.X, places)
    unfinished = "LIMIT" in told.getvalue().upper()
    return classes[model.predict(split.held)], UNFINISHED if unfinished else ""


def ridge(split: OrdinalSplit) -> tuple[Array, str]:
    """Give ranks by mord's ridge regression, rounded; solved directly."""
    import mord

    classes, places = np.unique(split.y, return_inverse=True)
    model = mord.OrdinalRidge().fit(split.X, places)
    return classes[model.predict(split.held).astype(np.int64)], ""


def linear_svc(split: OrdinalSplit) -> tuple[Array, str]:
    """Give ranks by scikit-learn's linear machine, each rank against the others."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = LinearSVC(random_state=0).fit(split.X, split.y)
    unfinished = any(issubclass(one.category, ConvergenceWarning) for one in told)
    return model.predict(split.held), UNFINISHED if unfinished else ""


def ordered_model(split: OrdinalSplit) -> tuple[Array, str]:
    """Give the likeliest ranks by statsmodels' ordered logit, which has no regulariser.

    Raises
    ------
    PeerError
        It refuses the set, or what it found is not finite.
    """
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    classes, places = np.unique(split.y, return_inverse=True)
    varies = np.ptp(split.X, axis=0) > 0.0
    X = split.X[:, varies]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = OrderedModel(places, X, distr="logit", hasconst=False)
            found: Any = model.fit(method="bfgs", maxiter=1000, disp=False, skip_hessian=True)
        except (ValueError, np.linalg.LinAlgError) as error:
            raise PeerError(str(error)) from error
        chances = model.predict(found.params, exog=split.held[:, varies])
    if not np.isfinite(chances).all():
        raise PeerError("its parameters are not finite")
    converged = bool(found.mle_retvals["converged"])
    return classes[np.argmax(chances, axis=1)], "" if converged else UNFINISHED
