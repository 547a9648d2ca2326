"""NPSVOR in networks that change: every change counts once, for whoever comes and whoever stays."""

import pickle
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from anabranch.errors import MessageError
from anabranch.exchange import Policy
from anabranch.learners import NPSVOR
from anabranch.learners.npsvor_online_table import Table
from anabranch.network import Eras, Graph, Weights, combination_weights, complete, path, ring, star
from anabranch.protocol import Array, Message
from anabranch.simulate import Simulation, address, join, meet, simulate
from tests.learners.test_npsvor_online import FEATURES, RANKS, node, texts


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Array:
    """Sums of squares of all changes told, which add up whatever their groups."""
    sums, take = np.zeros(FEATURES + 1), Table.take

    def taking(table: Table, number: int) -> Any:
        delta, before = take(table, number)
        sums[delta.indices] += delta.squares
        return delta, before

    monkeypatch.setattr(Table, "take", taking)
    return sums


def networks(first: Graph, changes: Mapping[int, Graph]) -> Eras:
    later = {round: combination_weights(graph) for round, graph in changes.items()}
    return Eras.of(combination_weights(first), later)


def play(eras: Eras, rounds: int, speak: str = "", policy: Policy | None = None) -> Simulation:
    """Run nodes, of which all or some have a row a tick."""
    X, y = texts(rounds * 8)

    def ticks() -> Iterator[Any]:
        for t in range(rounds):
            here = [n for n in eras.at(t).graph.nodes if not speak or n in speak]
            yield {n: (X[i : i + 1], y[i : i + 1]) for i, n in enumerate(here, 8 * t)}

    learners = {name: node(wire="double") for name in eras.nodes}
    return simulate(learners, eras, ticks(), final_rounds=60, policy=policy)


def tables(learners: Mapping[str, Any], names: str | tuple[str, ...]) -> Array:
    return np.array([learners[name]._table.values for name in names])


def check(values: Array, told: Array) -> None:
    assert np.abs(values - values[0]).max() < 1e-10
    assert values[0, :, RANKS:].mean(axis=1) == pytest.approx(told, abs=1e-10)
    assert told.max() > 0.0


CHANGES = {
    "one comes": networks(ring("abcd"), {20: ring("abcde")}),
    "one comes to a complete graph": networks(complete("abcd"), {50: complete("abcde")}),
    "one goes": networks(ring("abcd"), {20: ring("abc")}),
    "ways get longer": networks(complete("abcdefgh"), {60: path("hcbafdeg")}),
    "ways get shorter": networks(path("abcdefgh"), {60: star("cabdefgh")}),
    "who comes has neighbours that come": networks(path("ab"), {40: path("abxyz")}),
    "who came goes": networks(path("abc"), {5: path("abcx"), 6: path("abcy"), 7: path("bcyz")}),
    "who comes joins two ends": networks(path("abcd"), {33: path("dxba")}),
    "all but one go": networks(star("dabc"), {30: path("dwxyz")}),
    "again and again": networks(
        path("abcdef"), {2 * i: path("abcdef"[i % 6 :] + "abcdef"[: i % 6]) for i in range(1, 40)}
    ),
}


@pytest.mark.parametrize("eras", CHANGES.values(), ids=CHANGES.keys())
@pytest.mark.parametrize("policy", [None, Policy(every=3)])
def test_all_who_are_there_agree_on_the_sum_of_all_changes(
    eras: Eras, policy: Policy | None, told: Array
) -> None:
    run = play(eras, 90, policy=policy)
    check(tables(run.learners, eras.newest.graph.nodes), told)


def test_a_change_on_its_way_arrives_where_its_edge_is_cut(told: Array) -> None:
    # One node speaks: the others' groups close early, and who is linked anew may have dropped it.
    far = "abcdefghijkl"
    for cut in (61, 65, 69):
        told[:] = 0.0
        other = Graph.of(far, [*pairwise(far[:-1]), ("a", "l")])
        run = play(networks(path(far), {cut: other}), 61, "a")
        check(tables(run.learners, tuple(far)), told)


def test_who_comes_without_samples_has_the_model() -> None:
    run = play(networks(ring("abcd"), {60: ring("abcdx")}), 70, "abcd")
    values = tables(run.learners, ("a", "x"))
    assert np.abs(values[1] - values[0]).max() < 1e-10
    assert values[0].any()


