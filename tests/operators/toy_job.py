"""Run a toy flow as one process of a cluster: python -m tests.operators.toy_job FOLDER ..."""

import argparse
import signal
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import bytewax.operators as op
import numpy as np
from bytewax.dataflow import Dataflow
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.recovery import RecoveryConfig
from bytewax.run import cli_main

from anabranch.network import build_graph, combination_weights, node_names
from anabranch.placement import Placement
from operators.learn import learn_on_network, make_hub
from operators.node_plan import POOLED, Lone, NodePlan
from tests.operators.toy import ToyLearner

NAMES = tuple(node_names(7))


def toy_plan(partitions, rule="round-robin", **options):
    """Seven nodes on a random graph."""
    weights = combination_weights(build_graph("random", NAMES, degree=3, seed=1))
    return NodePlan(
        make=lambda node: ToyLearner(3),
        restore=ToyLearner.restore,
        weights=weights,
        placement=Placement(NAMES, rule, tuple(partitions)),
        task="ordinal",
        ranks=2,
        local=True,
        **options,
    )


class _Each(StatelessSinkPartition):
    def __init__(self, act):
        self.act = act

    def write_batch(self, items):
        for item in items:
            self.act(item)


class EachSink(DynamicSink):
    """Call a function with each item."""

    def __init__(self, act):
        self.act = act

    def build(self, step_id, worker_index, worker_count):
        return _Each(self.act)


def held(source, tick, go):
    """Let the partitions of a source wait before a tick until a file is there."""
    build = source.build_part

    def build_part(*args):
        part = build(*args)
        pull = part.next_batch
        part.next_batch = lambda: [] if part.tick >= tick and not go.exists() else pull()
        return part

    source.build_part = build_part
    return source


def main(source, plan):
    """Run the flow; models, rounds reported and samples restored are left in the folder."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--process", type=int, default=0)
    parser.add_argument("--addresses", default="")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--hold", type=int, default=1000, help="tick to wait at for the file go")
    args = parser.parse_args()
    addresses = args.addresses.split(";") if args.addresses else []
    count, folder = max(1, len(addresses)), args.folder
    plan = replace(plan, lone={POOLED: Lone(plan.make, plan.restore)})
    numbers = {"process": args.process, "processes": count, "workers": args.workers}
    hub = make_hub(plan.placement, **numbers, lone=plan.lone)
    signal.signal(signal.SIGTERM, lambda *_: hub.drain.set())
    flow = Dataflow("toy")
    out = learn_on_network(flow, held(source, args.hold, folder / "go"), plan, hub)
    op.output("finals", out.finals, EachSink(lambda f: save(folder, f, hub)))
    op.output("rows", out.rows, EachSink(lambda r: (folder / f"round{r['round']}").touch()))
    cli_main(
        flow,
        workers_per_process=args.workers,
        process_id=args.process if addresses else None,
        addresses=addresses or None,
        epoch_interval=timedelta(seconds=0.2),
        recovery_config=RecoveryConfig(folder / "recovery"),
    )


def save(folder, final, hub):
    np.savez(folder / f"{final.node}.npz", restored=hub.restored, **final.model)
