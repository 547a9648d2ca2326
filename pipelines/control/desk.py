"""Takes up the changes asked for while a job runs, and makes them between two halves of it."""

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace as replaced
from pathlib import Path

from msgspec.structs import replace

from anabranch.errors import ConfigurationError
from anabranch.network import Weights, combination_weights
from pipelines.config import Job
from pipelines.config.learner import learner_class
from pipelines.control.changes import Change, read_change
from pipelines.control.lines import Line, Lines, Position, open_lines
from pipelines.networks import Networks, Place, networks_of
from pipelines.rewiring import check_change, difference, rewired
from pipelines.run_dir import RunDirectory, write_whole
from pipelines.supervise import Interlude

__all__ = ["Desk", "attended"]

_EVERY = 0.5
_AGAIN = 10.0
"""Seconds after which changes are made that could not be written down."""


@contextmanager
def attended(
    job: Job,
    run_dir: RunDirectory,
    partitions: Collection[str],
    say: Callable[[str], None],
    stopped: Callable[[], None],
    warn: Callable[[str], None],
) -> Iterator[Interlude | None]:
    """Take up changes while the context lasts; None where there is no place to ask for them.

    Parameters
    ----------
    say : told of each change once that is heard and made
    stopped : told that the job was stopped for a change, and goes on now
    warn : told why a change is not made, and of whatever is strange

    Raises
    ------
    ConfigurationError
        The place cannot be used.
    """
    lines = open_lines(job, warn)
    if lines is None:
        yield None
        return
    desk = Desk(job, run_dir, lines, partitions, say, warn)

    def act() -> bool:
        goes_on = desk.act()
        if goes_on:
            stopped()
        return goes_on

    try:
        if desk.due():  # asked for while the job did not run
            desk.act()
        yield Interlude(desk.due, act)
    finally:
        lines.close()


class Desk:
    """Reads changes, says what is wrong with those that cannot be made, and makes the others.

    How far they were read is written in one file with the networks they led to, so that none is
    made twice and none is lost, whenever the job dies.

    Parameters
    ----------
    job : what is run
    run_dir : whose networks.json is written
    lines : where changes are asked for
    partitions : all partitions of the job
    say : told of each change once that is heard and made
    warn : told once why a change is not made
    """

    def __init__(
        self,
        job: Job,
        run_dir: RunDirectory,
        lines: Lines,
        partitions: Collection[str],
        say: Callable[[str], None],
        warn: Callable[[str], None],
    ) -> None:
        self._job, self._run_dir, self._lines = job, run_dir, lines
        self._partitions, self._say, self._warn = partitions, say, warn
        self._networks = networks_of(job, run_dir.networks)
        place = self._networks.control
        self._at = Position() if place is None else Position(place.at, place.checksum)
        self._pending: list[Change] = []
        self._wanted = self._networks.newest
        self._next = self._again = 0.0

    def due(self) -> bool:
        """Look for new changes if it is time, and tell whether one waits to be made."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _EVERY
            for line in self._lines.read(self._at):
                self._take(line)
        return bool(self._pending) and time.monotonic() >= self._again

    def act(self) -> bool:
        """Make what waits, while no process runs; tell whether the job is to go on for it."""
        if not self._pending:
            return False
        if self._run_dir.reached_end():
            self._refuse("the job has ended")
            return False
        told = difference(self._networks.newest, self._wanted)
        try:
            made = rewired(self._job, self._networks, self._wanted, self._partitions)
            self._copy_models()
        except ConfigurationError as error:
            self._refuse(str(error))
            return True
        if not self._write(made if told else self._networks):
            self._again = time.monotonic() + _AGAIN
            return True
        self._pending = []
        when = f"; from round {made.eras[-1].round:,} on" if told else "it is as it was"
        self._say(f"network: {told}{when}")
        return True

    def _take(self, line: Line) -> None:
        self._at = line.after
        try:
            change = read_change(line.text)
            wanted = self._changed(change)
        except ConfigurationError as error:
            self._warn(f"{line.place}: no change is made: {error}")
        else:
            self._wanted = wanted
            self._pending.append(change)
            self._say(f"{line.place}: {change}; made between two rounds")
        if not self._pending:
            self._write(self._networks)  # what is told is told once

    def _changed(self, change: Change) -> Weights:
        """Give the network after a change, if it can be had."""
        graph = change.on(self._wanted.graph)
        weights = combination_weights(graph, self._wanted.rule)
        check_change(self._job, self._networks, weights)
        return weights

    def _refuse(self, why: str) -> None:
        for change in self._pending:
            self._warn(f"no change is made ({change}): {why}")
        self._pending, self._wanted = [], self._networks.newest
        self._write(self._networks)

    def _write(self, networks: Networks) -> bool:
        """Write down how things are; a disk that is full for a while must not end the job."""
        place = Place(str(self._job.network.control), *self._at)
        placed = replace(networks, control=place)
        try:
            write_whole(self._run_dir.networks, placed.to_json())
        except OSError as error:
            self._warn(f"{self._run_dir.networks} cannot be written: {error.strerror}")
            return False
        self._networks = placed
        return True

    def _copy_models(self) -> None:
        """Leave the models for the nodes that begin with a neighbour's."""
        wanted = [change for change in self._pending if change.copies]
        if not wanted:
            return
        from anabranch.warm_start import shares_samples

        if shares_samples(learner_class(self._job.learner.kind)):
            for change in wanted:
                self._warn(
                    f"node {change.node!r} begins without the model of {change.others[0]!r}, "
                    "which stands for its samples"
                )
            return
        from pipelines.state.nodes import export_models, node_states
        from pipelines.state.snapshots import Snapshots

        snapshots = Snapshots(Path(str(self._job.recovery.dir)))
        states = {state.node: state for state in node_states(snapshots)}
        for change in wanted:
            found = states.get(change.others[0])
            copied = [] if found is None else [replaced(found, node=change.node)]
            made = list(export_models(copied, self._run_dir.start, {}))
            if not any(one.path for one in made):
                why = "".join(one.trouble for one in made) or "it has none yet"
                self._warn(f"node {change.node!r} begins without {change.others[0]}'s model: {why}")
