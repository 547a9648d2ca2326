"""The picture of a job's network, drawn anew when the network changes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Thread

import msgspec
import numpy as np

from anabranch.protocol import NodeId
from pipelines.config.sections import Network
from pipelines.live.files import has_bokeh
from pipelines.report.layout import MOST_DRAWN, layout
from pipelines.report.networks import Drawing, read_network

__all__ = ["Picture", "PictureOf"]

TARGET = "chart-network"


@dataclass(frozen=True)
class Picture:
    """A network, where its nodes stand, and what a page is told of it, as JSON."""

    drawing: Drawing
    told: bytes
    places: Mapping[NodeId, tuple[float, float]] = field(default_factory=dict)


@dataclass
class PictureOf:
    """Gives the newest network of a job, and its picture.

    Parameters
    ----------
    section : the job's [network]
    networks : the file of the networks that the job has had
    """

    section: Network
    networks: Path
    _drawing: Drawing | None = None
    _stamp: int = -1
    _picture: Picture | None = None
    _lock: Lock = field(default_factory=Lock)

    def drawing(self) -> Drawing:
        """Give the newest network; the file is read again only when it was written again."""
        with self._lock:
            try:
                stamp = self.networks.stat().st_mtime_ns
            except OSError:
                stamp = 0
            if self._drawing is None or stamp != self._stamp:
                self._stamp = stamp
                found = read_network(self.networks, self.section)
                self._drawing = found or Drawing(self.section.names, ())
            return self._drawing

    def newest(self) -> Picture:
        """Give the picture of the newest network, without a chart until that is drawn.

        It is drawn by a thread of its own: a large one takes seconds.
        """
        drawing = self.drawing()
        with self._lock:
            before = self._picture
            if before is None or before.drawing != drawing:
                places = before.places if before else {}
                self._picture = Picture(drawing, _told(drawing, None), places)
                if has_bokeh() and len(drawing.names) <= MOST_DRAWN:
                    thread = Thread(target=self._draw, args=(self._picture,), daemon=True)
                    thread.start()
            assert self._picture is not None
            return self._picture

    def _draw(self, empty: Picture) -> None:
        picture = _drawn(empty.drawing, empty.places)
        with self._lock:
            if self._picture is empty:  # else another network has come meanwhile
                self._picture = picture


def _drawn(drawing: Drawing, before: Mapping[NodeId, tuple[float, float]]) -> Picture:
    from pipelines.report.network_chart import network_chart

    names, edges = drawing.names, drawing.edges
    found = layout(names, edges, before)
    places = {name: (float(x), float(y)) for name, (x, y) in zip(names, found, strict=True)}
    chart = network_chart(TARGET, names, found, edges, np.full(len(names), np.nan), clickable=True)
    return Picture(drawing, _told(drawing, chart.spec()), places)


def _told(drawing: Drawing, chart: object) -> bytes:
    drawn = len(drawing.names) <= MOST_DRAWN
    told = {"names": drawing.names, "edges": drawing.edges, "chart": chart, "drawn": drawn}
    return msgspec.json.encode(told)
