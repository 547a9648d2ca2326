"""Samples in one partition, labels in another, through the whole dataflow."""

import bytewax.operators as op
import numpy as np
import pytest
from bytewax.dataflow import Dataflow
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import TestingSink, cluster_main, run_main

from anabranch.protocol import freeze
from anabranch.stream import LABEL, SAMPLE, Apart, Block, End
from operators.learn import learn_on_network, make_hub
from tests.operators.flows import Ran, with_pooled
from tests.operators.label_toy import columns, label_plan
from tests.operators.toy import rows
from tests.operators.toy_job import toy_plan

TICKS, PER_TICK, LAG, NEVER = 20, 20, 3, 13
"""Of samples; rows a tick; ticks that labels come behind; every 13th label is another's."""
COUNT = TICKS * PER_TICK
STRAY = set(range(0, COUNT, NEVER))


def samples_of(tick):
    numbers = np.arange(tick * PER_TICK, min(tick + 1, TICKS) * PER_TICK)
    X, _ = rows(0, tick * PER_TICK, len(numbers))
    ids = [f"i{n}" for n in numbers]
    return X, np.full(len(numbers), np.nan), ids, SAMPLE


def labels_of(tick):
    numbers = np.arange(max(0, tick - LAG) * PER_TICK, max(0, tick - LAG + 1) * PER_TICK)
    _, y = rows(0, 0, 0) if not len(numbers) else rows(0, int(numbers[0]), len(numbers))
    order = np.random.default_rng(tick).permutation(len(numbers))
    ids = [f"i{n}" if n not in STRAY else f"stray {n}" for n in numbers[order]]
    return np.zeros((len(numbers), 3)), y[order], ids, LABEL


def sets_of(y, ids):
    """The same as sets of labels: one for the label 2, and one more for some ids."""
    if np.isnan(y).all():
        return np.empty((len(y), 0)), ()
    sets = [{"high"} if value == 2 else set() for value in y]
    for one, name in zip(sets, ids, strict=True):
        one |= {"tenth"} if name.endswith("0") else set()
    names = tuple(sorted(set().union(*sets)))
    return columns(sets, names), names


class LatePartition(StatefulSourcePartition):
    """A tick a call; the job is told to stop when a given one is reached."""

    def __init__(self, source, name, state):
        self.source, self.name = source, name
        self.tick, self.position, self.ended = state or (0, 0, False)

    def next_batch(self):
        tick, position = self.tick, self.position
        if self.ended:
            raise StopIteration
        if tick == self.source.stop_at:
            self.source.hub.drain.set()
            return []
        if tick == (TICKS if self.name == "s:0" else TICKS + LAG):
            self.ended = True
            return [End(self.name, tick - 1)]
        X, y, ids, kind = (samples_of if self.name == "s:0" else labels_of)(tick)
        names = None
        if self.source.sets:
            y, names = sets_of(y, ids)
        positions = np.arange(position, position + len(y))
        times = freeze(np.full(len(y), 1000 * tick))
        apart = Apart(freeze(np.full(len(y), kind, dtype=np.uint8)), ids, times)
        self.tick, self.position = tick + 1, position + len(y)
        return [
            Block(
                self.name, tick, freeze(X), freeze(y), freeze(positions),
                records=len(y), times=times, apart=apart, labels=names,
            )
        ]  # fmt: skip

    def next_awake(self):
        return None

    def snapshot(self):
        return self.tick, self.position, self.ended


class LateSource(FixedPartitionedSource):
    """The two partitions."""

    names = ("l:0", "s:0")

    def __init__(self, hub, stop_at=None, sets=False):
        self.hub, self.stop_at, self.sets = hub, stop_at, sets

    def list_parts(self):
        return list(self.names)

    def build_part(self, step_id, for_part, resume_state):
        return LatePartition(self, for_part, resume_state)


def run(workers=1, recovery=None, stop_at=None, ran=None, late=(1000, None), make=toy_plan, **how):
    """Run the flow, to its end or to a tick; what it gives is added to `ran`."""
    plan = make(LateSource.names, "id", predictions=True, late=late, **how)
    plan = with_pooled(plan)
    sets = plan.task == "multilabel"
    hub = make_hub(plan.placement, workers=workers, lone=plan.lone)
    flow = Dataflow("late")
    out = learn_on_network(flow, LateSource(hub, stop_at, sets), plan, hub, ticks_ahead=4)
    ran = ran or Ran()
    op.output("to_finals", out.finals, TestingSink(ran.finals))
    op.output("to_rows", out.rows, TestingSink(ran.rows))
    op.output("to_dead", out.dead, TestingSink(ran.dead))
    op.output("to_predictions", out.predictions, TestingSink(ran.predictions))
    config = RecoveryConfig(recovery) if recovery else None
    if workers == 1:
        run_main(flow, recovery_config=config)
    else:
        cluster_main(flow, [], 0, worker_count_per_proc=workers, recovery_config=config)
    return ran


