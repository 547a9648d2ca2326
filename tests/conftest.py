"""Fixtures shared by all tests."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# As in a job's processes, and before numpy is there: the last bits of a product depend on the
# number of threads.
os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1"))

from tests.brokers.fixtures import apache_kafka, kafka, kafka_cluster, private_kafka, secure_kafka
from tests.brokers.summary import note_kind, summary_lines

__all__ = ["apache_kafka", "kafka", "kafka_cluster", "private_kafka", "secure_kafka", "shared"]

# How long an example takes is no law, least of all on a busy machine.
settings.register_profile("untimed", deadline=None)
# What a random search finds is for whoever looks, not for a check that says yes or no.
settings.register_profile("same", deadline=None, derandomize=True)
settings.load_profile("same" if os.environ.get("ANABRANCH_SAME_EXAMPLES") else "untimed")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The library of papers and data beside the project; tests that need it skip without it."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("the data library ../shared is not here")
    return folder


def pytest_runtest_call(item: pytest.Item) -> None:
    """Note which broker a test was given."""
    note_kind(item)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which brokers were used, and what was skipped without one."""
    for line in summary_lines(terminalreporter.stats):
        terminalreporter.write_line(f"brokers: {line}")
