"""Last reports of nodes that have left: the network's sums hold what they did."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from anabranch.network import Eras
from anabranch.protocol import NodeId
from operators.items import Report

__all__ = ["EVER", "Departed"]

EVER = sys.maxsize
"""A round after all others."""
_LAST = "last"

Pending = Mapping[tuple[Any, ...], Mapping[NodeId, Report]]


class Departed:
    """Keep the last report of every node that left, by learner.

    In synchronous time a node leaves after its last round, and gives its last report then. In
    asynchronous time it leaves as soon as the job goes on, so the newest report of every node is
    kept: that of a node that has gone counts until it gives its last.

    Parameters
    ----------
    eras : the networks in time; None where nobody ever leaves
    asynchronous : whether the newest network holds at once
    state : what `export` gave, among other things that are passed over
    """

    def __init__(self, eras: Eras | None, asynchronous: bool, state: Pending) -> None:
        self._eras, self._asynchronous = eras, asynchronous
        self._here = frozenset(eras.newest.graph.nodes if eras is not None else ())
        self._last: dict[str, dict[NodeId, Report]] = {}
        for (learner, *rest), reports in state.items():
            if rest == [_LAST]:
                self._last[learner] = dict(reports)
        for reports in state.values():  # older versions kept those that left with what is drained
            self.keep(r for r in reports.values() if r.final and r.drained and not r.present)

    def has_left(self, report: Report) -> bool:
        """Tell whether a node of the network reports that is in it no more."""
        if self._asynchronous and self._eras is not None:
            return report.node in self._eras.nodes and report.node not in self._here
        return not (report.present or report.drained)

    def keep(self, reports: Iterable[Report]) -> None:
        """Keep reports of nodes that left, or may leave at any time."""
        for report in reports:
            kept = replace(report, window={}, held=None, parameters=None, measures=None)
            self._last.setdefault(report.learner, {})[report.node] = kept

    def note(self, reports: Sequence[Report]) -> None:
        """Keep the newest reports of nodes that are there, where they may be gone any time."""
        if self._asynchronous and self._eras is not None:
            self.keep(report for report in reports if report.node in self._here)

    def until(self, learner: str, round: int) -> dict[NodeId, Report]:
        """Give the last reports of those whose last round was at most this one, by name."""
        last = self._last.get(learner, {})
        return {n: last[n] for n in sorted(last) if self._gone(last[n], round)}

    def _gone(self, report: Report, round: int) -> bool:
        if self._asynchronous:
            return report.node not in self._here
        return report.round <= round

    def are_known(self, learner: str, round: int) -> bool:
        """Tell whether all whose last round was at most this one have said their last.

        In asynchronous time they need not, as one that never took part says nothing.
        """
        if self._asynchronous or self._eras is None:
            return True
        known = self._last.get(learner, {})
        ends = ((node, self._eras.last_round(node)) for node in self._eras.nodes)
        return all(node in known for node, end in ends if end is not None and end <= round)

    def export(self) -> dict[tuple[Any, ...], dict[NodeId, Report]]:
        """Give the state as items of a step's own."""
        return {(learner, _LAST): dict(reports) for learner, reports in self._last.items()}