def letters(ran):
    return sorted((letter.reason, letter.partition, letter.position) for letter in ran.dead)


def predicted(ran):
    return sorted(
        (int(position), int(guess))
        for made in ran.predictions
        for position, guess in zip(made.positions, made.predicted, strict=True)
    )


@pytest.fixture(scope="module")
def undisturbed():
    return run()


@pytest.mark.parametrize("learner", ["cooperative", "local", "pooled"])
def test_every_sample_with_a_label_is_learned_once(undisturbed, learner):
    row = undisturbed.final_row(learner)
    assert row["samples"] == COUNT - len(STRAY)


def test_every_sample_is_predicted_when_it_comes(undisturbed):
    assert [position for position, _ in predicted(undisturbed)] == list(range(COUNT))
    assert all(np.isnan(made.y).all() for made in undisturbed.predictions)
    assert {made.round for made in undisturbed.predictions} == set(range(TICKS))


def test_what_never_met_is_told_once_at_the_end(undisturbed):
    told = letters(undisturbed)
    assert [where for reason, part, where in told if reason == "label_never_came"] == sorted(STRAY)
    strays = [where for reason, part, where in told if reason == "sample_never_came"]
    assert len(strays) == len(set(strays)) == len(STRAY)
    assert len(told) == 2 * len(STRAY)


def test_two_workers_do_the_same(undisturbed):
    two = run(workers=2)
    assert two.models == undisturbed.models
    assert letters(two) == letters(undisturbed)
    assert predicted(two) == predicted(undisturbed)


@pytest.mark.parametrize("stop_at", [2, 9, TICKS + 1])
def test_a_job_that_was_stopped_goes_on_as_if_it_had_not_been(undisturbed, tmp_path, stop_at):
    init_db_dir(tmp_path, 1)
    part = run(recovery=tmp_path, stop_at=stop_at)
    assert part.dead == []
    assert not any(row["final"] for row in part.rows)
    part.finals.clear()
    part.rows.clear()
    run(recovery=tmp_path, ran=part)
    assert part.models == undisturbed.models
    assert letters(part) == letters(undisturbed)
    assert predicted(part) == predicted(undisturbed)
    row, other = part.final_row(), undisturbed.final_row()
    assert {**row, "time": 0} == {**other, "time": 0}


def test_by_time_and_by_number_they_leave_on_the_way():
    soon = run(late=(1000, 1000 * (LAG - 1)))
    assert soon.final_row()["samples"] == 0
    assert len(letters(soon)) == 2 * COUNT
    few = run(late=(1, None))
    learned = few.final_row()["samples"]
    assert learned < COUNT // 4
    assert len(letters(few)) == 2 * (COUNT - learned)
    assert predicted(few)[-1][0] == predicted(soon)[-1][0] == COUNT - 1


def test_asynchronous_nodes_meet_the_same_samples():
    ran = run(mode="asynchronous")
    assert ran.final_row()["samples"] == COUNT - len(STRAY)
    assert len(letters(ran)) == 2 * len(STRAY)
    assert [position for position, _ in predicted(ran)] == list(range(COUNT))


def named(ran):
    """What was predicted for each sample, by name."""
    return {
        int(position): [name for name, on in zip(made.labels, row, strict=True) if on]
        for made in ran.predictions
        for position, row in zip(made.positions, made.predicted, strict=True)
    }


def test_sets_of_labels_come_late_too(tmp_path):
    whole = run(make=label_plan, rounds_per_tick=2)
    assert {tuple(f.model["names"]) for f in whole.finals} == {("high", "tenth")}
    for learner in ("cooperative", "local", "pooled"):
        assert whole.final_row(learner)["samples"] == COUNT - len(STRAY)
    assert whole.final_row()["scores"]["MicroF1"] > 0.4
    assert len(letters(whole)) == 2 * len(STRAY)
    assert sorted(named(whole)) == list(range(COUNT))
    assert all(np.isnan(made.y).all() for made in whole.predictions)
    init_db_dir(tmp_path, 1)
    part = run(recovery=tmp_path, stop_at=9, make=label_plan, rounds_per_tick=2)
    part.finals.clear()
    part.rows.clear()
    run(workers=2, recovery=tmp_path, ran=part, make=label_plan, rounds_per_tick=2)
    assert {f.node: f.model["w"].tobytes() for f in part.finals} == {
        f.node: f.model["w"].tobytes() for f in whole.finals
    }
    assert named(part) == named(whole)
    assert {**part.final_row(), "time": 0} == {**whole.final_row(), "time": 0}
