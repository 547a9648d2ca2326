"""Fixtures shared by all tests."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The library of papers and data beside the project; tests that need it skip without it."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("the data library ../shared is not here")
    return folder
