"""The reference loop against loops written out by hand."""

import numpy as np
import pytest

from anabranch.errors import DisconnectedGraphError, MessageError, UnknownNodeError
from anabranch.exchange import Policy
from anabranch.network import Graph, Weights, combination_weights, path, ring
from anabranch.protocol import Array, Learner, Message
from anabranch.simulate import Tick, address, simulate
from tests.core.scripted import Scripted

TRIANGLE = combination_weights(ring(["a", "b", "c"]))
LINE = combination_weights(path(["a", "b", "c"]))


def ticks_of(count: int, names: str = "abc", seed: int = 0) -> list[Tick]:
    """Ticks of 0 to 2 rows a node; every third leaves node a out."""
    rng = np.random.default_rng(seed)
    made = []
    for t in range(count):
        tick = {}
        for name in names:
            n = int(rng.integers(0, 3))
            tick[name] = (rng.normal(size=(n, 2)), rng.normal(size=n))
        if t % 3 == 2:
            del tick[names[0]]
        made.append(tick)
    return made


def matrix_loop(ticks: list[Tick], weights: Weights, rounds: int, every: int = 1) -> Array:
    """theta <- C theta after all rows of a tick: one matrix product a round."""
    C, nodes = weights.matrix(), weights.graph.nodes
    theta = np.zeros((len(nodes), 2))
    for t in range(rounds):
        for name, (X, y) in (ticks[t] if t < len(ticks) else {}).items():
            theta[nodes.index(name)] += y @ X
        if (t + 1) % every == 0:
            theta = C @ theta
    return theta


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("weights", [TRIANGLE, LINE], ids=["triangle", "line"])
def test_equals_the_matrix_recursion(weights: Weights, every: int) -> None:
    ticks = ticks_of(12)
    nodes = {name: Scripted(name) for name in "cab"}
    run = simulate(nodes, weights, iter(ticks), final_rounds=4, policy=Policy(every=every))
    rounds = 12 + weights.graph.diameter + 4
    assert run.rounds == rounds
    theta = matrix_loop(ticks, weights, rounds, every)
    np.testing.assert_allclose([nodes[n].w for n in "abc"], theta, rtol=1e-12, atol=1e-12)
    exchanges = sum((t + 1) % every == 0 for t in range(rounds))
    assert run.messages == exchanges * 2 * len(weights.graph.edges)


def test_labels_and_predictions_are_kept_in_order() -> None:
    ticks = ticks_of(6)
    nodes: dict[str, Learner] = {name: Scripted(name) for name in "abc"}
    run = simulate(nodes, LINE, ticks)
    for name in "abc":
        given = [t[name][1] for t in ticks if name in t and len(t[name][1])]
        assert [y.tolist() for y in run.truth[name]] == [y.tolist() for y in given]
        assert [len(p) for p in run.predicted[name]] == [len(y) for y in given]


def test_all_learn_then_all_send_then_all_combine() -> None:
    log: list[tuple[str, str]] = []
    nodes = {name: Scripted(name, log) for name in "cba"}
    tick = {name: (np.ones((1, 2)), np.ones(1)) for name in "cab"}
    simulate(nodes, TRIANGLE, [tick])
    steps = [(what, name) for what in ("learn", "send", "combine") for name in "abc"]
    assert log == steps + steps[3:]  # a ring of three has diameter 1


def test_one_node_alone() -> None:
    graph, ticks = Graph.of(["a"], []), ticks_of(9, "a")
    run = simulate({"a": Scripted("a")}, combination_weights(graph), ticks)
    assert (run.rounds, run.messages, run.bytes) == (9, 0, 0)
    w, predicted = np.zeros(2), []
    for X, y in (tick["a"] for tick in ticks if "a" in tick):
        predicted += (X @ w).tolist()  # before any of this tick's rows
        w = w + y @ X
    np.testing.assert_allclose(np.concatenate(run.predicted["a"]), predicted, atol=1e-12)


def test_no_tick_at_all_still_ends() -> None:
    run = simulate({name: Scripted(name) for name in "abc"}, LINE, [], final_rounds=1)
    assert (run.rounds, run.truth) == (3, {})


def numbered(round: int, w: Array) -> list[Message]:
    return [Message({"w": np.array([float(round), 1.0])})]


