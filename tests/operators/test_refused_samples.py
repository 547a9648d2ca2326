"""A sample that the learner refuses is told once, however many learners it was meant for."""

from dataclasses import replace

from anabranch.errors import SampleError
from tests.operators.flows import run_flow
from tests.operators.toy import ToyLearner, ToySource
from tests.operators.toy_job import toy_plan


class Fussy(ToyLearner):
    """Refuses a negative first feature."""

    def predict_then_learn(self, X, y):
        if (X[:, 0] < 0).any():
            raise SampleError("a negative feature")
        return super().predict_then_learn(X, y)


def test_companions_do_not_tell_it_again():
    source = ToySource([60], 12)
    plan = replace(toy_plan(source.names), make=lambda node: Fussy(3))
    ran = run_flow(source, plan, pooled=True)
    learned = ran.final_row()["samples"]
    assert 0 < learned < 60
    assert ran.final_row("pooled")["samples"] == learned
    positions = [letter.position for letter in ran.dead]
    assert len(positions) == len(set(positions)) == 60 - learned
