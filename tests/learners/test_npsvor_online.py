"""Online NPSVOR: its steps, sparse and dense rows, the exchange on good and bad networks."""

import pickle
from collections.abc import Iterator
from functools import cache
from math import sqrt
from typing import Any

import numpy as np
import pytest

from anabranch.errors import ConfigurationError, SampleError
from anabranch.exchange import Policy
from anabranch.learners import NPSVOR
from anabranch.learners.npsvor_online_log import Window
from anabranch.network import Graph, build_graph, combination_weights, node_names
from anabranch.protocol import Array, Message, takes_sparse
from anabranch.simulate import Simulation, address, simulate
from anabranch.sparse import SparseRows

FEATURES, RANKS = 60, 4


def texts(n: int, seed: int = 0) -> tuple[SparseRows, Array]:
    """Rows of length 1 with few of the features, and ranks by a sum of theirs."""
    draw = np.random.default_rng(seed)
    X = draw.random((n, FEATURES)) * (draw.random((n, FEATURES)) < 0.1)
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
    score = X @ np.random.default_rng(1).normal(size=FEATURES)
    return SparseRows.of(X), 1.0 + np.digitize(score, [-0.5, 0.0, 0.5])


def node(**options: Any) -> NPSVOR:
    return NPSVOR(FEATURES, RANKS, **options)


@cache
def run(
    kind: str, n: int = 600, nodes: int = 6, policy: Policy | None = None, each: int = 1,
    **options: Any,
) -> Simulation:  # fmt: skip
    """Deal rows to nodes in turn, as many in a round as there are, and let them exchange."""
    graph = build_graph(kind, node_names(nodes))
    X, y = texts(n)

    def ticks() -> Iterator[Any]:
        for start in range(0, n, nodes):
            parts = {name: slice(start + i, start + i + 1) for i, name in enumerate(graph.nodes)}
            yield {name: (X[part], y[part]) for name, part in parts.items()}

    return simulate(
        {name: node(**options) for name in graph.nodes}, combination_weights(graph), ticks(),
        policy=policy, rounds_per_tick=each,
    )  # fmt: skip


def tables(result: Simulation) -> Array:
    learners = result.learners.values()
    return np.array([one._table.values for one in learners])  # type: ignore[attr-defined]


def mae(result: Simulation) -> float:
    return result.scores(ranks=RANKS)["MAE"]


# The steps


def test_a_node_is_adagrad_on_the_planes_of_all_ranks() -> None:
    X, y = texts(80)
    rows = np.hstack([X.toarray(), np.ones((80, 1))])
    W, H = np.zeros((FEATURES + 1, RANKS)), np.zeros((FEATURES + 1, RANKS))
    expected, margins = [], []
    for x, rank in zip(rows, y.astype(int), strict=True):
        z = x @ W
        margins.append(z[:-1] + z[1:])
        expected.append(1 + int((margins[-1] > 0.0).sum()))
        side = np.where(np.arange(1, RANKS + 1) < rank, 1.0, -1.0)
        d = 2.0 * side * np.maximum(1.0 - side * z, 0.0)
        own = z[rank - 1]
        d[rank - 1] = -2.0 * np.sign(own) * max(abs(own) - 0.1, 0.0)
        G = np.outer(x, d)
        H += G**2
        W += 0.2 * G / np.sqrt(H + 1e-8)
    learner = node(wire="double")
    found, seen = learner.predict_then_learn_margins(X, y)
    assert found.tolist() == expected
    assert seen == pytest.approx(np.array(margins), abs=1e-12)
    assert learner.parameters() == pytest.approx(W.ravel(), abs=1e-12)
    single = node()
    single.learn(X, y)
    assert single.parameters() == pytest.approx(W.ravel(), abs=1e-5)


def test_sparse_and_dense_rows_give_the_same_bits() -> None:
    X, y = texts(120)
    sparse, dense, mixed = node(), node(), node()
    assert takes_sparse(NPSVOR)
    assert (sparse.predict_then_learn(X, y) == dense.predict_then_learn(X.toarray(), y)).all()
    mixed.learn(X[:50], y[:50])
    mixed.learn(X[50:].toarray(), y[50:])
    states = {pickle.dumps(one.export()) for one in (sparse, dense, mixed)}
    assert len(states) == 1
    assert sparse.scores(X).tobytes() == dense.scores(X.toarray()).tobytes()


def test_names_in_any_order_are_the_same_fields() -> None:
    X, y = texts(60)
    names = [f"{i:02}" for i in range(FEATURES)]
    order = np.random.default_rng(3).permutation(FEATURES)
    straight, mixed = node(names=names), node(names=[names[i] for i in order])
    straight.learn(X, y)
    mixed.learn(SparseRows.of(X.toarray()[:, order]), y)
    assert straight.parameters().tobytes() == mixed.parameters().tobytes()


