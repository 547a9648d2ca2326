"""What a node's own page is told, as JSON."""

from collections.abc import Sequence
from typing import Any

from anabranch.protocol import NodeId
from pipelines.config.measures import MEANINGS
from pipelines.health import Verdict
from pipelines.live.frames import drifting, marks, short
from pipelines.live.node_history import NodeHistory
from pipelines.live.score_curves import ScoreCurves, shown_scores
from pipelines.live.snapshot import Snapshot
from pipelines.report.drift import Drift
from pipelines.report.networks import Drawing
from pipelines.report.rows import is_bigger_better

__all__ = ["node_curves", "node_now"]


def node_now(
    name: NodeId,
    snapshot: Snapshot,
    drawing: Drawing,
    metrics: Sequence[str],
    verdict: Verdict,
    drifts: Sequence[Drift],
) -> dict[str, Any]:
    """Give how a node is now, and what passes between it and its neighbours."""
    node = snapshot.nodes.get(name)
    heard = snapshot.heard(name)
    known = node is not None
    return {
        "state": verdict.state,
        "reasons": verdict.reasons,
        "known": known,
        "here": name in drawing.names,
        "drifts": name in drifting(drifts),
        "figures": {
            "samples": node.samples if node else None,
            "round": node.round if node else None,
            "messages": node.messages if node else None,
            "bytes": node.bytes if node else None,
            "heard": None if heard is None else round(heard, 1),
        },
        "metrics": [[metric, is_bigger_better(metric)] for metric in metrics],
        "window": {m: short(node.window.get(m)) for m in metrics} if node else {},
        "measures": {k: short(v) for k, v in sorted(node.measures.items())} if node else {},
        "meanings": {k: MEANINGS[k] for k in node.measures if k in MEANINGS} if node else {},
        "neighbours": _neighbours(name, snapshot, drawing, metrics) if known else [],
    }


def _neighbours(
    name: NodeId, snapshot: Snapshot, drawing: Drawing, metrics: Sequence[str]
) -> list[list[Any]]:
    """Give name, scores by metric, seconds since it was heard, messages and bytes from it."""
    at = drawing.names.index(name) if name in drawing.names else -1
    found = sorted({drawing.names[b if a == at else a] for a, b in drawing.edges if at in (a, b)})
    rows = []
    for other in found:
        node, edge = snapshot.nodes.get(other), snapshot.edges.get((other, name))
        age = snapshot.age((other, name))
        scores = {m: short(node.window.get(m)) if node else None for m in metrics}
        told = [edge.messages, edge.bytes] if edge else [None, None]
        rows.append([other, scores, None if age is None else round(age, 1), *told])
    return rows


def node_curves(
    name: NodeId,
    history: NodeHistory,
    curves: ScoreCurves,
    metrics: Sequence[str],
    drifts: Sequence[Drift],
) -> dict[str, Any]:
    """Give the node's curve beside the network's, and the drifts that it took part in."""
    rows = curves.rows.get("cooperative", [])
    network = {"x": [curves.at(row) for row in rows]} | {
        metric: [short(shown_scores(row).get(metric)) for row in rows] for metric in metrics
    }
    mine = [drift for drift in drifts if name in drift.nodes]
    return {
        "lines": {"node": history.curve(name), "network": network},
        "marks": marks(mine, curves),
    }
