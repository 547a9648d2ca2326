"""Run toy flows in this process and in the reference loop."""

import bytewax.operators as op
import numpy as np
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSink, cluster_main, run_main

from anabranch.simulate import simulate
from anabranch.stream import Block
from operators.learn import learn_on_network, make_hub
from tests.operators.toy import ToyLearner, rows


class Ran:
    """What a flow gave."""

    def __init__(self):
        self.finals, self.rows, self.dead, self.predictions = [], [], [], []

    @property
    def models(self):
        return {f.node: f.model["w"].tobytes() for f in self.finals}

    def final_row(self, learner="cooperative", node=None):
        (row,) = [
            r for r in self.rows if r["final"] and r["learner"] == learner and r["node"] == node
        ]
        return row


def run_flow(source, plan, *, workers=1, pooled=True, ticks_ahead=4, stop=False):
    """Run the flow to its end."""
    hub = make_hub(plan.placement, workers=workers, pooled=pooled)
    flow = Dataflow("toy")
    out = learn_on_network(
        flow, source, plan, hub,
        pooled=pooled, ticks_ahead=ticks_ahead, stop_at_bad_input=stop,
    )  # fmt: skip
    ran = Ran()
    op.output("to_finals", out.finals, TestingSink(ran.finals))
    op.output("to_rows", out.rows, TestingSink(ran.rows))
    op.output("to_dead", out.dead, TestingSink(ran.dead))
    op.output("to_predictions", out.predictions, TestingSink(ran.predictions))
    if workers == 1:
        run_main(flow)
    else:
        cluster_main(flow, [], 0, worker_count_per_proc=workers)
    return ran


def run_loop(source, plan):
    """Run the same job in the reference loop."""
    ticks = max((-(-n // source.per_tick) for n in source.rows), default=0)
    placement = plan.placement
    learners = {node: ToyLearner(3) for node in placement.nodes}
    return simulate(
        learners, plan.weights, [_tick(source, placement, t) for t in range(ticks)],
        final_rounds=plan.final_rounds, policy=plan.policy,
    )  # fmt: skip


def _tick(source, placement, number):
    shares = {node: [] for node in placement.nodes}
    for part, total in enumerate(source.rows):
        start = number * source.per_tick
        count = min(source.per_tick, total - start)
        if count > 0 and number >= source.begins.get(source.names[part], 0):
            X, y = rows(part, start, count)
            positions = np.arange(start, start + count)
            block = Block(source.names[part], number, X, y, positions)
            for node, share in placement.shares(block).items():
                shares[node].append(share)
    return {
        node: (np.concatenate([s.X for s in got]), np.concatenate([s.y for s in got]))
        for node, got in shares.items()
        if got
    }