def test_bad_sparse_rows_are_refused_without_a_trace() -> None:
    X, y = texts(20)
    learner = node()
    learner.learn(X, y)
    before = pickle.dumps(learner.export())
    values, indices = X.values.copy(), X.indices.copy()
    values[int(X.indptr[7])] = np.nan
    indices[0] = FEATURES
    backwards = X.indices.copy()
    backwards[:2] = backwards[1::-1]
    for bad, fault in (
        (SparseRows(X.indptr, X.indices, values, FEATURES), r"X\[7, \d+\]=nan"),
        (SparseRows(X.indptr, indices, X.values, FEATURES), "in order"),
        (SparseRows(X.indptr, backwards, X.values, FEATURES), "in order"),
        (SparseRows(X.indptr + 1, X.indices, X.values, FEATURES), "in order"),
        (SparseRows(X.indptr, X.indices, X.values, FEATURES + 1), "shape"),
    ):
        for act in (learner.learn, learner.predict_then_learn):
            with pytest.raises(SampleError, match=fault):
                act(bad, y)
        with pytest.raises(SampleError, match=fault):
            learner.predict(bad)
    assert pickle.dumps(learner.export()) == before


def test_empty_rows_and_huge_values_keep_the_planes_finite() -> None:
    learner = node(step=100.0)
    nothing = SparseRows.of(np.zeros((3, FEATURES)))
    learner.learn(nothing, np.array([1.0, 2.0, 4.0]))
    learner.learn(np.full((50, FEATURES), 1e100), np.tile([1.0, 4.0], 25))
    assert np.isfinite(learner._table.values).all()
    assert np.isfinite(learner.scores(np.full((1, FEATURES), 1e100))).all()


@pytest.mark.parametrize(
    "options",
    [{"step": 0.0}, {"epsilon": 2.0}, {"bias": 1}, {"batch_rows": 0}, {"wire": "x"}, {"names": []}],
)
def test_settings_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        node(**options)


# The exchange


def test_changes_add_up_by_the_number_of_nodes_that_touched_a_feature() -> None:
    names = node_names(3)
    learners = {name: node(wire="double", bias=False) for name in names}
    x = np.zeros((3, FEATURES))
    x[0, [1, 2]], x[1, [2, 3]], x[2, [2]] = 1.0, 1.0, 1.0
    y = np.array([1.0, 4.0, 2.0])
    others = {name: dict.fromkeys([n for n in names if n != name], 0.3) for name in names}
    changed, letters = {}, {}
    for i, name in enumerate(names):
        learners[name].combine(0, {}, others[name])
        learners[name].learn(x[i : i + 1], y[i : i + 1])
        changed[name] = learners[name]._table.values.copy()
        letters[name] = address(learners[name], 1, list(others[name]))
    for name in names:
        learners[name].combine(1, {n: letters[n][name] for n in others[name]}, others[name])
    found = learners[names[0]]._table.values
    total = np.sum(list(changed.values()), axis=0)
    W, H = total[:, :RANKS], total[:, RANKS:].mean(axis=1)
    for j, count in ((1, 1), (2, 3), (3, 1)):
        assert found[j, :RANKS] == pytest.approx(W[j] / sqrt(count), abs=1e-15)
        assert found[j, RANKS:] == pytest.approx(np.full(RANKS, H[j]), abs=1e-15)


@pytest.mark.parametrize(
    ("policy", "each", "options"),
    [
        (None, 1, {}),
        (Policy(every=5), 1, {"wire": "half"}),
        (None, 3, {"wire": "double"}),
        (Policy("event", tolerance=0.02), 1, {}),
    ],
)
def test_nodes_of_a_complete_graph_hold_the_same_bits(
    policy: Policy | None, each: int, options: dict[str, Any]
) -> None:
    result = run("complete", policy=policy, each=each, **options)
    learners = list(result.learners.values())
    shared = [one._table for one in learners]  # type: ignore[attr-defined]
    bases = []
    for table in shared:
        base = table.values.copy()
        state = table.export()
        base[state["changed"]] = state["base"]  # what nobody was told yet is not shared
        bases.append(base.tobytes())
    assert len(set(bases)) == 1
    assert mae(result) < 1.0


def test_what_was_not_sent_adds_up_until_it_is() -> None:
    every, seldom = run("complete"), run("complete", policy=Policy("event", tolerance=0.2))
    assert seldom.messages < 0.5 * every.messages
    nodes = [pickle.loads(pickle.dumps(one)) for one in seldom.learners.values()]
    waiting = sum(one.measures()["rows_waiting"] for one in nodes)
    squares = tables(every)[0, :, RANKS:].sum()
    told = tables(seldom)[0, :, RANKS:].sum()
    assert waiting > 0
    assert told == pytest.approx(squares, rel=0.2)  # no step was lost on the way


@pytest.mark.parametrize("kind", ["ring", "path", "star"])
def test_on_other_graphs_changes_reach_all_nodes(kind: str) -> None:
    complete, other = run("complete"), run(kind)
    found = tables(other)
    assert np.abs(found - found[0]).max() < 1e-4 * np.abs(found).max()
    assert mae(other) < mae(complete) + 0.06


def test_a_lone_node_is_the_plain_learner() -> None:
    result, alone = run("complete", nodes=1), node()
    alone.learn(*texts(600))
    assert tables(result)[0].tobytes() == alone._table.values.tobytes()
    assert not node_acts(result)


