"""The commands in docker/ do what they are there for: produce, learn, restart, be watched."""

import os
import signal
import sqlite3
import subprocess
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.brokers.client import Kafka
from tests.brokers.fixtures import apache_or_skip
from tests.docker.native import Stack

LONGEST = 120.0


def wait(what: str, found: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONGEST
    while not found():
        assert time.monotonic() < deadline, f"no {what} in {LONGEST:g} s"
        time.sleep(0.2)


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    stack = Stack(tmp_path)
    broker = apache_or_skip(stack.start_broker)
    try:
        wait("broker", lambda: broker.check() or stack.broker_answers())
        yield stack
    finally:
        broker.kill()


@pytest.fixture
def started(stack: Stack) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Start a service; it ends with the test."""
    running = []

    def start(service: str) -> subprocess.Popen[str]:
        command = stack.command(service)
        with open(stack.folder / f"{service}.log", "a", encoding="utf-8") as log:
            process = subprocess.Popen(
                command,
                cwd=stack.folder,
                env=stack.environment,
                stdout=log,
                stderr=log,
                text=True,
            )
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()


def scrape(stack: Stack, name: str) -> float:
    """Read one number of the job's metrics; 0 while nobody answers."""
    try:
        url = f"http://{stack.address('job:8080')}/metrics"
        with urllib.request.urlopen(url, timeout=5) as answer:
            lines = answer.read().decode().splitlines()
    except OSError:
        return 0.0
    return sum(
        float(line.rpartition(" ")[2]) for line in lines if line.split("{")[0].split(" ")[0] == name
    )


def is_well(stack: Stack) -> bool:
    done = subprocess.run(stack.healthcheck(), capture_output=True, check=False)
    return done.returncode == 0


@pytest.mark.timeout(600)
def test_the_stack_runs_and_goes_on_after_a_kill(
    stack: Stack, started: Callable[[str], subprocess.Popen[str]]
) -> None:
    kafka = Kafka(SimpleNamespace(kind="apache", brokers=[stack.address("kafka:29092")]))
    producer, job = started("producer"), started("job")
    wait("snapshot", lambda: runs(producer) and runs(job) and snapshots(stack) > 0)
    assert is_well(stack)
    assert scrape(stack, "anabranch_samples_total") > 0

    os.kill(job.pid, signal.SIGKILL)
    job.wait()
    assert not is_well(stack)
    before, job = written(kafka), started("job")
    wait("new predictions", lambda: runs(job) and written(kafka) > before + 100)
    assert is_well(stack)

    for process in (producer, job):
        process.send_signal(signal.SIGTERM)
        assert process.wait(LONGEST) == 0
    check_predictions(kafka)
    assert "records in" in (stack.folder / "producer.log").read_text()


def runs(process: subprocess.Popen[str]) -> bool:
    assert process.poll() is None, f"it ended with {process.returncode}"
    return True


def snapshots(stack: Stack) -> int:
    """Count what the recovery folder holds."""
    found = 0
    for part in (stack.folder / "state" / "run" / "recovery").glob("*.sqlite3"):
        with closing(sqlite3.connect(part)) as database:
            try:
                found += database.execute("SELECT count(*) FROM snaps").fetchone()[0]
            except sqlite3.OperationalError:
                continue  # it is being made, or written to
    return found


def written(kafka: Kafka) -> int:
    return sum(kafka.ends("predictions").values())


def check_predictions(kafka: Kafka) -> None:
    """No sample was passed over, and the second life did not begin anew."""
    ids = Counter(record.key.decode() for record in kafka.read("predictions", timeout=60))
    for number in range(4):
        assert ids[f"samples:{number}:0"] == 1
        own = (key.rpartition(":") for key in ids if key.startswith(f"samples:{number}:"))
        offsets = sorted(int(offset) for _, _, offset in own)
        assert offsets == list(range(len(offsets)))
        assert len(offsets) > 100
