"""A running job for those who look at it: gathered every second, told to whoever watches."""

from collections.abc import Generator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from anabranch.protocol import NodeId
from pipelines.config import Job
from pipelines.health import Verdict
from pipelines.live import frames
from pipelines.live.channel import Channel, Channels, event
from pipelines.live.node_frames import node_curves, node_now
from pipelines.live.node_history import NodeHistory
from pipelines.live.picture import Picture, PictureOf
from pipelines.live.score_curves import ScoreCurves, shown_scores
from pipelines.live.series import Series
from pipelines.live.snapshot import Snapshot, Status, take
from pipelines.report.drift import Drift, read_drift
from pipelines.report.rows import is_bigger_better
from pipelines.run_dir import RunDirectory

__all__ = ["OVERVIEW", "LiveJob"]

OVERVIEW = ""
"""The page that is of no node."""
_WORST = 5
_FLOW = 300
_BEAT = 10.0
"""Seconds without news after which a viewer is sent an empty line, so that lost ones are found."""


class _Flow(NamedTuple):
    rate: float
    lag: int | None


class LiveJob:
    """Keeps the history of a job in bounded memory, and what pages are told of it.

    Parameters
    ----------
    job : what is run
    run_dir : where its processes write how they are
    """

    def __init__(self, job: Job, run_dir: RunDirectory) -> None:
        self._job, self._run_dir = job, run_dir
        self.by_rounds = job.job.kind == "batch"
        self.channels = Channels()
        self._picture = PictureOf(job.network, run_dir.networks)
        self._curves = ScoreCurves(run_dir.scores, by_rounds=self.by_rounds)
        self._history = NodeHistory()
        self._flow: Series[_Flow] = Series(_FLOW)
        self._drifts: list[Drift] = []
        self._drift_size = 0
        self._last: tuple[Snapshot, Sequence[str], Verdict] | None = None

    @property
    def nodes(self) -> frozenset[NodeId]:
        """The nodes of the newest network."""
        return frozenset(self._picture.drawing().names)

    def update(self, statuses: Sequence[Status], verdict: Verdict) -> None:
        """Gather how the job is, and tell it to the pages that somebody looks at."""
        snapshot = take(self._run_dir, self._job.parallel.processes, statuses)
        self._curves.update()
        self._read_drifts()
        metrics = self._metrics(snapshot)
        if snapshot.nodes:
            x = snapshot.rounds if self.by_rounds else snapshot.samples
            self._history.add(float(x), snapshot.nodes, metrics)
        if statuses:
            told = frames.figures(snapshot, self._curves)
            self._flow.add(snapshot.time, _Flow(told["rate"], told["lag"]))
        self._last = snapshot, metrics, verdict
        for page, channel in self.channels.watched().items():
            self._tell(page, channel, *self._last)

    def close(self) -> None:
        """Say how the job was and that it has ended, and let the viewers go."""
        for page, channel in self.channels.watched().items():
            if self._last is not None:  # who has come since was not told
                self._tell(page, channel, *self._last)
            channel.put("ended", b"{}")
        self.channels.close()

    def follow(self, page: str) -> Generator[bytes, None, None]:
        """Give the events of a page, `OVERVIEW` or a node's name, for as long as the job runs."""
        with self.channels.viewed(page) as channel:
            if channel is None:
                yield event("ended" if self.channels.closed else "full", b"{}")
                return
            yield b"retry: 2000\n\n"
            drawn: Picture | None = None
            seen, ended = 0, False
            while not ended:
                if page == OVERVIEW and (picture := self._picture.newest()) is not drawn:
                    drawn = picture
                    yield event("network", picture.told)
                seen, events, ended = channel.take(seen, _BEAT)
                yield b"".join(events) or b":\n\n"

    def _read_drifts(self) -> None:
        """Read the newest drifts again when there are others: a restart may take some back."""
        try:
            size = self._run_dir.drift.stat().st_size
        except OSError:
            size = 0
        if size != self._drift_size:
            self._drift_size = size
            self._drifts = read_drift(self._run_dir.drift)

    def _metrics(self, snapshot: Snapshot) -> list[str]:
        row = self._curves.newest()
        tables: list[Mapping[str, object]] = [shown_scores(row)] if row else []
        tables += [node.window for node in snapshot.nodes.values() if node.window][:1]
        return list(dict.fromkeys(metric for table in tables for metric in table))

    def _tell(
        self,
        page: str,
        channel: Channel,
        snapshot: Snapshot,
        metrics: Sequence[str],
        verdict: Verdict,
    ) -> None:
        drawing, drifts = self._picture.drawing(), self._drifts
        told: dict[str, Any]
        if page == OVERVIEW:
            told = frames.overview(snapshot, drawing, metrics, verdict, self._curves, drifts)
            worst = {name: self._history.curve(name) for name in _worst(snapshot, metrics)}
            curves = frames.curves(self._curves, metrics, worst, drifts)
            channel.put("flow", msgspec.json.encode(self._told_flow()))
        else:
            told = node_now(page, snapshot, drawing, metrics, verdict, drifts)
            curves = node_curves(page, self._history, self._curves, metrics, drifts)
        channel.put("curves", msgspec.json.encode(curves))
        channel.put("now", msgspec.json.encode(told))

    def _told_flow(self) -> dict[str, list[Any]]:
        points = self._flow.points()
        return {
            "time": [round(time, 1) for time, _ in points],
            "rate": [flow.rate for _, flow in points],
            "lag": [flow.lag for _, flow in points],
        }


def _worst(snapshot: Snapshot, metrics: Sequence[str]) -> list[NodeId]:
    """Give the nodes with the worst scores by the first metric, the worst first."""
    metric = next(iter(metrics), "")
    sign = -1.0 if is_bigger_better(metric) else 1.0
    scored = [
        (sign * node.window[metric], name)
        for name, node in snapshot.nodes.items()
        if metric in node.window
    ]
    return [name for _, name in sorted(scored, reverse=True)[:_WORST]]
