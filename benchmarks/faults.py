"""Faults done to running jobs: python -m benchmarks.faults [NAME ...].

Of each: seconds until the job's health is red (or yellow, where nothing is lost), why, and
seconds from the end of the fault until it is green again. Needs Java and Maven.
"""

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.fault_jobs import Feeder, Lab, Running, topic_settings
from benchmarks.kafka_topics import broker, sample
from benchmarks.table import Row, write_results
from tests.brokers.client import Kafka, fresh_name

__all__ = ["main"]

ALLOWED = 30.0
"""Seconds within which a fault must be told."""
_IDLE = 45.0
"""Seconds that an idle job is watched."""
ASYNCHRONOUS = {"exchange__mode": "asynchronous"}


@dataclass(frozen=True)
class Fault:
    """A fault that can be done to a job and undone; `state` is what its health must become."""

    job: Running
    begin: Callable[[], object]
    end: Callable[[], object]
    state: str = "red"


@dataclass(frozen=True)
class Found:
    """What came of a fault: seconds to the state wanted and from the end of it to green."""

    name: str
    state: str
    told: float
    green: float
    reason: str


def _broker_gone(lab: Lab) -> Fault:
    job, _ = _fed(lab, **ASYNCHRONOUS, output__predictions=f"kafka:{lab.kafka.topic()}")
    return Fault(job, lab.kafka.broker.kill, lab.kafka.broker.start)


def _broker_frozen(lab: Lab) -> Fault:
    job, _ = _fed(lab, **ASYNCHRONOUS)
    return Fault(job, lab.kafka.broker.freeze, lab.kafka.broker.thaw)


def _partition_poisoned(lab: Lab) -> Fault:
    topic = lab.kafka.topic(2)
    lab.feeder(topic)
    job = lab.job("job", topic_settings(lab.kafka, topic, **ASYNCHRONOUS)).start()
    job.until_learning()
    good = json.dumps({**json.loads(sample(0, 1, 6)[0]), "mark": 71717}).encode()

    def poison() -> None:
        job.signal(signal.SIGSTOP)  # or it would have read the batch before it is spoiled
        lab.kafka.produce(topic, [good] * 20, partition=1)
        _overwrite(lab.kafka, topic, 1, b'"mark": 71717', b'"MARK": 71717')
        job.signal(signal.SIGCONT)

    def heal() -> None:
        _overwrite(lab.kafka, topic, 1, b'"MARK": 71717', b'"mark": 71717')

    return Fault(job, poison, heal)


def _overwrite(kafka: Kafka, topic: str, number: int, old: bytes, new: bytes) -> None:
    """Change bytes of a partition's log behind the broker's back."""
    (file,) = kafka.broker.nodes[0].folder.rglob(f"{topic}-{number}/*.log")
    at = file.read_bytes().index(old)
    with file.open("r+b") as log:
        log.seek(at)
        log.write(new)


def _process_killed(lab: Lab) -> Fault:
    job, _ = _fed(lab, parallel__processes=2)
    return Fault(job, lambda: os.kill(job.workers[1], signal.SIGKILL), lambda: None)


def _process_frozen(lab: Lab) -> Fault:
    job, _ = _fed(lab, parallel__processes=2)
    one = job.workers[1]
    return Fault(job, lambda: os.kill(one, signal.SIGSTOP), lambda: os.kill(one, signal.SIGCONT))


def _site_silent(lab: Lab) -> Fault:
    east, west = _sites(lab, exchange__mode="synchronous")
    return Fault(east, lambda: west.signal(signal.SIGSTOP), lambda: west.signal(signal.SIGCONT))


def _site_silent_asynchronous(lab: Lab) -> Fault:
    east, west = _sites(lab, **ASYNCHRONOUS)
    return Fault(
        east, lambda: west.signal(signal.SIGSTOP), lambda: west.signal(signal.SIGCONT), "yellow"
    )


def _divergence(lab: Lab) -> Fault:
    """Steps that leave the range of numbers; then the job is begun anew with good ones."""
    job, _ = _fed(lab, exchange__mode="synchronous")
    wild = {"learner__step": 1e308, "learner__lam": 1e-307}
    return Fault(job, lambda: job.start(**wild).until_learning(1, well=False), job.start)


def _no_progress(lab: Lab) -> Fault:
    """In synchronous time a partition without records lets the other stand still."""
    job, feeder = _fed(lab, partitions=2, exchange__mode="synchronous")
    return Fault(
        job,
        lambda: setattr(feeder, "partitions", (0,)),
        lambda: setattr(feeder, "partitions", (0, 1)),
    )


def _bad_records(lab: Lab) -> Fault:
    job, feeder = _fed(lab, **ASYNCHRONOUS)
    return Fault(
        job, lambda: setattr(feeder, "spoiled", True), lambda: setattr(feeder, "spoiled", False)
    )


