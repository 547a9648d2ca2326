"""Drifts that a job has found, and their marks on curves."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from pipelines.config.drift import DriftSection
from pipelines.report.bokeh_parts import Chart
from pipelines.report.markup import MISSING, count, number, table, text

__all__ = ["Drift", "drift_columns", "drift_table", "mark_drift", "over", "read_drift"]

_USUAL = DriftSection()
_MOST = 500
_TAIL = 1_000_000
_NAMED = 3
_SCOPES = {"node": "one node", "neighbourhood": "a neighbourhood", "network": "the whole network"}
_KINDS = {"begin": "begins", "wider": "spreads", "end": "is over"}


class Drift(msgspec.Struct):
    """What was found in a round: which nodes' errors changed, since which round, how far."""

    round: int
    scope: str
    nodes: list[str]
    kind: str = "begin"
    since: int = -1
    time: str = ""
    detector: str = ""
    policy: str = ""
    before: float | None = None
    after: float | None = None

    @property
    def at(self) -> int:
        """The round in which it stands on a curve."""
        return self.since if self.kind == "begin" and self.since >= 0 else self.round

    @property
    def sentence(self) -> str:
        """What happened, in words."""
        named = ", ".join(self.nodes[:_NAMED])
        more = f" and {len(self.nodes) - _NAMED:,} more" if len(self.nodes) > _NAMED else ""
        kind, scope = _KINDS.get(self.kind, self.kind), _SCOPES.get(self.scope, self.scope)
        return f"drift of {scope} {kind}: {named}{more}"

    @property
    def errors(self) -> str:
        """The mean errors of its nodes, in words."""
        when = "when it was over" if self.kind == "end" else "since"
        return f"{number(self.before)} before, {number(self.after)} {when}"


def over(every: int, settle: int) -> str:
    """Say when a drift is over: by three quarters of the rise, as `NodeWatch` has it.

    Parameters
    ----------
    every : drift.every
    settle : drift.settle
    """
    return (
        "A drift is over when the errors of its nodes are down again by three quarters of their "
        f"rise, or have not risen further for drift.settle = {settle:,} means of {every:,} "
        "samples: then they are higher still, but usual by now. So it is when its nodes leave."
    )


def read_drift(path: Path) -> list[Drift]:
    """Read the newest drifts of a run; none where there is no file.

    Lines that cannot be read are passed over.
    """
    found = []
    decoder = msgspec.json.Decoder(Drift)
    for line in _last_lines(path):
        try:
            found.append(decoder.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
    return found[-_MOST:]


def _last_lines(path: Path) -> list[bytes]:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL))
            return file.read().splitlines()
    except OSError:
        return []


def drift_columns(drifts: Sequence[Drift], place: Callable[[int], float]) -> dict[str, list[Any]]:
    """Give the marks as columns: x by `place`, which knows where a round stands."""
    return {"x": [place(drift.at) for drift in drifts], "name": [d.sentence for d in drifts]}


def mark_drift(chart: Chart, drifts: Sequence[Drift], place: Callable[[int], float]) -> None:
    """Draw an upright line on a chart for each drift, spreading, and end."""
    from bokeh.models import ColumnDataSource, HoverTool

    for kind, dash in (("begins", "solid"), ("ends", "dotted")):
        rows = [drift for drift in drifts if (drift.kind == "end") == (kind == "ends")]
        source = ColumnDataSource(drift_columns(rows, place))
        drawn = chart.figure.vspan(
            x="x", source=source, line_width=1.5, line_dash=dash, line_alpha=0.9, level="underlay"
        )
        chart.inks[drawn.glyph.id] = "--drift"
        chart.sources[f"drift {kind}"] = source.id
        chart.figure.add_tools(HoverTool(renderers=[drawn], tooltips=[("", "@name")]))


def drift_table(drifts: Sequence[Drift], section: object) -> str:
    """Give the drifts as a table, the newest first; `section` is the job's [drift]."""
    rows = [
        [
            count(drift.round),
            count(drift.since) if drift.since >= 0 else MISSING,
            text(drift.sentence),
            drift.errors,
            text(" / ".join(part for part in (drift.detector, drift.policy) if part)),
        ]
        for drift in reversed(drifts)
    ]
    head = ["Round", "Since round", "What", "Mean error", "Detector / policy"]
    found = table("Drifts found, the newest first", head, rows, "drifts")
    return f'{found}<p class="note">{text(over(*_lengths(section)))}</p>'


def _lengths(section: object) -> tuple[int, int]:
    """Give drift.every and drift.settle, as they are where the job does not say."""
    said = section if isinstance(section, dict) else {}
    known = [said.get(name, getattr(_USUAL, name)) for name in ("every", "settle")]
    every, settle = (int(n) if isinstance(n, int | float) else 0 for n in known)
    return every, settle
