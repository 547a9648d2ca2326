"""Sites as processes of their own: killed, resumed from an old snapshot, nothing is lost."""

import signal
import socket
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pytest
from bytewax.recovery import init_db_dir

from anabranch.evaluation import disagreement
from tests.operators.letter_log import FileLog
from tests.operators.site_job import SPREAD

BOUND = 120


@pytest.fixture
def folder(tmp_path):
    for site in SPREAD.sites:
        (tmp_path / site).mkdir()
        init_db_dir(tmp_path / site, 1)
    return tmp_path


def start(folder, site, *options):
    command = [sys.executable, "-m", "tests.operators.site_job", site, str(folder), *options]
    return subprocess.Popen(command)


def start_two(folder, site, *options):
    ports = []
    for _ in range(2):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            ports.append(f"127.0.0.1:{free.getsockname()[1]}")
    where = ["--addresses", ";".join(ports)]
    return [start(folder, site, "--process", str(i), *where, *options) for i in range(2)]


def letters(folder):
    """Count the letters of each sender, receiver and round that carry parameters."""
    found = Counter()
    for number in range(2):
        log = FileLog(folder / f"letters{number}")
        found.update((i.sender, i.receiver, i.round) for _, i in log.since(0) if i.message)
    return found


def newest(folder, site):
    return max((r for s, _, r in letters(folder) if s in SPREAD.sites[site]), default=-1)


def wait_until(true):
    begin = time.monotonic()
    while not true():
        assert time.monotonic() < begin + BOUND, "it does not come"
        time.sleep(0.2)


def finish(*processes):
    for process in processes:
        assert process.wait(BOUND) == 0


def results(folder):
    files = {node: np.load(folder / f"{node}.npz") for node in SPREAD.weights.graph.nodes}
    return {n: f["w"] for n, f in files.items()}, sum(int(f["k"]) for f in files.values())


def test_synchronous_sites_end_as_one_job(folder):
    two = start_two(folder, "s0")
    # Drained at round 30, killed at round 60 with no snapshot in between, then run to the end.
    one = start(folder, "s1", "--workers", "2", "--hold", "30")
    wait_until(lambda: newest(folder, "s1") == 29)
    one.send_signal(signal.SIGTERM)
    finish(one)
    one = start(folder, "s1", "--hold", "60", "--epoch", "3600")
    wait_until(lambda: newest(folder, "s1") == 59)
    one.kill()
    one.wait(BOUND)
    one = start(folder, "s1")
    finish(*two, one)
    sent = Counter()
    for (sender, _, round), times in letters(folder).items():
        if sender in SPREAD.sites["s1"]:
            sent[round] = max(sent[round], times)
    assert {sent[round] for round in range(28)} == {1}
    assert {sent[round] for round in range(30, 60)} == {2}
    truth = SPREAD.reference()
    found, learned = results(folder)
    assert learned == sum(SPREAD.source.rows)
    for node, w in found.items():
        assert w.tobytes() == truth.learners[node].w.tobytes(), node


def test_an_asynchronous_site_dies_and_comes_back(folder):
    options = ("--mode", "asynchronous", "--hold", "60")
    first, second = (start(folder, site, *options) for site in SPREAD.sites)
    wait_until(lambda: newest(folder, "s0") >= 60 and newest(folder, "s1") >= 60)
    second.kill()
    second.wait(BOUND)
    reached = newest(folder, "s0")
    wait_until(lambda: newest(folder, "s0") >= reached + 10)  # the other goes on without it
    before = letters(folder).total()
    second = start(folder, "s1", *options)
    wait_until(lambda: letters(folder).total() >= before + 100)
    (folder / "go").touch()
    finish(first, second)
    found, learned = results(folder)
    assert learned == sum(SPREAD.source.rows)
    assert disagreement(list(found.values())).max < 0.1
