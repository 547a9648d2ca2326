"""Jobs that are to be harmed: started with a port for their health, fed with samples."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Any, Self
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from kafka.errors import KafkaError

from benchmarks.jobs import command
from benchmarks.kafka_topics import sample
from benchmarks.processes import children
from connectors.kafka.clients import open_producer
from connectors.kafka.settings import KafkaSettings
from pipelines.run_dir import RunDirectory
from pipelines.supervise import free_ports
from tests.brokers.client import Kafka

__all__ = ["Feeder", "Lab", "Running", "topic_settings"]

_PATIENCE = 120.0
_LOOK = 0.1
NODES = 6


@dataclass
class Running:
    """A job in a folder, and its health."""

    settings: Mapping[str, Any]
    folder: Path
    port: int = field(default_factory=lambda: free_ports(1)[0])
    process: "subprocess.Popen[bytes] | None" = None

    def start(self, **changed: Any) -> Self:
        """Begin the job anew, with settings changed (__ for the dot)."""
        self.stop()
        self.folder.mkdir(exist_ok=True)
        more = {key.replace("__", "."): value for key, value in changed.items()}
        own = {"job.run_dir": self.folder / "run", "recovery.dir": self.folder / "state"}
        line = command({**self.settings, **more, **own}, "--overwrite", "--http", str(self.port))
        with (self.folder / "output").open("ab") as output:
            self.process = subprocess.Popen(line, stdout=output, stderr=subprocess.STDOUT)
        return self

    def stop(self) -> None:
        """End the job as hard as it goes."""
        if self.process is not None:
            for pid in (self.process.pid, *self.workers):
                os.kill(pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    @property
    def workers(self) -> list[int]:
        """Its processes' ids."""
        return [] if self.process is None else children(self.process.pid)

    def signal(self, number: int) -> None:
        """Send a signal to its processes."""
        for pid in self.workers:
            os.kill(pid, number)

    def health(self) -> tuple[str, str]:
        """Give its state and the first reason; "away" while nobody answers."""
        try:
            with urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5) as answer:
                told = json.load(answer)
        except HTTPError as error:
            told = json.load(error)
        except URLError:
            return "away", ""
        return told["state"], next(iter(told["reasons"]), "")

    def samples(self) -> int:
        """Count what it has learned."""
        status = RunDirectory(self.folder / "run").read_status() or {}
        return int(status.get("samples", 0))

    def until(self, *states: str, patience: float = _PATIENCE) -> tuple[float, str, str]:
        """Wait until its health is one of some; give seconds, state and reason.

        Raises
        ------
        RuntimeError
            It never is.
        """
        begin = time.monotonic()
        while time.monotonic() - begin < patience:
            state, reason = self.health()
            if state in states:
                return time.monotonic() - begin, state, reason
            time.sleep(_LOOK)
        raise RuntimeError(f"health was {state} ({reason}) for {patience:g} s, never {states}")

    def until_learning(self, more: int = 100, *, well: bool = True) -> Self:
        """Wait until it has learned more samples, and is well."""
        aim, deadline = self.samples() + more, time.monotonic() + _PATIENCE
        while self.samples() < aim:
            if time.monotonic() > deadline:
                raise RuntimeError((self.folder / "output").read_text())
            time.sleep(_LOOK)
        if well:
            self.until("green")
        return self


class Feeder:
    """Writes samples to a topic, steadily, from a thread of its own.

    Attributes
    ----------
    partitions : those that get samples
    paused : whether none does
    spoiled : whether what is written are no samples
    written, most : samples so far, and after which there are no more; None: none ends it
    """

    def __init__(self, kafka: Kafka, topic: str, partitions: tuple[int, ...] = (0,)) -> None:
        self._kafka, self._topic = kafka, topic
        self.partitions, self.paused, self.spoiled = partitions, False, False
        self.written = 0
        self.most: int | None = None
        self._over = Event()
        self._thread = Thread(target=self._feed, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def _feed(self) -> None:
        values = sample(0, 5000, NODES)
        settings = KafkaSettings(tuple(self._kafka.brokers), timeout=3.0)
        options = {"linger_ms": 5, "max_block_ms": 1000, "delivery_timeout_ms": 5000}
        producer = open_producer(settings, **options)
        while not self._over.wait(0.05):
            ended = self.most is not None and self.written >= self.most
            for partition in () if self.paused or ended else self.partitions:
                some = [values[(self.written + i) % len(values)] for i in range(20)]
                self.written += len(some)
                try:
                    for value in [b"?"] * len(some) if self.spoiled else some:
                        producer.send(self._topic, value, partition=partition)
                except KafkaError:
                    break  # the broker is away: that is what is tried
        producer.close(timeout=1)


@dataclass
class Lab:
    """What faults are tried with: a broker, a folder, and an end for all that was begun."""

    kafka: Kafka
    folder: Path
    held: ExitStack
    feeders: "list[Feeder]" = field(default_factory=list)

    def job(self, name: str, settings: Mapping[str, Any]) -> Running:
        """Prepare a job; it ends with the laboratory."""
        running = Running(settings, self.folder / name)
        self.held.callback(running.stop)
        return running

    def feeder(self, topic: str, partitions: tuple[int, ...] = (0,)) -> Feeder:
        """Begin to feed a topic."""
        self.feeders.append(self.held.enter_context(Feeder(self.kafka, topic, partitions)))
        return self.feeders[-1]


def topic_settings(kafka: Kafka, topic: str, **more: Any) -> dict[str, Any]:
    """Give the settings of a job over a topic (__ in a name for the dot)."""
    return {
        "source.kind": "kafka",
        "source.rows": "",  # the built-in job's source is a generator
        "source.topics": json.dumps([topic]),
        "source.features": json.dumps([f"x{i + 1}" for i in range(20)]),
        "source.node": "field:node",
        "source.rows_per_tick": 12,
        "kafka.brokers": json.dumps(kafka.brokers),
        "network.nodes": NODES,
        "network.degree": 3,
        "learner.ranks": 4,
        "learner.kernel": "linear",
        "evaluation.companions": "[]",
        "output.report": "false",
        "recovery.snapshot_every": "1s",
        **{key.replace("__", "."): value for key, value in more.items()},
    }
