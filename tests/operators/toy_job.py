"""Run the toy flow as one process of a cluster: python -m tests.operators.toy_job ..."""

import argparse
import signal
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
from operators.node_plan import NodePlan
from tests.operators.toy import ToyLearner, ToySource

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


class _Save(StatelessSinkPartition):
    def __init__(self, folder):
        self.folder = folder

    def write_batch(self, items):
        for final in items:
            np.save(self.folder / f"{final.node}.npy", final.model["w"])


class SaveSink(DynamicSink):
    """Write each node's final parameters."""

    def __init__(self, folder):
        self.folder = folder

    def build(self, step_id, worker_index, worker_count):
        return _Save(self.folder)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+")
    parser.add_argument("--per-tick", type=int, default=7)
    parser.add_argument("--process", type=int, default=0)
    parser.add_argument("--addresses", default="")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--recovery", type=Path)
    args = parser.parse_args()
    addresses = args.addresses.split(";") if args.addresses else []
    source = ToySource(args.rows, args.per_tick)
    plan = toy_plan(source.names, "hash", final_rounds=2)
    hub = make_hub(
        plan.placement,
        process=args.process,
        processes=max(1, len(addresses)),
        workers=args.workers,
        pooled=True,
    )
    signal.signal(signal.SIGTERM, lambda *_: hub.drain.set())
    flow = Dataflow("toy")
    out = learn_on_network(flow, source, plan, hub, pooled=True)
    op.output("finals", out.finals, SaveSink(args.out))
    cli_main(
        flow,
        workers_per_process=args.workers,
        process_id=args.process if addresses else None,
        addresses=addresses or None,
        epoch_interval=timedelta(seconds=0.2),
        recovery_config=RecoveryConfig(args.recovery) if args.recovery else None,
    )


if __name__ == "__main__":
    main()