def test_a_node_alone_hands_its_model_on() -> None:
    run = play(networks(Graph.of("a", []), {40: path("ax")}), 40)
    values = tables(run.learners, ("a", "x"))
    assert (values[0] == values[1]).all()
    assert values[0].any()


def test_where_nobody_stays_who_knew_the_model_those_who_came_begin_anew() -> None:
    eras = networks(path("ab"), {9: path("bxy"), 10: path("xyz")})
    X, y = texts(1200)
    ticks: list[Any] = [{} if t < 11 else {"x": (X[t : t + 1], y[t : t + 1])} for t in range(1100)]
    ticks[0] = {"a": (X[:1], y[:1])}
    learners = {name: node(wire="double") for name in eras.nodes}
    simulate(learners, eras, ticks, final_rounds=60, policy=Policy(every=4))
    values = tables(learners, "xyz")
    assert values[0].any()
    assert np.abs(values - values[0]).max() < 1e-10
    assert [learners[name]._node.log.joining for name in "xyz"] == [0, 0, 0]


def test_networks_that_do_not_change_tell_no_more_than_before() -> None:
    one, (X, y) = node(), texts(20)
    for t in range(20):
        one.meet(["x", "z"])
        one.combine(t, {}, {"x": 0.3, "z": 0.3})
        one.learn(X[t : t + 1], y[t : t + 1])
        assert {len(message.arrays) for message in one.messages(t)} == {6}
    before = pickle.dumps(one.export())
    one.meet(["z", "x"])
    assert pickle.dumps(one.export()) == before


class Lossy:
    """Nodes that speak in any order, and messages that are lost, kept for later, or overwritten."""

    def __init__(self, graph: Graph) -> None:
        self.learners: dict[str, NPSVOR] = {}
        self.heard: dict[str, dict[str, Message]] = {}
        self.draw, self.texts, self.taken = np.random.default_rng(3), texts(600), 0
        self.enter(graph)

    def enter(self, graph: Graph) -> None:
        begun = bool(self.learners)
        self.weights: Weights = combination_weights(graph)
        for name in graph.nodes:
            around = graph.neighbours(name)
            if name not in self.learners:
                self.learners[name] = node(wire="double", batch_rows=2)
                (join if begun else meet)(self.learners[name], around)
            else:
                state = pickle.loads(pickle.dumps(self.learners[name].export()))
                self.learners[name] = NPSVOR.restore(state)
                meet(self.learners[name], around)
            heard = self.heard.get(name, {})
            self.heard[name] = {n: heard[n] for n in heard if n in around}

    def play(self, turns: int, loss: float) -> None:
        for _ in range(turns):
            name = str(self.draw.choice(self.weights.graph.nodes))
            one, around = self.learners[name], self.weights.graph.neighbours(name)
            if loss:
                part = slice(self.taken, self.taken + 1)
                one.learn(self.texts[0][part], self.texts[1][part])
                self.taken += 1
            if one.acts(0):
                for to, message in address(one, 0, around).items():
                    if self.draw.random() >= loss:
                        self.heard[to][name] = message
            one.combine(0, self.heard[name], self.weights.of(name))


def test_in_any_order_and_with_losses_as_well() -> None:
    net = Lossy(path("abcd"))
    for graph in (path("dabcx"), ring("abxy"), star("yabx"), path("zyxab")):
        net.play(120, 0.3)
        net.enter(graph)
    net.play(120, 0.3)
    net.play(1500, 0.0)
    assert {one._node.log.joining for one in net.learners.values()} == {0}
    # what is not told yet stands in a node's own table alone
    base = np.array([common(net.learners[name]) for name in "abxyz"])
    assert np.abs(base - base[0])[:, :, RANKS:].max() < 1e-10
    assert base[0].any()


def common(one: NPSVOR) -> Array:
    places, rows = one._table.base()
    whole = np.zeros_like(one._table.values)
    whole[places] = rows
    return whole


