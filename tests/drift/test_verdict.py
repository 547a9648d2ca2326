"""How far a drift reaches, by the graph."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.drift import Change, Verdict
from anabranch.network import build_graph, node_names

NAMES = node_names(10)


def judge(graph, most=0.5):
    return Verdict(lambda node, _: graph.neighbours(node), lambda _: len(graph.nodes), most)


def tell(verdict, node, kind, round, since=0):
    return verdict.take(Change(node, kind, round, since, 0.1, 0.5))


def scopes(found):
    return [(drift.kind, drift.scope, drift.nodes) for drift in found]


@pytest.fixture
def path():
    return build_graph("path", NAMES)


def test_one_node(path):
    verdict = judge(path)
    (begun,) = tell(verdict, "n03", "begin", 9, 7)
    assert (begun.scope, begun.nodes, begun.since, begun.farther) == ("node", ("n03",), 7, True)
    assert tell(verdict, "n03", "worse", 12) == []
    (ended,) = tell(verdict, "n03", "end", 20)
    assert (ended.kind, ended.round, ended.since) == ("end", 20, 7)
    assert tell(verdict, "n03", "end", 21) == []


def test_two_that_are_no_neighbours_are_two_until_one_between_drifts(path):
    verdict = judge(path)
    tell(verdict, "n03", "begin", 1)
    (other,) = tell(verdict, "n05", "begin", 2)
    assert (other.kind, other.scope) == ("begin", "node")
    (joined,) = tell(verdict, "n04", "begin", 3)
    assert scopes([joined]) == [("wider", "neighbourhood", ("n03", "n04", "n05"))]
    tell(verdict, "n04", "end", 4), tell(verdict, "n03", "end", 4)
    assert scopes(tell(verdict, "n05", "end", 5)) == [("end", "neighbourhood", joined.nodes)]


def test_most_nodes_are_the_network_connected_or_not(path):
    verdict = judge(path)
    first = [tell(verdict, f"n0{i}", "begin", i, i)[0] for i in (9, 7, 5, 3, 1)]
    assert {drift.scope for drift in first} == {"node"}
    (all_,) = tell(verdict, "n00", "begin", 10, 10)
    assert (all_.kind, all_.scope, all_.since, len(all_.nodes)) == ("wider", "network", 1, 6)
    # Whoever drifts while the network does belongs to it, and it is told that it reaches no
    # farther.
    (more,) = tell(verdict, "n06", "begin", 11)
    assert (more.scope, len(more.nodes), more.farther) == ("network", 7, False)


def test_a_drift_that_is_over_is_not_joined(path):
    verdict = judge(path)
    tell(verdict, "n03", "begin", 1)
    tell(verdict, "n03", "end", 5)
    assert scopes(tell(verdict, "n04", "begin", 6)) == [("begin", "node", ("n04",))]


def test_one_node_alone_is_no_network():
    verdict = Verdict(lambda node, _: (), lambda _: 1, 0.5)
    assert tell(verdict, "n00", "begin", 1)[0].scope == "node"


@settings(max_examples=60)
@given(st.data())
def test_whatever_happens(data):
    graph = build_graph("random", NAMES, degree=3, seed=data.draw(st.integers(0, 5)))
    verdict, drifting, open_ = judge(graph), set(), {}
    for round in range(data.draw(st.integers(1, 40))):
        node = data.draw(st.sampled_from(NAMES))
        kind = "end" if node in drifting else "begin"
        drifting ^= {node}
        for drift in tell(verdict, node, kind, round):
            if drift.kind == "end":
                assert not set(drift.nodes) & drifting
            else:
                assert node in drift.nodes
                assert (drift.kind == "begin") == (drift.nodes == (node,))
                active = set(drift.nodes) & drifting
                assert drift.scope == "network" or 2 * len(active) <= len(NAMES)
                assert drift.scope != "node" or drift.nodes == (node,)
                open_ |= dict.fromkeys(drift.nodes, drift)
        again = judge(graph)
        again.restore(verdict.export())
        assert again.export() == verdict.export()
        verdict = again
    for a in sorted(drifting):  # neighbours that drift are of one drift
        for b in set(graph.neighbours(a)) & drifting:
            assert set(open_[a].nodes) & set(open_[b].nodes)
