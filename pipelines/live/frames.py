"""What the overview page is told, as JSON: how all is now, and the curves."""

from collections.abc import Mapping, Sequence
from typing import Any

from anabranch.protocol import NodeId
from pipelines.health import Verdict
from pipelines.live.records import Letter
from pipelines.live.score_curves import ScoreCurves, shown_scores
from pipelines.live.snapshot import Snapshot
from pipelines.report.drift import Drift, drift_columns
from pipelines.report.networks import Drawing
from pipelines.report.rows import is_bigger_better

__all__ = ["curves", "drifting", "figures", "letters", "marks", "overview", "partitions", "short"]

_NEWEST_DRIFTS = 50
_PARTITIONS = 100


def short(value: float | None) -> float | None:
    """Round to what a picture can show; None for what is no finite number.

    >>> short(0.123456), short(float("nan"))
    (0.1235, None)
    """
    if value is None or value - value != 0:
        return None
    return float(f"{value:.4g}")


def figures(snapshot: Snapshot, curves: ScoreCurves) -> dict[str, Any]:
    """Give the key figures of the job; rows of scores have those of nodes that left, too."""
    statuses, row, nodes = snapshot.statuses, curves.newest(), snapshot.nodes.values()
    lags = [p.get("lag") for s in statuses for p in s.get("partitions", {}).values()]
    known = [lag for lag in lags if lag is not None]
    return {
        "samples": snapshot.samples,
        "rate": short(sum(status.get("rate") or 0.0 for status in statuses)),
        "lag": sum(known) if known else None,
        "round": snapshot.rounds,
        "messages": max(sum(node.messages for node in nodes), row.messages if row else 0),
        "bytes": max(sum(node.bytes for node in nodes), row.bytes if row else 0),
        "disagreement": short((row.disagreement or {}).get("mean")) if row else None,
        "dead": sum(status.get("dead") or 0 for status in statuses),
        "memory": sum(status.get("memory") or 0 for status in statuses),
        "alarms": snapshot.alarms,
    }


def drifting(drifts: Sequence[Drift]) -> set[NodeId]:
    """Give the nodes whose drift is not over."""
    found: set[NodeId] = set()
    for drift in drifts:
        found = found - set(drift.nodes) if drift.kind == "end" else found | set(drift.nodes)
    return found


def overview(
    snapshot: Snapshot,
    drawing: Drawing,
    metrics: Sequence[str],
    verdict: Verdict,
    curves: ScoreCurves,
    drifts: Sequence[Drift],
) -> dict[str, Any]:
    """Give how all is now; nodes and edges in the order of the drawing, scores by metric."""
    nodes = [snapshot.nodes.get(name) for name in drawing.names]
    astray = drifting(drifts)
    return {
        "state": verdict.state,
        "reasons": verdict.reasons,
        "known": bool(snapshot.statuses),
        "figures": figures(snapshot, curves),
        "metrics": [[metric, is_bigger_better(metric)] for metric in metrics],
        "scores": {m: [short(node.window.get(m)) if node else None for node in nodes]
                   for m in metrics},
        "samples": [node.samples if node else None for node in nodes],
        "rounds": [node.round if node else None for node in nodes],
        "heard": [_seconds(snapshot.heard(name)) for name in drawing.names],
        "notes": {
            str(i): note
            for i, name in enumerate(drawing.names)
            if (note := _note(name, snapshot, astray))
        },
        **_edges(snapshot, drawing),
        "beside": _beside(curves, metrics),
        "dead": letters(snapshot),
        "partitions": partitions(snapshot),
    }  # fmt: skip


def _note(name: NodeId, snapshot: Snapshot, astray: set[NodeId]) -> str:
    node = snapshot.nodes.get(name)
    diverges = node is not None and node.measures.get("diverging", 0.0) > 0.0
    return ", ".join(["diverges"] * diverges + ["drifts"] * (name in astray))


def _seconds(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


def _edges(snapshot: Snapshot, drawing: Drawing) -> dict[str, Any]:
    """Give each edge's age, that of its quieter direction, and the bytes of both."""
    ages, sizes = [], []
    for a, b in drawing.edges:
        ways = (drawing.names[a], drawing.names[b]), (drawing.names[b], drawing.names[a])
        known = [age for way in ways if (age := snapshot.age(way)) is not None]
        ages.append(_seconds(max(known)) if known else None)
        sizes.append(sum(snapshot.edges[way].bytes for way in ways if way in snapshot.edges))
    return {"ages": ages, "bytes": sizes}


def _beside(curves: ScoreCurves, metrics: Sequence[str]) -> dict[str, list[float | None]]:
    """Give the newest scores of the network and of what runs beside it."""
    rows = {name: curves.newest(name) for name in curves.rows}
    return {
        name: [short(shown_scores(row).get(metric)) for metric in metrics]
        for name, row in rows.items()
        if row is not None
    }


def letters(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Give dead letters by reason, the most frequent first, with examples."""
    ranked = sorted(snapshot.reasons.items(), key=lambda pair: (-pair[1], pair[0]))
    return [
        {
            "reason": reason,
            "count": count,
            "examples": [[_place(one), one.detail] for one in snapshot.examples.get(reason, [])],
        }
        for reason, count in ranked
    ]


def _place(letter: Letter) -> str:
    place = letter.partition or letter.topic
    return f"{place}, record {letter.offset}"


def partitions(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Give the partitions, those with an error or the most lag first; not all of very many."""
    found = [
        {"name": name, **{key: part.get(key) for key in ("offset", "lag", "age", "error")}}
        for status in snapshot.statuses
        for name, part in status.get("partitions", {}).items()
    ]
    found.sort(key=lambda part: (part["error"] is None, -(part["lag"] or 0), part["name"]))
    return found[:_PARTITIONS]


def marks(drifts: Sequence[Drift], curves: ScoreCurves) -> dict[str, Any]:
    """Give the marks of drifts on curves, and the newest drifts in words."""
    ends = [drift for drift in drifts if drift.kind == "end"]
    begins = [drift for drift in drifts if drift.kind != "end"]
    newest = drifts[-_NEWEST_DRIFTS:][::-1]
    return {
        "begins": drift_columns(begins, curves.place),
        "ends": drift_columns(ends, curves.place),
        "told": [[d.round, d.since if d.since >= 0 else None, d.sentence, d.errors]
                 for d in newest],
    }  # fmt: skip


def curves(
    found: ScoreCurves,
    metrics: Sequence[str],
    worst: Mapping[NodeId, Mapping[str, list[float | None]]],
    drifts: Sequence[Drift],
) -> dict[str, Any]:
    """Give the curves of the network, of what runs beside it, and of the worst nodes."""
    lines: dict[str, Any] = {}
    apart: dict[str, Any] = {}
    for name, rows in found.rows.items():
        x = [found.at(row) for row in rows]
        tables = [shown_scores(row) for row in rows]
        lines[name] = {"x": x, **{m: [short(t.get(m)) for t in tables] for m in metrics}}
        gaps = [short((row.disagreement or {}).get("mean")) or None for row in rows]
        if any(gap is not None for gap in gaps):
            apart[name] = {"x": x, "mean": gaps}
    return {"lines": lines, "worst": worst, "disagreement": apart, "marks": marks(drifts, found)}