def test_two_parts_that_were_apart_for_too_long_do_not_answer_tables_with_tables() -> None:
    # Each has a change that its log has dropped and the other lacks: no table can be taken.
    graph, (X, y) = path("ab"), texts(160)
    nodes = {name: node(wire="double") for name in "ab"}
    for t in range(80):
        for i, one in enumerate(nodes.values()):
            one.learn(X[2 * t + i : 2 * t + i + 1], y[2 * t + i : 2 * t + i + 1])
            one.messages(t)
            one.combine(t, {}, {graph.nodes[1 - i]: 1.0})
    for i, one in enumerate(nodes.values()):
        one.meet([graph.nodes[1 - i], "c"])
        one.meet([graph.nodes[1 - i]])
    for t in range(30):
        sent = {n: address(o, t, graph.neighbours(n)) for n, o in nodes.items() if o.acts(t)}
        for name, one in nodes.items():
            there = {n: sent[n][name] for n in graph.neighbours(name) if n in sent}
            one.combine(t, there, dict.fromkeys(graph.neighbours(name), 1.0))
    assert not any(one.acts(0) for one in nodes.values())


def test_what_a_neighbour_was_told_before_its_edge_to_another_was_cut_is_told_that_one() -> None:
    # The letter of before arrives when u and v have compared: u takes v to have heard it, too.
    graph, X, y = complete("uvw"), *texts(40)
    nodes = {name: node(wire="double") for name in "uvw"}

    def turn(around: Mapping[str, str], late: Mapping[str, Message] | None = None) -> None:
        letters = {
            name: address(one, 0, around[name]) if one.acts(0) else {}
            for name, one in nodes.items()
        }
        for name, one in nodes.items():
            inbox = {n: letters[n][name] for n in around[name] if name in letters[n]}
            if name == "u" and late:
                inbox |= late
            elif name == "u" and late is not None:
                inbox.pop("w", None)
            one.combine(0, dict(sorted(inbox.items())), dict.fromkeys(around[name], 0.3))

    before = {name: "".join(graph.neighbours(name)) for name in "uvw"}
    for t in range(12):
        nodes["w"].learn(X[t : t + 1], y[t : t + 1])
        turn(before)
    nodes["w"].learn(X[20:21], y[20:21])
    old = address(nodes["w"], 0, "uv")["u"]
    after = {"u": "vw", "v": "u", "w": "u"}
    for name, one in nodes.items():
        one.meet(list(after[name]))
    turn(after, {})
    turn(after, {})
    turn(after, {"w": old})
    for _ in range(12):
        turn(after)
    values = tables(nodes, "uvw")
    assert np.abs(values - values[0]).max() < 1e-10


def test_damaged_tables_are_refused() -> None:
    one, new, (X, y) = node(), node(), texts(30)
    one.combine(0, {}, {"z": 1.0})
    one.learn(X, y)
    one.messages(0)
    one.meet(["x"])
    new.join(["one"])
    asked = address(new, 1, ["one"])["one"]
    one.combine(1, {"x": asked}, {"x": 1.0})
    arrays = dict(address(one, 2, ["x"])["x"].arrays)
    new.check_message(Message(arrays))
    rows, seen = arrays["rows"], arrays["seen"]
    bad: list[dict[str, Array]] = [{"rows": rows[1:]}, {"rows": rows.astype(np.float64)}]
    for value in (np.nan, np.inf, -1.0, 2e30):
        wrong = rows.copy()
        wrong[0, RANKS] = value
        bad.append({"rows": wrong})
    bad += [{"places": arrays["places"][::-1].copy()}, {"places": arrays["places"] + FEATURES}]
    bad += [{"closed": arrays["closed"] + 99}, {"closed": arrays["closed"].astype(float)}]
    bad += [{"seen": np.concatenate([seen, seen])}, {"seen": seen + 2**31}, {"seen": seen[:, :2]}]
    # an identity that states cannot hold, and times before the first
    bad += [{"seen": seen + np.array([2**53, 0, 0], np.uint64)}]
    bad += [{"seen": seen | np.array([0, 0, 2**63], np.uint64)}]
    bad += [{"around": arrays["around"] + np.uint64(2**53)}]
    bad += [{"heads": arrays["heads"] + np.array([2**53, 0], np.uint64)}]
    flags = arrays["state"].copy()
    flags[0] = 8
    bad.append({"state": flags})
    before = pickle.dumps(new.export())
    for change in bad:
        with pytest.raises(MessageError):
            new.combine(0, {"one": Message({**arrays, **change})}, {"one": 1.0})
    for name in ("seen", "rows", "places", "closed"):
        with pytest.raises(MessageError):
            new.check_message(Message({n: arrays[n] for n in arrays if n != name}))
    assert pickle.dumps(new.export()) == before
    new.combine(2, {"one": Message(arrays)}, {"one": 1.0})
    assert (new._table.values == one._table.values).all()
