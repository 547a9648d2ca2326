"""Writing the report of one run or of several."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from anabranch.errors import ConfigurationError
from pipelines.report.bokeh_parts import check_bokeh
from pipelines.report.markup import text
from pipelines.report.one import run_body
from pipelines.report.page import page
from pipelines.report.runs import Run, read_run
from pipelines.report.several import label_runs, runs_body

__all__ = ["write_html", "write_report"]


def write_report(run_dirs: Sequence[Path], out: Path) -> None:
    """Write one HTML page about one run, or comparing several.

    The page holds everything it needs: it makes no request, and works from a file.

    Parameters
    ----------
    run_dirs : run directories, as jobs write them; finished, stopped or still going on
    out : the page to write; folders above it are made

    Raises
    ------
    ConfigurationError
        No run directory is given, one of them is none, or bokeh is not installed.
    """
    if not run_dirs:
        raise ConfigurationError("run directories = [] is empty; allowed: one or more")
    check_bokeh()
    runs = [read_run(Path(path)) for path in run_dirs]
    write_html(_one(runs[0]) if len(runs) == 1 else _several(runs), out)


def write_html(html: str, out: Path) -> None:
    """Write a page at once: whoever reads `out` finds the old one or the new one, whole."""
    out.parent.mkdir(parents=True, exist_ok=True)
    beside = out.with_name(f"{out.name}.part")
    beside.write_text(html, encoding="utf-8")
    beside.replace(out)


def _one(run: Run) -> str:
    body, charts = run_body(run)
    last = run.last(run.main)
    when = f", last scores at {text(_minute(last.time))}" if last and last.time else ""
    return page(run.name, f"Run in <code>{text(run.path)}</code>{when}", body, charts)


def _minute(time: str) -> str:
    """Give a time as people write it; as it is where it is none.

    >>> _minute("2026-11-30T02:08:31.417+00:00")
    '2026-11-30 02:08 UTC'
    """
    try:
        found = datetime.fromisoformat(time)
    except ValueError:
        return time
    return f"{found.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _several(runs: Sequence[Run]) -> str:
    body, charts = runs_body(label_runs(runs))
    named = ", ".join(text(label) for label, _ in label_runs(runs))
    return page(f"{len(runs)} runs compared", named, body, charts)
