"""A flow into a topic that ends as `kill -9` ends one: run as a program.

Arguments: brokers, topic, recovery folder, how many numbers to write, and the number at which to
die (none with -1).
"""

import os
import sys
from datetime import timedelta

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.recovery import RecoveryConfig
from bytewax.testing import TestingSource, run_main

from connectors.kafka.producer import Record
from connectors.kafka.settings import KafkaSettings
from connectors.kafka.sink import KafkaSink


def numbered(item: int) -> list[Record]:
    """Make a record whose key tells it from all others."""
    return [Record(b"id-%d" % item, b"%d" % item, [], None)]


def main(brokers: str, topic: str, folder: str, count: str, last: str) -> None:
    """Write the numbers, a snapshot after every 500."""

    def pass_or_die(item: int) -> int:
        if item == int(last):
            os._exit(9)
        return item

    flow = Dataflow("numbers")
    stream = op.input("in", flow, TestingSource(list(range(int(count))), batch_size=500))
    stream = op.map("die", stream, pass_or_die)
    sink = KafkaSink(KafkaSettings(tuple(brokers.split(","))), topic, numbered)
    op.output("out", op.key_on("key", stream, lambda _: "00000"), sink)
    run_main(flow, epoch_interval=timedelta(0), recovery_config=RecoveryConfig(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