def _fed(lab: Lab, partitions: int = 1, **more: object) -> tuple[Running, Feeder]:
    """Give a job that learns what a topic is fed with."""
    topic = lab.kafka.topic(partitions)
    feeder = lab.feeder(topic, tuple(range(partitions)))
    job = lab.job("job", topic_settings(lab.kafka, topic, **more)).start()
    return job.until_learning(), feeder


def _sites(lab: Lab, **more: object) -> tuple[Running, Running]:
    """Give the jobs of two sites, which learn."""
    letters, jobs = fresh_name(), []
    hosts = '{east=["n00","n01","n02"], west=["n03","n04","n05"]}'
    for here in ("east", "west"):
        topic = lab.kafka.topic()
        lab.feeder(topic)
        own = {"exchange__transport": "kafka", "sites__here": here, "sites__nodes": hosts}
        own |= {"sites__run": letters, "source__node": "round-robin", "source__rows_per_tick": 6}
        jobs.append(lab.job(here, topic_settings(lab.kafka, topic, **more, **own)).start())
    for job in jobs:
        job.until_learning()
    return jobs[0], jobs[1]


FAULTS: dict[str, Callable[[Lab], Fault]] = {
    "broker gone": _broker_gone,
    "broker frozen": _broker_frozen,
    "partition poisoned": _partition_poisoned,
    "process killed": _process_killed,
    "process frozen": _process_frozen,
    "site silent": _site_silent,
    "site silent, asynchronous": _site_silent_asynchronous,
    "divergence": _divergence,
    "no progress": _no_progress,
    "bad records": _bad_records,
}


def _idle(lab: Lab, **more: object) -> Running:
    job, feeder = _fed(lab, **more)
    feeder.paused = True
    return job


IDLE: dict[str, Callable[[Lab], Running]] = {
    "idle, asynchronous": lambda lab: _idle(lab, **ASYNCHRONOUS),
    "idle, synchronous": lambda lab: _idle(lab, exchange__mode="synchronous"),
    "idle, two sites": lambda lab: _idle_sites(lab),
}


def _idle_sites(lab: Lab) -> Running:
    east, _ = _sites(lab, exchange__mode="synchronous")
    # Equally many whole ticks: a site with more than the other waits for it, and is not idle.
    most = (max(feeder.written for feeder in lab.feeders) // 60 + 5) * 60
    for feeder in lab.feeders:
        feeder.most = most
    return east


def main() -> None:
    """Try the faults, print and write what came of them; exit 1 if one was told too late."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults")
    names = [*FAULTS, *IDLE]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}; all")
    chosen = parser.parse_args().names or names
    unknown = sorted(set(chosen) - set(names))
    if unknown:
        parser.error(f"there is no fault {unknown[0]!r}; allowed: {', '.join(names)}")
    found = []
    with broker() as kafka:
        for name in chosen:
            found.append(_try(name, kafka))
            print(found[-1], flush=True)
    rows = [row for one in found for row in _rows(one)]
    _print(found)
    print(write_results("faults", rows, reasons={one.name: one.reason for one in found}))
    sys.exit(any(row.met is False for row in rows))


def _try(name: str, kafka: Kafka) -> Found:
    with tempfile.TemporaryDirectory(prefix="fault-") as folder, ExitStack() as held:
        lab = Lab(kafka, Path(folder), held)
        if name in IDLE:
            return _watch_idle(name, IDLE[name](lab))
        fault = FAULTS[name](lab)
        fault.begin()
        begin = time.monotonic()
        _, state, reason = fault.job.until(fault.state)
        told = time.monotonic() - begin
        begin = time.monotonic()
        fault.end()
        fault.job.until("green", patience=120)
        return Found(name, state, told, time.monotonic() - begin, reason)


def _watch_idle(name: str, job: Running) -> Found:
    """Give the worst that an idle job's health becomes."""
    rank = ("green", "yellow", "red", "away")
    worst, why, begin = "green", "", time.monotonic()
    while time.monotonic() - begin < _IDLE:
        state, reason = job.health()
        if rank.index(state) > rank.index(worst):
            worst, why = state, reason
        time.sleep(0.2)
    return Found(name, worst, 0.0, 0.0, why)


def _rows(one: Found) -> list[Row]:
    if one.name in IDLE:
        well = one.state == "green"
        return [Row(one.name, "always green", float(well), "", aim="1", met=well)]
    aim = f"{ALLOWED:g} s at most"
    return [
        Row(one.name, f"to {one.state}", one.told, "s", aim=aim, met=one.told <= ALLOWED),
        Row(one.name, "to green again", one.green, "s"),
    ]


def _print(found: list[Found]) -> None:
    table = Table("fault", "health", title="faults", title_justify="left")
    for column in ("told after, s", "green again after, s"):
        table.add_column(column, justify="right")
    table.add_column("reason", overflow="fold")
    for one in found:
        seconds = ("-", "-") if one.name in IDLE else (f"{one.told:.1f}", f"{one.green:.1f}")
        table.add_row(one.name, one.state, *seconds, one.reason)
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
