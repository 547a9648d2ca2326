"""Run one process of one site of a toy job: python -m tests.operators.site_job SITE ..."""

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

from operators.learn import learn_on_network, make_hub
from tests.operators.letter_log import FileLog
from tests.operators.spread import Spread
from tests.operators.toy_job import held

SPREAD = Spread(((450, 300), (350, 0, 500)), per_tick=3, final_rounds=2, dealt=True)


class _Save(StatelessSinkPartition):
    def __init__(self, folder):
        self.folder = folder

    def write_batch(self, items):
        for final in items:
            np.savez(self.folder / f"{final.node}.npz", w=final.model["w"], k=final.model["k"])


class SaveSink(DynamicSink):
    """Write what each node ends with."""

    def __init__(self, folder):
        self.folder = folder

    def build(self, step_id, worker_index, worker_count):
        return _Save(self.folder)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("site")
    parser.add_argument("folder", type=Path, help="holds the letters, recovery stores and results")
    parser.add_argument("--mode", default="synchronous")
    parser.add_argument("--hold", type=int, default=1000, help="tick to wait at for the file go")
    parser.add_argument("--epoch", type=float, default=0.5, help="seconds between snapshots")
    parser.add_argument("--process", type=int, default=0)
    parser.add_argument("--addresses", default="")
    parser.add_argument("--workers", type=int, default=1)
    args = parser.parse_args()
    addresses = args.addresses.split(";") if args.addresses else []
    processes = max(1, len(addresses))
    plan = replace(
        SPREAD.plan(args.site), mode=args.mode,
        idle_every=timedelta(seconds=0.1), stale_after=timedelta(seconds=1.5),
    )  # fmt: skip
    hub = make_hub(plan.placement, process=args.process, processes=processes, workers=args.workers)
    signal.signal(signal.SIGTERM, lambda *_: hub.drain.set())
    logs = [FileLog(args.folder / f"letters{i}") for i in range(2)]
    source = held(SPREAD.site_source(args.site), args.hold, args.folder / "go")
    flow = Dataflow("toy")
    link = SPREAD.link(args.site, logs, args.process, processes)
    out = learn_on_network(flow, source, plan, hub, ticks_ahead=8, link=link)
    op.output("finals", out.finals, SaveSink(args.folder))
    cli_main(
        flow,
        workers_per_process=args.workers,
        process_id=args.process if addresses else None,
        addresses=addresses or None,
        epoch_interval=timedelta(seconds=args.epoch),
        recovery_config=RecoveryConfig(args.folder / args.site),
    )


if __name__ == "__main__":
    main()
