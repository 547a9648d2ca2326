"""Is a job well? Green while it makes progress or its source is truly idle."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from anabranch.reasons import NO_BAD_RECORD
from pipelines.config import Job
from pipelines.live.records import EdgeNow, Now
from pipelines.restart import Restart

__all__ = ["Health", "Verdict"]

LOST_AFTER = 10.0
"""Seconds without a word after which a process is taken for lost."""
STUCK_AFTER = 20.0
"""Seconds without progress after which a job is not well."""
WRONG_AFTER = 10.0
"""Seconds with an error after which a job is not well."""
STARTED_AFTER = 90.0
"""Seconds in which a process may stand still after its start: kernels may have to be compiled."""
SLOW_AFTER = 60.0
"""Seconds without progress that are told of a source that does not say how much it has left."""
_MANY_DEAD, _MOST_DEAD = 0.1, 0.5
_FEWER = 0.8
"""Part of such a share below which it is over: at the limit health would change all the time."""
_DEAD_OVER, _REFUSED_OVER = 30.0, 60.0
"""Seconds over which dead letters and refused messages are counted."""
_LEAST_DEAD = 10
"""Bad records in that time that are told of: one on a topic that is nearly idle is no news."""
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
    Red within 30 s: a process is not heard of, or died, until all make progress again; a
    partition or an output reports an error; a partition stands still with records to read; a
    site is silent that nodes wait for (synchronous); a node's parameters are not finite. Red,
    too: most records become dead letters. Yellow: many do; a site or a neighbour is silent
    (asynchronous); messages are refused; a node diverges and is damped; a source that is not a
    topic has given nothing for a minute.
    """

    job: Job
    _since: dict[str, float] = field(default_factory=dict)
    _places: dict[str, tuple[int, float]] = field(default_factory=dict)
    _counts: list[tuple[float, int, int, int]] = field(default_factory=list)
    _restart: Restart | None = None
    _bad_input: State = "green"

    def lost(self, reason: str, now: float, *, planned: bool = False) -> None:
        """Take note that all processes are started again: red until they get on, or yellow."""
        self._restart = Restart(reason, now, planned, self.job.parallel.processes)

    def judge(self, statuses: Sequence[Status], now: float, nows: Sequence[Now] = ()) -> Verdict:
        """Judge by the newest statuses.

        Parameters
        ----------
        statuses : what the processes wrote last
        now : by time.monotonic, which all processes of a machine share: clocks are set back
        nows : their edges; needed in asynchronous time only
        """
        found = [*self._restarts(statuses, now), *self._neighbours(statuses, nows)]
        rules = (
            self._processes, self._partitions, self._progress, self._outputs, self._sites,
            self._nodes, self._refusals,
        )  # fmt: skip
        found += [one for rule in rules for one in rule(statuses, now)]
        worst: State = "green"
        for state, _ in found:
            worst = "red" if "red" in (state, worst) else "yellow"
        reasons = sorted(found, key=lambda one: one[0])  # red before yellow
        return Verdict(worst, tuple(reason for _, reason in reasons))

    def _restarts(self, statuses: Sequence[Status], now: float) -> Found:
        restart = self._restart
        if restart is None:
            return
        if restart.is_over(statuses, idle=self._is_idle(statuses)):
            self._restart = None
            return
        state: State = "yellow" if restart.planned and restart.age(now) < STARTED_AFTER else "red"
        yield state, f"{restart.reason}; started again, and no progress yet"

    def _processes(self, statuses: Sequence[Status], now: float) -> Found:
        count = self.job.parallel.processes
        begun = now - self._since.setdefault("", now)
        if len(statuses) < count:
            state: State = "red" if begun > STARTED_AFTER else "yellow"
            yield state, f"{count - len(statuses)} of {count} processes have yet to start"
        for status in statuses:
            silent = now - status["clock"]
            ended = self._restart is not None and self._restart.is_before(status)
            if silent > LOST_AFTER and not ended:
                yield "red", f"process {status['process']} has not been heard of for {silent:.0f} s"

    def _partitions(self, statuses: Sequence[Status], now: float) -> Found:
        enough = self._tick()
        patience = STUCK_AFTER if all(map(_has_started, statuses)) else STARTED_AFTER
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

    def _tick(self) -> int:
        """Give how many records must be there for something to be done with them."""
        synchronous = self.job.exchange.mode == "synchronous"
        return self.job.source.rows_per_tick if synchronous else 1

    def _is_idle(self, statuses: Sequence[Status]) -> bool:
        """Tell whether the source is known to have nothing to read."""
        parts = _merged(statuses, "partitions").values()
        lags = [part["lag"] for part in parts if part["error"] is None]
        known = len(lags) == len(parts) > 0
        return known and all(lag is not None and lag < self._tick() for lag in lags)

    def _progress(self, statuses: Sequence[Status], now: float) -> Found:
        """Watch rounds and samples where no lag tells what is left to be done."""
        source = self.job.source
        if source.kind == "kafka" or source.follow or not statuses:
            return
        done = sum(status.get("samples", 0) + status.get("dead", 0) for status in statuses)
        done += sum(sum(status.get("rounds") or ()) for status in statuses)
        stood = self._stood("", done, now)
        if stood > (SLOW_AFTER if all(map(_has_started, statuses)) else STARTED_AFTER):
            yield "yellow", f"no sample was learned and no round done for {stood:.0f} s"

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
        # In synchronous time a site is silent, too, when nobody has anything to tell.
        awaited = not synchronous or any(status.get("waiting", 1) for status in statuses)
        for site in sorted(others) if statuses else ():
            unheard = now - self._since.setdefault(f"site {site}", now)
            silent = min(
                (known[site]["silent"] for known in heard if site in known), default=unheard
            )
            ended = any(known[site]["ended"] for known in heard if site in known)
            if silent > patience and awaited and not ended:
                state: State = "red" if synchronous else "yellow"
                yield state, f"site {site} has been silent for {silent:.0f} s"

    def _neighbours(self, statuses: Sequence[Status], nows: Sequence[Now]) -> Found:
        """Watch the edges in asynchronous time, where a node speaks even if it has no samples."""
        exchange, here = self.job.exchange, frozenset(self.job.hosted)
        if exchange.mode == "synchronous" or any(status.get("draining") for status in statuses):
            return
        # Of the exchanges of an idle node, only every so many-th is spoken.
        spoken = exchange.idle_every * exchange.every
        patience = max(STUCK_AFTER, 2 * exchange.stale_after, 4 * spoken)
        ages = {status["process"]: status.get("seconds", 0.0) for status in statuses}
        silent = [
            (age, edge)
            for told in nows
            for edge, age in _ages(told, ages.get(told.process, 0.0))
            if age > patience and edge.sender in here
        ]
        if silent:
            age, edge = max(silent, key=lambda one: one[0])
            more = f", and {len(silent) - 1:,} edges more are silent" if len(silent) > 1 else ""
            who = f"node {edge.receiver!r} has not heard {edge.sender!r}"
            yield "yellow", f"{who} for {age:.0f} s{more}"

    def _refusals(self, statuses: Sequence[Status], now: float) -> Found:
        totals = (
            sum(status.get("samples", 0) for status in statuses),
            sum(map(_bad_records, statuses)),
            sum(sum(status.get("refused", {}).values()) for status in statuses),
        )
        kept = [known for known in self._counts if now - known[0] < _REFUSED_OVER]
        self._counts = [*kept, (now, *totals)]
        lately = next(known for known in self._counts if now - known[0] < _DEAD_OVER)
        samples, dead = totals[0] - lately[1], totals[1] - lately[2]
        refused = totals[2] - self._counts[0][3]
        if refused > 0:
            # A synchronous node waits for ever for a neighbour whose messages it refuses.
            state: State = "red" if self.job.exchange.mode == "synchronous" else "yellow"
            reasons = sorted(
                {reason for status in statuses for reason in status.get("refused", {})}
            )
            told = f"{refused:,} messages of other nodes were refused in the last minute"
            yield state, f"{told}: {', '.join(reasons)}"
        self._bad_input = _judged(dead, dead + samples, self._bad_input)
        if self._bad_input != "green":
            told = f"{dead:,} of {dead + samples:,} records became dead letters just now"
            yield self._bad_input, told

    def _nodes(self, statuses: Sequence[Status], now: float) -> Found:
        lost = {node for status in statuses for node in status.get("diverged", ())}
        if lost:
            have = "node {} has" if len(lost) == 1 else "nodes {} have"
            yield "red", f"{have.format(_named(lost))} diverged: parameters that are not finite"
        nodes = {node for status in statuses for node in status.get("diverging", ())} - lost
        if nodes:
            are = "node {} diverges" if len(nodes) == 1 else "nodes {} diverge"
            options = self.job.learner.options
            damped = options.get("damped")
            kept = not options.get("literal") if damped is None else damped
            yield "yellow", f"{are.format(_named(nodes))}; {'damped' if kept else 'not damped'}"

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


