"""The learners put to the laws: how each is made, samples for it, and a neighbour's message."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from anabranch.learners import make
from anabranch.protocol import Array, Learner, Message
from anabranch.synthetic import nonlinear


def ordinal_data(count: int, seed: int = 0) -> tuple[Array, Array]:
    return nonlinear(seed=seed).block(0, count)


@dataclass(frozen=True)
class Case:
    """How to make a learner, samples for it, and whether it gives margins.

    `peer` gives a neighbour's message, by a seed, where that is not what the learner itself
    would send first; `wrong` are targets it must refuse; `alike` tells whether its model,
    which has no samples, predicts as it does.
    """

    make: Callable[[], Learner]
    data: Callable[..., tuple[Array, Array]] = ordinal_data
    margins: bool = True
    peer: Callable[[int], Message] | None = None
    wrong: tuple[float, ...] = (0, 5, 1.5, np.nan, np.inf, -1)
    alike: bool = True


def dsvor(**options: Any) -> Case:
    return Case(lambda: make("dsvor", 2, 4, dimension=20, **options))


def dropping(kind: str, **options: Any) -> Case:
    """dSVOR that gives features up at once, and takes them up again."""
    settings = {"dimension": 20, "warm_up": 2, "prune": 0.3, "drop": 1} | options
    return Case(lambda: make(kind, 2, 4, **settings))


def positive_data(count: int, seed: int = 0) -> tuple[Array, Array]:
    X, y = ordinal_data(count, seed)
    return np.abs(X), y


def numbers(count: int, seed: int = 0) -> tuple[Array, Array]:
    X = nonlinear(seed=seed).block(0, count)[0]
    noise = np.random.default_rng(seed).normal(size=count)
    return X, np.round(30.0 * X[:, 0] - 10.0 * X[:, 1] + noise)


def elastic(kind: str, shape: str, role: str, **options: Any) -> Case:
    def make_as(role: str) -> Learner:
        return make(kind, 2, 0, shape=shape, role=role, **options)

    def say(seed: int) -> Message:
        """What a node says first to a server, or a hub that has heard of somebody."""
        node, hub = make_as("node"), make_as("hub")
        node.learn(*numbers(30 + seed, seed))
        if (shape, role) == ("server", "hub"):
            return node.messages(0)[0]
        heard = {"x": make_as("node").messages(0)[0]} if shape == "graph" else {}
        for t in range(3 + seed):
            hub.learn(*numbers(30, seed))
            hub.combine(t, heard, {"x": 1.0})
        return hub.messages(0)[0]

    return Case(lambda: make_as(role), numbers, False, say, (np.nan, np.inf))


def sets_of_labels(count: int, seed: int = 0) -> tuple[Array, Array]:
    X = nonlinear(seed=seed).block(0, count)[0]
    return X, (X @ np.array([[1.0, -1.0, 0.3], [0.2, 0.5, -1.0]]) > 0.1).astype(np.float64)


def doml(**options: Any) -> Case:
    """DOML among nodes that have been at it for a few rounds."""

    def make_one() -> Learner:
        return make("doml", 2, 0, labels=["a", "b", "c"], warm_up=2, **options)

    def say(seed: int) -> Message:
        nodes: list[Any] = [make_one() for _ in range(2)]
        for t in range(4):
            for i, node in enumerate(nodes):
                node.learn(*sets_of_labels(10 + seed, 10 * seed + i))
            sent = [node.messages(t)[0] for node in nodes]
            for i, node in enumerate(nodes):
                node.combine(t, {"x": sent[1 - i]}, {"x": 0.5, "silent": 0.1})
        return nodes[0].messages(4)[0]

    alike = options.get("predictor") != "mlknn"
    return Case(make_one, sets_of_labels, True, say, (2, 0.5, np.nan, np.inf, -1), alike)


def npsvor(**options: Any) -> Case:
    """NPSVOR; a node that has met nobody has nothing to say."""

    def make_one() -> Learner:
        return make("npsvor", 2, 4, **options)

    def say(seed: int) -> Message:
        node = make_one()
        node.learn(*ordinal_data(10 + seed, seed))
        node.combine(0, {}, {"x": 1.0})
        return node.messages(1)[0]

    return Case(make_one, ordinal_data, True, say)


CASES = {
    "gaussian": dsvor(),
    "linear": dsvor(kernel="linear", warm_up=2),
    "cache": dsvor(cache=7, warm_up=2),
    "last": dsvor(serve="last", scaling="none"),
    "batch": Case(lambda: make("dsvor-batch", 2, 4, dimension=20, warm_up=2)),
    "batch linear": Case(lambda: make("dsvor-batch", 2, 4, kernel="linear", scaling="none")),
    "dropping": dropping("dsvor", cache=5),
    "dropping fields": dropping("dsvor", kernel="linear", serve="last"),
    "batch dropping": dropping("dsvor-batch", orthogonal=True),
    "additive": Case(lambda: make("dsvor", 2, 4, kernel="chi-squared"), positive_data),
    "elastic node": elastic("elastic-net", "server", "node"),
    "elastic window": elastic("elastic-net", "server", "node", window=50, u1=0.0),
    "elastic hub": elastic("elastic-net", "server", "hub", decay=0.98),
    "elastic graph": elastic("elastic-net", "graph", "node", scaling="none"),
    "elastic graph hub": elastic("elastic-net", "graph", "hub"),
    "elastic batch": elastic("elastic-net-batch", "server", "node"),
    "elastic batch hub": elastic("elastic-net-batch", "server", "hub", scaling="none", rho=1.0),
    "elastic batch graph": elastic("elastic-net-batch", "graph", "node"),
    "doml": doml(),
    "doml literal": doml(literal=True, cache=9),
    "doml per label": doml(predictor="per-label", scaling="none", cache=0),
    "doml dual": doml(form="dual", cache=15, dtype="float32"),
    "doml sparse": doml(form="sparse", cache=25, bias=False),
    "doml all rows": doml(cache=0),
    "doml nearest": doml(predictor="mlknn", cache=30, neighbours=3),
    "doml changed rows": doml(wire="changed", tolerance=0.1),
    "doml factors": doml(wire="low-rank", rank=1, scaling="none"),
    "doml halves": doml(wire="half"),
    "npsvor": npsvor(),
    "npsvor halves": npsvor(wire="half", bias=False, names=["z", "a"]),
    "npsvor doubles": npsvor(wire="double", batch_rows=3),
}


def equal(a: Any, b: Any) -> bool:
    """Equality of states, bit for bit in the arrays."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return bool(a == b)


