"""How the windowed scores of all nodes went, sampled together."""

from collections.abc import Mapping, Sequence

import numpy as np

from anabranch.protocol import Array, NodeId
from pipelines.live.records import NodeNow
from pipelines.live.series import Series

__all__ = ["NodeHistory"]

_POINTS = 120


class NodeHistory:
    """Scores of every node at the same few moments, as float32.

    A thousand nodes with four metrics take 2 MB.
    """

    def __init__(self) -> None:
        self._at: dict[NodeId, int] = {}
        self._metrics: tuple[str, ...] = ()
        self._frames: Series[Array] = Series(_POINTS)

    def add(self, x: float, nodes: Mapping[NodeId, NodeNow], metrics: Sequence[str]) -> None:
        """Note all nodes as they are at `x`, samples or rounds; other metrics begin anew."""
        if tuple(metrics) != self._metrics:
            self._metrics, self._frames = tuple(metrics), Series(_POINTS)
        for name in nodes:
            self._at.setdefault(name, len(self._at))
        frame = np.full((len(self._at), len(metrics)), np.nan, dtype=np.float32)
        for name, node in nodes.items():
            if node.window:
                frame[self._at[name]] = [node.window.get(metric, np.nan) for metric in metrics]
        self._frames.add(x, frame)

    def curve(self, node: NodeId) -> dict[str, list[float | None]]:
        """Give a node's curve: "x", and one column a metric, None where there was no score."""
        at = self._at.get(node)
        points = [] if at is None else [(x, f[at]) for x, f in self._frames.points() if at < len(f)]
        found: dict[str, list[float | None]] = {"x": [x for x, _ in points]}
        for i, metric in enumerate(self._metrics):
            values = (float(row[i]) for _, row in points)
            found[metric] = [None if np.isnan(value) else round(value, 6) for value in values]
        return found