def _judged(dead: int, records: int, before: State) -> State:
    """Judge a share of dead letters; one that was too large must become clearly smaller.

    >>> _judged(20, 150, "green"), _judged(20, 220, "yellow"), _judged(20, 220, "green")
    ('yellow', 'yellow', 'green')
    """
    if dead < _LEAST_DEAD:
        return "green"
    if dead > records * _MOST_DEAD * (_FEWER if before == "red" else 1.0):
        return "red"
    many = records * _MANY_DEAD * (1.0 if before == "green" else _FEWER)
    return "yellow" if dead > many else "green"


def _ages(told: Now, seconds: float) -> Iterator[tuple[EdgeNow, float]]:
    """Give how long edges of a process have been silent, once it has run for long."""
    for edge in told.edges if seconds > STARTED_AFTER else ():
        yield edge, seconds if edge.age < 0 else edge.age


def _named(nodes: set[str]) -> str:
    more = f" and {len(nodes) - _NAMED:,} more" if len(nodes) > _NAMED else ""
    return ", ".join(map(repr, sorted(nodes)[:_NAMED])) + more


def _has_started(status: Status) -> bool:
    """Tell whether a process has run for long, or has used its kernels already."""
    used = status.get("learned", 0) > 0 and status.get("messages", 0) > 0
    return bool(used or status.get("seconds", 1e9) > STARTED_AFTER)


def _bad_records(status: Status) -> int:
    reasons = status.get("reasons", {})
    left_out = sum(int(reasons.get(reason, 0)) for reason in NO_BAD_RECORD)
    return max(int(status.get("dead", 0)) - left_out, 0)


def _merged(statuses: Sequence[Status], key: str) -> dict[str, dict[str, Any]]:
    return {name: value for status in statuses for name, value in status.get(key, {}).items()}
