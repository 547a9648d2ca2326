"""Elastic nets whose network changes end at the optimum for the samples of the nodes in it."""

from collections.abc import Mapping

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from anabranch.learners import make
from anabranch.learners.elastic_net_network import hub_of
from anabranch.network import Eras, Graph, combination_weights, complete, path, ring, star
from anabranch.protocol import Array
from anabranch.simulate import simulate
from tests.learners.elastic_network import Net, lossy, reference

TICKS, CALM = 8, 350
PENALTY = {"u1": 0.05, "u2": 0.05}
EXACT = {"growth": 0.0, "absolute": 0.0, "relative": 1e-13, "units": 0.0}
BIG = [f"n{i:02d}" for i in range(12)]


def rows(node: str, tick: int) -> tuple[Array, Array]:
    """Rows whose means differ from node to node."""
    rng = np.random.default_rng([*node.encode(), tick])
    X = rng.normal(size=(5, 3)) * [1.0, 2.0, 30.0] + 2.0 * rng.normal(size=3)
    return X, X @ [1.0, -1.0, 0.0] + 0.3 * rng.normal(size=5) + 1.0


def node(shape: str, hub: bool) -> object:
    role = "hub" if hub else "node"
    return make("elastic-net", 3, 0, shape=shape, role=role, **PENALTY, **EXACT)


def optimum(X: Array, y: Array) -> Array:
    """scikit-learn's weights and intercept, for penalties of z-scores."""
    fields, target = StandardScaler().fit(X), StandardScaler().fit(y[:, None])
    w, b = reference(fields.transform(X), target.transform(y[:, None])[:, 0], **PENALTY)
    w = w * target.scale_ / fields.scale_
    return np.append(w, target.mean_ + target.scale_ * b - fields.mean_ @ w)


def ends_at_the_optimum(first: Graph, changes: Mapping[int, Graph], shape: str = "graph") -> None:
    later = {round: combination_weights(graph) for round, graph in changes.items()}
    eras, hub = Eras.of(combination_weights(first), later), hub_of(first)
    learners = {name: node(shape, name == hub) for name in eras.nodes}
    ticks = [{n: rows(n, t) for n in eras.at(t).graph.nodes} for t in range(TICKS)]
    here = eras.newest.graph.nodes
    ticks += [{}] * (max(changes) - TICKS)  # all is quiet when it changes last
    simulate(learners, eras, ticks, final_rounds=CALM)
    blocks = [tick[n] for tick in ticks for n in here if n in tick]
    X, y = (np.concatenate(part) for part in zip(*blocks, strict=True))
    found = np.array([learners[n].parameters() for n in here])
    assert np.abs(found - optimum(X, y)).max() < 1e-6
    assert not any(learners[n].acts(0) for n in here)
    assert 0.0 <= learners[hub].measures()["gap"] < 1e-6


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (ring("abcd"), ring("abcde")),
        (ring("abcd"), ring("acd")),
        (path("abcde"), ring("abcde")),
        (ring("abcde"), path("dcabe")),
        (complete("abcdef"), path(["a", "x", "c", "y", "d"])),
        (star(BIG), path(BIG[::-1])),
    ],
    ids=["join", "leave", "link", "cut", "all", "far"],
)
@pytest.mark.parametrize("round", [4, 150])
def test_a_graph_that_changes_ends_at_the_optimum_of_who_is_there(
    first: Graph, then: Graph, round: int
) -> None:
    ends_at_the_optimum(first, {round: then})


@pytest.mark.parametrize("round", [4, 150])
def test_a_star_that_changes_ends_at_the_optimum_of_who_is_there(round: int) -> None:
    nets = {"join": "abcde", "leave": "acd", "swap": "acxy", "none": ""}
    for others in nets.values():
        then = star(["hub", *others]) if others else Graph.of(["hub"], [])
        ends_at_the_optimum(star(["hub", *"abcd"]), {round: then}, "server")
    there_and_back = {round: star(["hub", *"bc"]), round + 3: star(["hub", *"bcxyz"])}
    ends_at_the_optimum(star(["hub", *"abcd"]), there_and_back, "server")


def test_a_graph_may_change_in_each_round_and_be_its_hub_alone_for_a_while() -> None:
    nets = [ring("abcd"), path("bac"), Graph.of("a", []), path("ax"), ring(["y", "a", "x", "z"])]
    ends_at_the_optimum(ring("abcde"), dict(enumerate(nets, 3)))
    ends_at_the_optimum(ring("abcde"), dict(zip((3, 70, 140, 141, 200), nets, strict=True)))


def hops(graph: Graph, hub: str) -> dict[str, int]:
    """Count the nodes on the way to the hub, both included."""
    found, queue = {hub: 1}, [hub]
    for name in queue:
        new = [other for other in graph.neighbours(name) if other not in found]
        found |= dict.fromkeys(new, found[name] + 1)
        queue += new
    return found


def test_the_way_to_the_hub_is_found_anew_where_nobody_has_anything_else_to_say() -> None:
    # All have the same samples, so that no parameter moves.
    later = [path([*BIG[6:], *BIG[:6]]), path([*BIG[1:], BIG[0]])]
    changes = {60 * i: combination_weights(net) for i, net in enumerate(later, 1)}
    learners = {
        name: make("elastic-net", 3, 0, shape="graph", role="hub" if name == BIG[0] else "node")
        for name in BIG
    }
    ticks = [{name: rows("a", 0) for name in BIG}, *[{}] * max(changes)]
    simulate(learners, combination_weights(ring(BIG)), ticks, changes=changes, final_rounds=60)
    found = {name: learner.part.tree.hops for name, learner in learners.items()}
    assert found == hops(later[-1], BIG[0])
    assert {learner.part.tree.nodes for learner in learners.values()} == {12.0}
    assert not any(learner.acts(0) for learner in learners.values())


def test_a_graph_that_loses_messages_may_change_as_well() -> None:
    shards = {n: rows(n, 0) for n in "abcdxy"}
    net = Net(ring("abcd"), {n: node("graph", n == "a") for n in "abcdxy"}, lossy(0.2))
    net.learn(shards)
    for graph in (ring("abcd"), path("xcab"), ring("axyb")):
        net.graph = graph
        for name in graph.nodes:
            net.learners[name].meet(graph.neighbours(name))
        net.rounds(9, gone=sorted(set("abcdxy") - set(graph.nodes)))
    net.rounds(600, gone=["c", "d"])
    X, y = (np.concatenate(part) for part in zip(*(shards[n] for n in "abxy"), strict=True))
    found = np.array([net.learners[n].parameters() for n in "abxy"])
    assert np.abs(found - optimum(X, y)).max() < 1e-6
