"""The models that are compared on the ordinal sets."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

import numpy as np

from anabranch.protocol import Array
from anabranch.reproduce import ordinal_network as network
from anabranch.reproduce import ordinal_peers as peers
from anabranch.reproduce.ordinal_data import OrdinalSplit
from anabranch.sklearn_face.rank_classifier import RankClassifier
from anabranch.sklearn_face.svorex import SVOREX
from anabranch.sklearn_face.svorim import SVORIM

__all__ = ["METHODS", "Method", "missing"]

C = 1000.0
"""Times 1/N: what an error costs in the machines with a kernel."""

Outcome = tuple[list[Array], str]
"""Ranks (m,) of the rows to test by each model, one or one a node, and what went wrong."""


@dataclass(frozen=True, slots=True)
class Method:
    """A column of the table.

    Attributes
    ----------
    key, heading : short name, and the column's
    run : (split, number of the holdout) -> what came out; raises `PeerError`
    package : that must be installed, besides what the project needs
    known : field of `ordinal_paper.Known` that has its values, "" if none
    most : holdouts of a set that it is fitted to; None: all
    """

    key: str
    heading: str
    run: Callable[[OrdinalSplit, int], Outcome]
    package: str = ""
    known: str = ""
    most: int | None = None


def _peer(fit: Callable[[OrdinalSplit], tuple[Array, str]], split: OrdinalSplit, _: int) -> Outcome:
    predicted, trouble = fit(split)
    return [predicted], trouble


def _machine(kind: Callable[..., RankClassifier], split: OrdinalSplit, _: int) -> Outcome:
    n, K = split.X.shape
    model = kind(C=C / n, gamma=1.0 / K, classes=np.arange(1, split.ranks + 1))
    return [model.fit(split.X, split.y).predict(split.held)], ""


def _nodes(run: Callable[..., list[Array]], split: OrdinalSplit, seed: int) -> Outcome:
    return run(split, seed), ""


METHODS: tuple[Method, ...] = (
    Method(
        "logistic-at", "LogisticAT", partial(_peer, partial(peers.logistic, form="AT")), "mord",
        "logistic_at",
    ),
    Method(
        "logistic-it", "LogisticIT", partial(_peer, partial(peers.logistic, form="IT")), "mord",
        "logistic_it",
    ),
    Method("ridge", "OrdinalRidge", partial(_peer, peers.ridge), "mord"),
    Method("linear-svc", "LinearSVC", partial(_peer, peers.linear_svc)),
    Method("ordered", "OrderedModel", partial(_peer, peers.ordered_model), "statsmodels", most=10),
    Method("svorim", "SVORIM", partial(_machine, SVORIM), known="svorim"),
    Method("svorex", "SVOREX", partial(_machine, SVOREX)),
    Method("dsvor", "dSVOR", partial(_nodes, network.batch), known="dsvor"),
    Method(
        "dsvor-linear", "dSVOR linear", partial(_nodes, partial(network.batch, linear=True)),
        known="linear",
    ),
    Method(
        "dsvor-online", "dSVOR online",
        partial(_nodes, partial(network.online, rounds=network.ONLINE_ROUNDS)), most=10,
    ),
    Method("dsvor-once", "online, one pass", partial(_nodes, network.online)),
    Method(
        "local", "local-only", partial(_nodes, partial(network.batch, together=False)),
        known="local",
    ),
)  # fmt: skip
"""Other projects' models, centralised ones, those over 20 nodes, and nodes alone."""


def missing() -> dict[str, list[str]]:
    """Give the packages that are not installed, and the columns that are left out for it."""
    found: dict[str, list[str]] = {}
    for method in METHODS:
        if method.package and find_spec(method.package) is None:
            found.setdefault(method.package, []).append(method.heading)
    return found
