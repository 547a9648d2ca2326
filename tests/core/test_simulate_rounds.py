"""The reference loop with several rounds a tick, and with sets of labels, against plain loops."""

import numpy as np
import pytest

from anabranch.errors import ConfigurationError
from anabranch.evaluation import scores, tally_for
from anabranch.exchange import Policy
from anabranch.network import combination_weights, path, ring
from anabranch.simulate import Tick, simulate
from tests.core.scripted import Scripted
from tests.operators.label_toy import LabelToy

TRIANGLE = combination_weights(ring(["a", "b", "c"]))
LINE = combination_weights(path(["a", "b", "c"]))


def ticks_of(count: int) -> list[Tick]:
    rng = np.random.default_rng(3)
    return [{n: (rng.normal(size=(2, 2)), rng.normal(size=2)) for n in "abc"} for _ in range(count)]


@pytest.mark.parametrize("each", [1, 2, 5])
def test_rounds_between_ticks_are_rounds_without_samples(each: int) -> None:
    ticks = ticks_of(6)
    spread: list[Tick] = []
    for tick in ticks:
        spread += [tick, *({} for _ in range(each - 1))]
    nodes, same = ({n: Scripted(n) for n in "abc"} for _ in range(2))
    policy = Policy(every=3, always_until=2)
    run = simulate(nodes, LINE, ticks, final_rounds=1, policy=policy, rounds_per_tick=each)
    other = simulate(same, LINE, spread, final_rounds=1, policy=policy)
    assert run.rounds == other.rounds == 6 * each + LINE.graph.diameter + 1
    assert (run.messages, run.bytes) == (other.messages, other.bytes)
    assert all(nodes[n].w.tobytes() == same[n].w.tobytes() for n in nodes)


def test_learning_comes_in_the_first_round_of_a_tick() -> None:
    log: list[tuple[str, str]] = []
    nodes = {name: Scripted(name, log) for name in "abc"}
    simulate(nodes, TRIANGLE, ticks_of(1), rounds_per_tick=3)
    learn, send, combine = ([(what, n) for n in "abc"] for what in ("learn", "send", "combine"))
    assert log == learn + (send + combine) * 4


def test_more_exchanges_bring_nodes_together() -> None:
    ends = []
    for each in (1, 4):
        nodes = {n: Scripted(n) for n in "abc"}
        simulate(nodes, LINE, ticks_of(20), rounds_per_tick=each)
        ends.append(np.ptp([nodes[n].w for n in "abc"], axis=0).max())
    assert ends[1] < ends[0] / 3


@pytest.mark.parametrize("each", [0, -1])
def test_no_round_for_a_tick(each: int) -> None:
    with pytest.raises(ConfigurationError, match=f"rounds_per_tick is {each}; allowed: 1 or more"):
        simulate({n: Scripted(n) for n in "abc"}, LINE, [], rounds_per_tick=each)


def test_labels_are_taken_up_as_they_come() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(4, 3))
    nodes = {n: LabelToy(3, ["sad"]) for n in "abc"}
    y = np.ones((4, 2))
    ticks: list[Tick] = [
        {"a": (X, np.ones((4, 1)))},
        {"a": (X, y, ("new", "sad")), "b": (X, y[:, :1], ("old",))},
        {"c": [(X, y[:, :1], ("odd",)), (X, y[:, :0], ())]},
    ]
    run = simulate(nodes, LINE, ticks)
    assert run.labels["a"] == [("sad",), ("sad", "new")]
    assert run.labels["b"] == [("sad", "old")]  # a's new label is heard when tick 1 was learned
    assert run.labels["c"] == [("sad", "odd", "old")] * 2  # and reaches c after tick 2
    assert [len(got) for got in (run.truth["c"], run.predicted["c"])] == [2, 2]
    assert run.truth["c"][0].tolist() == [[0.0, 1.0, 0.0]] * 4
    assert run.truth["c"][1].tolist() == [[0.0, 0.0, 0.0]] * 4
    assert {node.labels for node in nodes.values()} == {("sad", "new", "odd", "old")}


def test_scores_are_those_of_the_columns_by_name() -> None:
    X = np.eye(3)
    nodes = {n: LabelToy(3) for n in "abc"}
    ticks: list[Tick] = [
        {"a": (X, np.ones((3, 1)), ("x",)), "b": (X, np.eye(3)[:, :2], ("x", "y"))}
    ] * 4
    run = simulate(nodes, TRIANGLE, ticks)
    tally = tally_for("multilabel", labels=("x", "y"))
    for node, got in run.truth.items():
        for y, predicted, names in zip(got, run.predicted[node], run.labels[node], strict=True):
            assert names is not None
            tally.add(y, predicted, names)  # type: ignore[call-arg]
    assert run.scores() == pytest.approx(scores("multilabel", tally.totals()))
    assert 0 < run.scores()["MicroF1"] < 1


def test_fixed_columns_stay_where_they_are_when_a_neighbour_knows_more() -> None:
    X = np.eye(3)
    nodes = {"a": LabelToy(3, ["z"]), "b": LabelToy(3, ["z", "a"]), "c": LabelToy(3, ["z"])}
    tick: Tick = {n: (X, np.ones((3, 2 if n == "b" else 1))) for n in "abc"}
    run = simulate(nodes, LINE, [tick] * 3)
    assert run.labels["a"] == [("z",), ("z", "a"), ("z", "a")]
    assert run.truth["a"][2].tolist() == [[1.0, 0.0]] * 3