def neighbours(case: Case, names: str = "bca") -> dict[str, Message]:
    if case.peer is not None:
        return {name: case.peer(seed) for seed, name in enumerate(names, 1)}
    inbox = {}
    for seed, name in enumerate(names, 1):
        other = case.make()
        other.learn(*case.data(30, seed))
        inbox[name] = other.messages(0)[0]
    return inbox


def trained(case: Case, rounds: int = 4) -> Learner:
    learner = case.make()
    X, y = case.data(20 * rounds)
    for t in range(rounds):
        learner.learn(X[20 * t : 20 * t + 20], y[20 * t : 20 * t + 20])
        learner.combine(t, neighbours(case), {"a": 0.2, "b": 0.3, "c": 0.1})
    return learner


def both(learner: Any, X: Array, y: Array) -> tuple[Array, Array]:
    predicted, margins = learner.predict_then_learn_margins(X, y)
    return predicted, margins


def by_margins(margins: Array, y: Array) -> Array:
    """What margins say, for ranks or for sets of labels."""
    above = margins > 0.0
    return above.astype(np.float64) if y.ndim == 2 else 1 + above.sum(axis=1)


def damaged(message: Message) -> list[Message]:
    bad = []
    for name, array in message.arrays.items():
        rest = {key: value for key, value in message.arrays.items() if key != name}
        poisoned = array.copy()
        poisoned[-1] = np.nan if array.dtype.kind == "f" else 0
        bad.append(Message(rest))
        wrong = (array[:-1], poisoned, array[:, None], array + np.inf)
        bad.extend(Message({**rest, name: values}) for values in wrong)
    return [*bad, Message({}), Message({**message.arrays, "other": np.zeros(1)})]
