"""Processes killed in mid-run, and resumed with another network: as the loop, bit for bit."""

import numpy as np
from bytewax.recovery import init_db_dir

from tests.operators.era_job import SOURCE, plan_of
from tests.operators.flows import run_loop
from tests.operators.stored import next_change
from tests.operators.test_labels_crash import BOUND, HOLD, frontier, start, wait_until


def test_killed_processes_go_on_with_another_network(tmp_path):
    (tmp_path / "recovery").mkdir()
    init_db_dir(tmp_path / "recovery", 1)
    job = "tests.operators.era_job"
    first = start(tmp_path, 2, "--hold", str(HOLD), job=job)
    wait_until((tmp_path / f"round{5 * HOLD - 1}").exists)
    reached = frontier(tmp_path)
    wait_until(lambda: frontier(tmp_path) > reached + 2)  # a snapshot since is there
    for process in first:
        process.kill()
    for process in first:
        process.wait(BOUND)
    change = next_change(tmp_path / "recovery", 5)
    assert change == 5 * (HOLD + 1)  # nodes may have begun the round they wait in
    (tmp_path / "change").write_text(str(change))
    for process in start(tmp_path, 1, job=job):
        assert process.wait(BOUND) == 0
    reference = run_loop(SOURCE, plan_of(tmp_path))
    restored = 0
    for node, learner in reference.learners.items():
        with np.load(tmp_path / f"{node}.npz") as model:
            assert model["w"].tobytes() == learner.w.tobytes(), node
            restored = max(restored, int(model["restored"]))
    assert restored > 0
