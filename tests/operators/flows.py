"""Run toy flows in this process and in the reference loop."""

from dataclasses import replace

import bytewax.operators as op
import numpy as np
from bytewax.dataflow import Dataflow
from bytewax.recovery import RecoveryConfig
from bytewax.testing import TestingSink, cluster_main, run_main

from anabranch.network import Eras
from anabranch.simulate import simulate
from anabranch.sparse import join_rows
from operators.learn import learn_on_network, make_hub
from operators.node_plan import POOLED, Lone


class Ran:
    """What a flow gave."""

    def __init__(self):
        self.finals, self.rows, self.dead, self.predictions = [], [], [], []
        self.drifts = []

    @property
    def models(self):
        return {f.node: f.model["w"].tobytes() for f in self.finals}

    def final_row(self, learner="cooperative", node=None):
        (row,) = [
            r for r in self.rows if r["final"] and r["learner"] == learner and r["node"] == node
        ]
        return row


def with_pooled(plan):
    """Give a plan the pooled companion, beside those it has."""
    return replace(plan, lone={POOLED: Lone(plan.make, plan.restore), **plan.lone})


def run_flow(source, plan, *, workers=1, pooled=True, ticks_ahead=4, stop=False, store=None):
    """Run the flow to its end, or until its source stops it; from a recovery store, if given."""
    plan = with_pooled(plan) if pooled else plan
    ran = Ran()
    ran.hub = source.hub = make_hub(plan.placement, workers=workers, lone=plan.lone)
    flow = Dataflow("toy")
    out = learn_on_network(
        flow, source, plan, ran.hub, ticks_ahead=ticks_ahead, stop_at_bad_input=stop
    )
    op.output("to_finals", out.finals, TestingSink(ran.finals))
    op.output("to_rows", out.rows, TestingSink(ran.rows))
    op.output("to_dead", out.dead, TestingSink(ran.dead))
    op.output("to_predictions", out.predictions, TestingSink(ran.predictions))
    if out.drifts is not None:
        op.output("to_drifts", out.drifts, TestingSink(ran.drifts))
    config = RecoveryConfig(store) if store else None
    if workers == 1:
        run_main(flow, recovery_config=config)
    else:
        cluster_main(flow, [], 0, worker_count_per_proc=workers, recovery_config=config)
    return ran


def run_loop(source, plan):
    """Run the same job in the reference loop."""
    ticks = max((-(-n // source.per_tick) for n in source.rows), default=0)
    placements, eras = plan.placements, plan.eras or Eras.of(plan.weights)
    learners = {node: plan.make(node) for node in eras.nodes}
    return simulate(
        learners, eras, [_tick(source, placements.at(t), t) for t in range(ticks)],
        final_rounds=plan.final_rounds, policy=plan.policy,
        rounds_per_tick=plan.rounds_per_tick, drift=plan.drift,
    )  # fmt: skip


def _tick(source, placement, number):
    shares = {node: [] for node in placement.nodes}
    for part, total in enumerate(source.rows):
        start = number * source.per_tick
        count = min(source.per_tick, total - start)
        if count > 0 and number >= source.begins.get(source.names[part], 0):
            block = source.block(part, number, start, count)
            for node, share in placement.shares(block).items():
                shares[node].append(share)
    return {node: joined(got) for node, got in shares.items() if got}


def joined(shares):
    """Give a node's rows of one tick; with sets of labels in blocks, whose columns may differ."""
    if shares[0].y.ndim == 2:
        return [(s.X, s.y) if s.labels is None else (s.X, s.y, s.labels) for s in shares]
    return join_rows([s.X for s in shares]), np.concatenate([s.y for s in shares])
