"""Networks that change while a job runs: no order of arrival and no crash makes a difference."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.operators.era_model import content, elastic_model, npsvor_model, play, random_model
from tests.operators.flows import run_loop


def check(model):
    """Compare with the reference loop what nodes, rows and models came to."""
    plan, reference = model.plan, run_loop(model.source, model.plan)
    eras, rounds = plan.eras, reference.rounds
    took_part = {node for node in eras.nodes if eras.first_round(node) < max(1, rounds)}
    assert model.finals.keys() == took_part
    for node in took_part:
        assert model.finals[node] == content(reference.learners[node].model()), node
    left = {n for n in eras.nodes if eras.last_round(n) is not None and eras.last_round(n) < rounds}
    ended = [row for row in model.rows if row["learner"] == "cooperative" and row["final"]]
    rows = {row["node"]: row for row in ended}
    assert len(ended) == len(rows)
    present = took_part - left
    assert rows.keys() == left | present | ({None} if present else set())
    assert all(rows[node]["round"] == eras.last_round(node) for node in left)
    assert all(rows[node]["round"] == rounds - 1 for node in rows.keys() - left)
    assert {node for node in rows if "left" in rows[node]} == left
    total = sum(row["samples"] for node, row in rows.items() if node is not None)
    assert total == sum(model.source.rows)
    assert not present or rows[None]["samples"] == total


@settings(max_examples=10)
@example(32, 2)  # a node waits for a broadcast that its neighbour of before sent and lost
@example(9, 4)  # who joins is far behind the ticks that are read
@given(st.integers(0, 2**32), st.integers(0, 4))
def test_any_order_crashes_and_changes_end_as_the_loop(seed, changes):
    model = random_model(seed)
    play(model, crashes=6, changes=changes)
    check(model)


@settings(max_examples=5)
@given(st.integers(0, 2**32), st.integers(1, 4), st.sampled_from(["graph", "server"]))
def test_so_do_elastic_nets(seed, changes, shape):
    model = elastic_model(seed, shape)
    play(model, crashes=6, changes=changes)
    check(model)


@settings(max_examples=3)
@given(st.integers(0, 2**32), st.integers(1, 4))
def test_so_does_npsvor(seed, changes):
    model = npsvor_model(seed)
    play(model, crashes=6, changes=changes)
    check(model)
