"""Warm starts: a learner that goes on from a saved model."""

from collections.abc import Mapping
from typing import Any, Protocol, Self, runtime_checkable

from anabranch.errors import ModelError
from anabranch.features.spectra import SPECTRA
from anabranch.protocol import Learner, State

__all__ = ["WarmStart", "shares_samples", "warm_started"]

_MEANING = (
    "features", "names", "ranks", "labels", "scaling", "bias", "predictor", "window", "panes",
    "kernel", "dimension", "drop",
)  # fmt: skip
"""Settings that say what the parameters mean."""

_RANDOM = ("gamma", "seed", "orthogonal")
"""Settings that say which random features there are."""

_OF_THE_MODEL = ("warm_up",)
"""Settings of what lies behind a model."""


@runtime_checkable
class WarmStart(Protocol):
    """What a learner may do besides: take over what another of its kind has learned.

    For learners whose model holds their part in an exchange, too, or is made of the moments of
    their own samples.
    """

    def begin_from(self, other: Self) -> None:
        """Take over what another has learned, and nothing of its exchange."""
        ...


def shares_samples(kind: type[Learner]) -> bool:
    """Tell whether a model of this kind stands for its node's samples.

    Several nodes that began from one would then count them several times.

    >>> from anabranch.learners import LEARNERS
    >>> shares_samples(LEARNERS["elastic-net"]), shares_samples(LEARNERS["dsvor"])
    (True, False)
    """
    return issubclass(kind, WarmStart)


def warm_started(fresh: Learner, model: State) -> Learner:
    """Give a learner that has the settings of a fresh one, and what a model has learned.

    Parameters
    ----------
    fresh : as it would begin without a model; it may be used up
    model : what `model()` of another gave, or the state of a model file

    Raises
    ------
    ModelError
        The model is of another kind, a setting that says what the parameters mean differs, or it
        is damaged.

    Examples
    --------
    >>> import numpy as np
    >>> from anabranch.learners import make
    >>> old = make("dsvor", 1, 2, kernel="linear")
    >>> old.learn(np.array([[-1.0], [1.0]]), np.array([1, 2]))
    >>> new = warm_started(make("dsvor", 1, 2, kernel="linear", step=2.0), old.model())
    >>> new.settings.step, bool((new.parameters() == old.parameters()).all())
    (2.0, True)
    >>> warm_started(make("dsvor", 1, 3, kernel="linear"), old.model())
    Traceback (most recent call last):
    anabranch.errors.ModelError: the model has ranks = 2, and the learner has 3; allowed: the same
    """
    if model.get("kind") != fresh.kind:
        raise ModelError(
            f"the model is of kind {model.get('kind')!r}, and the learner of {fresh.kind!r}; "
            "allowed: the same"
        )
    own, its = fresh.model().get("config"), model.get("config")
    if not isinstance(its, Mapping) or not isinstance(own, Mapping):
        raise ModelError("damaged state: config; allowed: a table of settings")
    _check(own, its)
    if isinstance(fresh, WarmStart):
        fresh.begin_from(type(fresh).restore(model))
        return fresh
    kept = {key: its[key] for key in _OF_THE_MODEL if key in its}
    return type(fresh).restore({**model, "config": {**own, **kept}})


def _check(own: Mapping[str, Any], its: Mapping[str, Any]) -> None:
    keys = _MEANING + (_RANDOM if own.get("kernel") in SPECTRA else ())
    for key in keys:
        if own.get(key) != its.get(key):
            raise ModelError(
                f"the model has {key} = {_told(its.get(key))}, and the learner has "
                f"{_told(own.get(key))}; allowed: the same"
            )


def _told(value: object) -> str:
    """Show a setting, a long list by its beginning.

    >>> _told("linear"), _told(["a", "b", "c", "d", "e"])
    ("'linear'", "['a', 'b', 'c', ...] (5)")
    """
    if not isinstance(value, list) or len(value) <= 4:
        return repr(value)
    return f"[{', '.join(map(repr, value[:3]))}, ...] ({len(value)})"
