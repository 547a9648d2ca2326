"""A small CSV job, as tables, to make mistakes in."""

from pathlib import Path
from typing import Any

import pytest

Tables = dict[str, dict[str, Any]]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.csv"
    path.write_text("x1,x2,y\n1,2,1\n3,4,2\n", encoding="utf-8")
    return path


@pytest.fixture
def tables(data: Path) -> Tables:
    return {
        "source": {"kind": "csv", "paths": [str(data)]},
        "network": {"nodes": 4},
        "learner": {"kind": "dsvor", "ranks": 3},
    }