def test_a_node_that_does_not_act_is_not_heard() -> None:
    nodes = {
        "a": Scripted("a", acts=lambda t: t % 2 == 0, says=numbered),
        "b": Scripted("b", says=numbered),
        "c": Scripted("c", says=numbered),
    }
    run = simulate(nodes, LINE, [], final_rounds=2)
    assert nodes["b"].inboxes == [
        {"a": 0.0, "c": 0.0}, {"c": 1.0}, {"a": 2.0, "c": 2.0}, {"c": 3.0},
    ]  # fmt: skip
    assert run.messages == 4 * 2 + 4 + 2  # b to two, c to one, a to one every other round


def test_a_node_with_nothing_fit_to_be_sent_is_silent() -> None:
    nodes = {name: Scripted(name, says=numbered) for name in "abc"}
    nodes["a"] = Scripted("a", says=lambda t, w: [] if t == 1 else numbered(t, w))
    simulate(nodes, LINE, [], final_rounds=1)
    assert [box.get("a") for box in nodes["b"].inboxes] == [0.0, None, 2.0]


class Stubborn(Scripted):
    """Hears, and moves by its own samples only."""

    def combine(self, round, inbox, weights):  # type: ignore[no-untyped-def]
        own = self.w
        super().combine(round, inbox, weights)
        self.w = own


def test_who_is_not_due_is_heard_with_what_it_said_last() -> None:
    nodes = {name: Stubborn(name, says=numbered) for name in "abc"}
    tick = {"a": (np.ones((1, 2)), np.ones(1))}
    quiet: Tick = {}
    run = simulate(nodes, LINE, [quiet, quiet, tick], policy=Policy("event", tolerance=0.0))
    assert [box["a"] for box in nodes["b"].inboxes] == [0.0, 0.0, 2.0, 2.0, 2.0]
    assert [box["c"] for box in nodes["b"].inboxes] == [0.0] * 5
    assert run.messages == 4 + 1  # everybody's first broadcast, and a's after its tick


def test_rounds_without_exchange_combine_nothing() -> None:
    nodes = {name: Scripted(name, says=numbered) for name in "abc"}
    simulate(nodes, LINE, [], final_rounds=2, policy=Policy(every=2))
    assert nodes["a"].inboxes == [{}, {"b": 1.0}, {}, {"b": 3.0}]


def say(*letters: tuple[str | None, float]) -> Scripted:
    made = [Message({"w": np.array([value, 0.0])}, to) for to, value in letters]
    return Scripted(says=lambda t, w: made)


def heard(node: Scripted) -> dict[str, float]:
    return {to: m.arrays["w"][0] for to, m in address(node, 0, ("b", "c")).items()}


def test_an_addressed_message_comes_before_the_one_to_all() -> None:
    assert heard(say((None, 1.0), ("c", 2.0))) == {"b": 1.0, "c": 2.0}
    assert heard(say(("c", 2.0), (None, 1.0))) == {"b": 1.0, "c": 2.0}
    assert heard(say(("b", 3.0))) == {"b": 3.0}
    assert heard(say((None, 1.0), (None, 2.0))) == {"b": 1.0, "c": 1.0}
    assert heard(say()) == {}


def test_addressed_messages_reach_only_their_receiver() -> None:
    nodes = {name: Scripted(name, says=numbered) for name in "abc"}
    nodes["b"] = say(("a", 7.0))
    run = simulate(nodes, LINE, [])
    assert all(box == {"b": 7.0} for box in nodes["a"].inboxes)
    assert all(box == {} for box in nodes["c"].inboxes)
    assert run.messages == 2 * 3
    assert run.bytes == 3 * 12 + (12 + 2 * 16)  # [0, 1] and [7, 0] go sparse, [1, 1] does not


@pytest.mark.parametrize("letters", [[("z", 1.0)], [("b", 1.0), ("b", 2.0)]])
def test_misaddressed_messages_are_refused(letters: list[tuple[str, float]]) -> None:
    with pytest.raises(MessageError, match="allowed"):
        address(say(*letters), 0, ("b", "c"))


def test_learners_and_nodes_must_be_the_same() -> None:
    for names in ("ab", "abcd"):
        with pytest.raises(UnknownNodeError, match=r"'[cd]'"):
            simulate({n: Scripted(n) for n in names}, LINE, [])
    tick = {"z": (np.ones((1, 2)), np.ones(1))}
    with pytest.raises(UnknownNodeError, match="'z'"):
        simulate({n: Scripted(n) for n in "abc"}, LINE, [tick])


def test_parts_that_never_meet_are_refused() -> None:
    graph = Graph.of("abcd", [("a", "b"), ("c", "d")])
    weights = combination_weights(graph, check=False)
    with pytest.raises(DisconnectedGraphError):
        simulate({n: Scripted(n) for n in "abcd"}, weights, [])
