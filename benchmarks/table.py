"""Figures beside their peers and aims: one table on the screen, one JSON file."""

import json
import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

__all__ = ["Row", "environment", "print_rows", "write_results"]

RESULTS = Path(__file__).parent / "results"
_LIBRARIES = ("anabranch", "bytewax", "numpy", "scipy", "numba", "river", "msgspec")
_VARIABLES = ("MALLOC_", "NUMBA_", "OMP_", "OPENBLAS_")


@dataclass(frozen=True, slots=True)
class Row:
    """One figure.

    Attributes
    ----------
    section : what was run
    figure : which figure of it this is
    value, unit : the median over repeats
    peer, peer_value : what it is held against, in the same unit, if anything
    ratio : value over peer_value
    aim : what was asked for, in words
    met : whether it is; None where nothing was asked for
    """

    section: str
    figure: str
    value: float
    unit: str
    peer: str = ""
    peer_value: float | None = None
    aim: str = ""
    met: bool | None = None

    @property
    def ratio(self) -> float | None:
        """The figure in terms of its peer."""
        return self.value / self.peer_value if self.peer_value else None


def print_rows(console: Console, rows: Sequence[Row]) -> None:
    """Print one table a section."""
    for section in dict.fromkeys(row.section for row in rows):
        table = Table("figure", title=section, title_justify="left")
        for column in ("value", "peer", "of peer", "aim", "met"):
            table.add_column(column, justify="left" if column == "peer" else "right")
        for row in (row for row in rows if row.section == section):
            table.add_row(row.figure, *_cells(row))
        console.print(table)


def _cells(row: Row) -> Iterable[str]:
    peer = row.peer
    if row.peer_value is not None:
        peer = f"{peer}: {_number(row.peer_value)}"
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
    met = "" if row.met is None else "yes" if row.met else "NO"
    return f"{_number(row.value)} {row.unit}", peer, ratio, row.aim, met


def _number(value: float) -> str:
    """Write a number for reading.

    >>> _number(1234567.8), _number(12.345), _number(0.5)
    ('1,234,568', '12.3', '0.50')
    """
    decimals = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{decimals}f}"


def write_results(name: str, rows: Sequence[Row], **more: Any) -> Path:
    """Write the rows and the environment to results/NAME-TIME.json; gives the path."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}-{datetime.now(UTC):%Y%m%d-%H%M%S}.json"
    figures = [{**asdict(row), "ratio": row.ratio} for row in rows]
    path.write_text(
        json.dumps({"environment": environment(), **more, "figures": figures}, indent=2)
    )
    return path


def environment() -> dict[str, Any]:
    """Tell the machine, its load, and the versions."""
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": _processor(),
        "cpus": os.cpu_count(),
        "load": os.getloadavg(),
        "libraries": {name: version(name) for name in _LIBRARIES},
        "variables": {k: v for k, v in sorted(os.environ.items()) if k.startswith(_VARIABLES)},
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())
