"""Processes killed in mid-run, and resumed: as if nothing had been, bit for bit."""

import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import numpy as np
import pytest
from bytewax.recovery import init_db_dir

from tests.operators.flows import run_loop
from tests.operators.label_job import PLAN, SOURCE

BOUND = 120
HOLD = 40


def start(folder, processes, *options, job="tests.operators.label_job"):
    ports = []
    for _ in range(processes):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            ports.append(f"127.0.0.1:{free.getsockname()[1]}")
    command = [sys.executable, "-m", job, str(folder), *options]
    if processes == 1:
        return [subprocess.Popen(command)]
    where = ["--addresses", ";".join(ports)]
    return [
        subprocess.Popen([*command, "--process", str(number), *where])
        for number in range(processes)
    ]


def wait_until(true):
    begin = time.monotonic()
    while not true():
        assert time.monotonic() < begin + BOUND, "it does not come"
        time.sleep(0.1)


def frontier(folder):
    """Give the epoch from which the job would go on."""
    (store,) = (folder / "recovery").glob("*.sqlite3")
    with closing(sqlite3.connect(store, timeout=BOUND)) as base:
        return base.execute("SELECT coalesce(min(worker_frontier), 0) FROM fronts").fetchone()[0]


@pytest.mark.parametrize(("before", "after"), [(2, 1), (1, 2)])
def test_two_rounds_of_processes_end_as_the_loop(tmp_path, before, after):
    (tmp_path / "recovery").mkdir()
    init_db_dir(tmp_path / "recovery", 1)
    first = start(tmp_path, before, "--hold", str(HOLD))
    wait_until((tmp_path / f"round{5 * HOLD - 1}").exists)
    reached = frontier(tmp_path)
    wait_until(lambda: frontier(tmp_path) > reached + 2)  # a snapshot since is there
    for process in first:
        process.kill()
    for process in first:
        process.wait(BOUND)
    for process in start(tmp_path, after):
        assert process.wait(BOUND) == 0
    reference = run_loop(SOURCE, PLAN)
    restored = 0
    for node, learner in reference.learners.items():
        with np.load(tmp_path / f"{node}.npz") as model:
            assert model["names"].tolist() == list(learner.labels)
            assert model["w"].tobytes() == learner.w.tobytes(), node
            restored = max(restored, int(model["restored"]))
    assert restored > 0