def node_acts(result: Simulation) -> bool:
    return any(one.acts(0) for one in result.learners.values())


def test_exchange_beats_being_alone_and_comes_near_one_node() -> None:
    one, six = run("complete", nodes=1), run("complete")
    alone = run("complete", policy=Policy(every=10**6))
    assert mae(six) < mae(one) + 0.06
    assert mae(six) < mae(alone) - 0.1


class Network:
    """Nodes that send at their own pace; messages are lost, late, and there more than once."""

    def __init__(self, graph: Graph, loss: float, late: int) -> None:
        self.graph, self.loss, self.late = graph, loss, late
        self.nodes = {name: node() for name in graph.nodes}
        self.heard: dict[str, dict[str, Message]] = {name: {} for name in graph.nodes}
        self.way: list[tuple[int, str, str, Message | None]] = []
        self.draw = np.random.default_rng(0)
        self.turn = self.sent = self.taken = 0

    def play(self, turns: int, learn: bool) -> None:
        X, y = texts(2000)
        for _ in range(turns):
            for _, sender, to, message in [w for w in self.way if w[0] <= self.turn]:
                self.heard[to].pop(sender, None)
                if message is not None:
                    self.heard[to][sender] = message
            self.way = [w for w in self.way if w[0] > self.turn]
            for name in self.draw.permutation(self.graph.nodes):
                part = slice(self.taken, self.taken + int(self.draw.integers(0, 3)) * learn)
                self.taken = part.stop
                self.nodes[name].learn(X[part], y[part])
                self.exchange(name)
            self.turn += 1

    def exchange(self, name: str) -> None:
        one, neighbours = self.nodes[name], self.graph.neighbours(name)
        letters = address(one, self.turn, neighbours) if one.acts(self.turn) else {}
        self.sent += len(letters)
        for to in neighbours:
            message = letters.get(to)  # the sign of none hides what came before it
            if self.draw.random() >= self.loss:
                due = self.turn + 1 + int(self.draw.integers(0, self.late + 1))
                self.way.append((due, name, to, message))
        one.combine(self.turn, self.heard[name], dict.fromkeys(neighbours, 0.1))

    @property
    def values(self) -> Array:
        return np.array([one._table.values for one in self.nodes.values()])

    def apart(self) -> float:
        """Largest difference of the sums of squares, which only hold what has arrived."""
        squares = self.values[:, :, RANKS:]
        return float(np.abs(squares - squares[0]).max())


@pytest.mark.parametrize("kind", ["complete", "ring", "path"])
@pytest.mark.parametrize(("loss", "late"), [(0.0, 0), (0.25, 2)])
def test_lost_and_late_messages_are_made_up_for(kind: str, loss: float, late: int) -> None:
    network = Network(build_graph(kind, node_names(5)), loss, late)
    network.play(60, learn=True)
    network.play(100, learn=False)
    assert network.apart() < 1e-2
    weights = network.values[:, :, :RANKS]
    # what it told after that state it does not hear again
    assert np.abs(weights - weights[0]).max() < 0.6
    X, y = texts(400, seed=5)
    errors = [np.abs(one.predict(X) - y).mean() for one in network.nodes.values()]
    assert max(errors) < min(errors) + 0.1
    before = network.sent
    network.play(20, learn=False)
    assert network.sent <= before + 5  # nothing to tell, nothing said


def test_a_node_that_starts_again_from_an_older_state_hears_what_it_missed() -> None:
    network = Network(build_graph("ring", node_names(5)), 0.1, 1)
    network.play(30, learn=True)
    name = network.graph.nodes[2]
    old = pickle.dumps(network.nodes[name].export())
    network.play(12, learn=True)
    network.nodes[name] = NPSVOR.restore(pickle.loads(old))
    network.play(30, learn=True)
    network.play(100, learn=False)
    weights = network.values[:, :, :RANKS]
    # what it told after that state it does not hear again
    assert np.abs(weights - weights[0]).max() < 0.6
    X, y = texts(400, seed=5)
    errors = [np.abs(one.predict(X) - y).mean() for one in network.nodes.values()]
    assert max(errors) < min(errors) + 0.1


def test_a_silent_neighbour_does_not_make_a_node_keep_everything() -> None:
    one, (X, y) = node(), texts(400)
    sizes = []
    for t in range(400):
        one.combine(t, {}, {"gone": 1.0})
        one.learn(X[t : t + 1], y[t : t + 1])
        if one.acts(t):
            one.messages(t)
        sizes.append(len(pickle.dumps(one.export())))
    assert max(sizes[200:]) < 1.1 * max(sizes[:200])


def test_windows_know_what_they_have_met() -> None:
    window = Window(8)
    met = [3, 1, 5, 5, 1, 20, 19, 2, 12, 11]
    assert [window.meet(n) for n in met] == [1, 1, 1, 0, 0, 1, 1, 0, 1, 0]
    assert [n for n in range(12, 22) if window.has(n)] == [12, 19, 20]
    assert not window.complete


# What is sent
