"""Memory stays bounded: partitions wait for the slowest node, in both kinds of time."""

import time

import pytest
from typing_extensions import override

from operators.hub import Hub
from operators.paced_source import PacedSource
from tests.operators import flows
from tests.operators.toy import ToyLearner, ToySource
from tests.operators.toy_job import toy_plan

AHEAD = 5


class Slow(ToyLearner):
    """A learner that sleeps, so that the source could run away."""

    @override
    def predict_then_learn(self, X, y):
        time.sleep(0.002)
        return super().predict_then_learn(X, y)


@pytest.mark.parametrize("each", [1, 3])
@pytest.mark.parametrize("mode", ["synchronous", "asynchronous"])
@pytest.mark.parametrize("workers", [1, 2])
def test_no_partition_runs_further_than_allowed(monkeypatch, mode, workers, each):
    lead = []
    build = PacedSource.build_part

    def watched(self, step_id, name, state):
        part = build(self, step_id, name, state)
        pull = part._pull

        def noted():
            items = pull()
            lead.append(part._inner.tick - 1 - self.hub.slowest(name))
            return items

        part._pull = noted
        return part

    monkeypatch.setattr(PacedSource, "build_part", watched)
    source = ToySource([280, 280], 7)
    plan = toy_plan(source.names, mode=mode, rounds_per_tick=each)
    object.__setattr__(plan, "make", lambda node: Slow(3))
    ran = flows.run_flow(source, plan, workers=workers, ticks_ahead=AHEAD, pooled=False)
    assert ran.final_row()["samples"] == 560
    assert max(lead) <= AHEAD
    assert max(lead) >= 1


def test_the_hub_knows_the_slowest_of_each_partition():
    hub = Hub(0, 1, 1, {"p": ["a", "b"], "q": ["a", "b"]})
    hub.acknowledge("a", 5, None)
    assert hub.slowest("p") == -1
    hub.acknowledge("b", 3, "p")
    assert (hub.slowest("p"), hub.slowest("q")) == (3, -1)
    hub.acknowledge("b", 2, "p")
    assert hub.slowest("p") == 3
