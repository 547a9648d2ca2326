"""Is a job well? Green while it makes progress or its source is truly idle."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pipelines.config import Job

__all__ = ["Health", "Verdict"]

LOST_AFTER = 10.0
"""Seconds without a word after which a process is taken for lost."""
STUCK_AFTER = 20.0
"""Seconds without progress after which a job is not well."""
WRONG_AFTER = 10.0
"""Seconds with an error after which a job is not well."""
STARTED_AFTER = 90.0
"""Seconds in which a process may stand still after its start: kernels may have to be compiled."""
_MANY_DEAD = 0.1
_WINDOW = 60.0
_NAMED = 3

State = Literal["green", "yellow", "red"]
Found = Iterator[tuple[State, str]]
Status = Mapping[str, Any]


@dataclass(frozen=True)
class Verdict:
    """How a job is: green, yellow (it runs, but look at it) or red, and why."""

    state: State
    reasons: tuple[str, ...] = ()


@dataclass
class Health:
    """Judge a job by what its processes report, again and again.

    Parameters
    ----------
    job : what is run

    Notes
    -----
    Red within 30 s: a process is not heard of, a partition or an output reports an error, a
    partition stands still with records to read, and (synchronous) a site is silent. Red,
    too: most records become dead letters. Yellow: many do, a site is silent (asynchronous),
    messages are refused, or a node diverges.
    """

    job: Job
    _since: dict[str, float] = field(default_factory=dict)
    _places: dict[str, tuple[int, float]] = field(default_factory=dict)
    _counts: list[tuple[float, int, int, int]] = field(default_factory=list)

    def judge(self, statuses: Sequence[Status], now: float) -> Verdict:
        """Judge by the newest statuses.

        Parameters
        ----------
        statuses : what the processes wrote last
        now : seconds since 1970
        """
        rules = (self._processes, self._partitions, self._outputs, self._sites, self._nodes)
        found = [one for rule in (*rules, self._refusals) for one in rule(statuses, now)]
        worst: State = "green"
        for state, _ in found:
            worst = "red" if "red" in (state, worst) else "yellow"
        reasons = sorted(found, key=lambda one: one[0])  # red before yellow
        return Verdict(worst, tuple(reason for _, reason in reasons))

    def _processes(self, statuses: Sequence[Status], now: float) -> Found:
        missing = self.job.parallel.processes - len(statuses)
        if missing > 0:
            yield (
                "yellow",
                f"{missing} of {self.job.parallel.processes} processes have yet to start",
            )
        for status in statuses:
            silent = now - status["time"]
            if silent > LOST_AFTER:
                yield "red", f"process {status['process']} has not been heard of for {silent:.0f} s"

    def _partitions(self, statuses: Sequence[Status], now: float) -> Found:
        synchronous = self.job.exchange.mode == "synchronous"
        enough = self.job.source.rows_per_tick if synchronous else 1
        started = all(status.get("seconds", 1e9) > STARTED_AFTER for status in statuses)
        patience = STUCK_AFTER if started else STARTED_AFTER
        for name, part in _merged(statuses, "partitions").items():
            if self._lasts(f"partition {name}", part["error"] is not None, now):
                yield "red", f"partition {name} cannot be read: {part['error']}"
            stood = self._stood(name, part["offset"], now)
            lag = part["lag"] or 0
            if lag >= enough and stood > patience and part["error"] is None:
                yield (
                    "red",
                    (
                        f"partition {name} stands at offset {part['offset']} for {stood:.0f} s, "
                        f"{lag:,} records behind"
                    ),
                )

    def _outputs(self, statuses: Sequence[Status], now: float) -> Found:
        for status in statuses:
            for topic, output in status.get("outputs", {}).items():
                key = f"output {topic} of {status['process']}"
                if self._lasts(key, output["error"] is not None, now):
                    yield "red", f"topic {topic} cannot be written: {output['error']}"

    def _sites(self, statuses: Sequence[Status], now: float) -> Found:
        synchronous = self.job.exchange.mode == "synchronous"
        patience = STUCK_AFTER if synchronous else max(STUCK_AFTER, self.job.exchange.stale_after)
        others = set(self.job.sites.nodes) - {self.job.sites.here}
        heard = [status.get("sites", {}) for status in statuses]
        for site in sorted(others) if statuses else ():
            unheard = now - self._since.setdefault(f"site {site}", now)
            silent = min(
                (known[site]["silent"] for known in heard if site in known), default=unheard
            )
            ended = any(known[site]["ended"] for known in heard if site in known)
            if silent > patience and not ended:
                state: State = "red" if synchronous else "yellow"
                yield state, f"site {site} has been silent for {silent:.0f} s"

    def _refusals(self, statuses: Sequence[Status], now: float) -> Found:
        totals = (
            sum(status.get("samples", 0) for status in statuses),
            sum(status.get("dead", 0) for status in statuses),
            sum(sum(status.get("refused", {}).values()) for status in statuses),
        )
        self._counts = [*(c for c in self._counts if now - c[0] < _WINDOW), (now, *totals)]
        samples, dead, refused = (b - a for a, b in zip(self._counts[0][1:], totals, strict=True))
        if refused > 0:
            # A synchronous node waits for ever for a neighbour whose messages it refuses.
            state: State = "red" if self.job.exchange.mode == "synchronous" else "yellow"
            reasons = sorted(
                {reason for status in statuses for reason in status.get("refused", {})}
            )
            yield (
                state,
                (
                    f"{refused:,} messages of other nodes were refused in the last minute: "
                    f"{', '.join(reasons)}"
                ),
            )
        if dead > 0 and dead > _MANY_DEAD * (dead + samples):
            state = "red" if dead > samples else "yellow"
            yield state, f"{dead:,} of {dead + samples:,} records became dead letters just now"

    def _nodes(self, statuses: Sequence[Status], now: float) -> Found:
        nodes = sorted({node for status in statuses for node in status.get("diverging", ())})
        if nodes:
            more = f" and {len(nodes) - _NAMED:,} more" if len(nodes) > _NAMED else ""
            named = ", ".join(map(repr, nodes[:_NAMED])) + more
            are = "node {} diverges" if len(nodes) == 1 else "nodes {} diverge"
            yield "yellow", f"{are.format(named)}; damped"

    def _stood(self, name: str, offset: int, now: float) -> float:
        before, since = self._places.get(name, (None, now))
        if offset != before:
            since = now
        self._places[name] = (offset, since)
        return now - since

    def _lasts(self, key: str, wrong: bool, now: float) -> bool:
        if not wrong:
            self._since.pop(key, None)
            return False
        return now - self._since.setdefault(key, now) >= WRONG_AFTER


def _merged(statuses: Sequence[Status], key: str) -> dict[str, dict[str, Any]]:
    return {name: value for status in statuses for name, value in status.get(key, {}).items()}
