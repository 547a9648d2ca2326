"""One node's learner, companion, scores and counts, whatever kind of time it keeps."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from anabranch.errors import MessageError
from anabranch.exchange import Speaker, wire_size
from anabranch.label_rows import columns_of
from anabranch.protocol import Learner, Message, NodeId
from anabranch.simulate import address, join, meet
from anabranch.stream import DeadLetter, Share
from operators.items import Final, Outgoing, Parcel, Report, Told
from operators.late_samples import LateSamples
from operators.measures import measures_of
from operators.node_plan import COOPERATIVE, LOCAL, NodePlan, reports_at
from operators.samples import Samples

__all__ = ["Event", "NodeCore"]

log = logging.getLogger("anabranch.node")

_TOLD = 10
"""Rounds, at most, after which a node says that it has told all of drift."""

Event = Any
"""One of the items of `operators.items`, `Predictions` or `DeadLetter`."""


class NodeCore:
    """What a node does with its samples and its neighbours' messages.

    Parameters
    ----------
    plan : the job's settings
    node : this node's name
    state : what `export` gave, or None for a fresh node
    round : whose network is the node's; its first unless given
    """

    def __init__(
        self,
        plan: NodePlan,
        node: NodeId,
        state: dict[str, Any] | None = None,
        round: int | None = None,
    ) -> None:
        self.plan = plan
        self.node = node
        self.neighbours = plan.neighbours(node, round)
        self._weights = plan.weights_of(node, round)
        self.label = node if node in plan.lone else COOPERATIVE
        self.speaker = Speaker(plan.policy)
        self.messages = self.bytes = 0
        self.silent = False
        self.samples = _samples(plan, node)
        if state is not None:
            self._restore(state)
            self._meet(round)  # in asynchronous time the network may be a new one
        elif plan.joins(node):
            join(self.learner, self.neighbours)

    @property
    def learner(self) -> Learner:
        """The node's learner."""
        return self.samples.learner

    @property
    def rows(self) -> int:
        """Number of samples learned."""
        return self.samples.rows

    def rewire(self, round: int) -> None:
        """Take the neighbours of the network that begins in a round; new ones are to be told."""
        before = self.neighbours
        self.neighbours = self.plan.neighbours(self.node, round)
        self._weights = self.plan.weights_of(self.node, round)
        self._meet(round)
        if self.neighbours != before:
            self.speaker.forget()

    def _meet(self, round: int | None) -> None:
        """Tell the learner of its neighbours; who has left keeps what it knows."""
        if self.plan.present(self.node, self.plan.begins_at(self.node) if round is None else round):
            meet(self.learner, self.neighbours)

    def learn(self, round: int, shares: Sequence[Share]) -> list[Event]:
        """Predict, score, then learn one node's shares, in the order given; react to drift."""
        events: list[Event] = []
        for share in shares:
            events.extend(self.samples.take(round, share))
        if self.samples.watch is not None:
            events.extend(self.samples.watch.close(round, self.learner))
        return events

    def send(self, round: int, must: bool = False) -> list[Event]:
        """Give this round's parcels: a message to each neighbour, or the sign of none.

        `must`: speak even where the parameters have not moved.
        """
        if not self.neighbours:
            return []
        if not self.learner.acts(round):
            return [Outgoing(Parcel(self.node, round, None), self.neighbours)]
        if not (self.speaker.due(round, self.learner) or must):
            return [Outgoing(Parcel(self.node, round, None, True), self.neighbours)]
        letters = address(self.learner, round, self.neighbours)
        parcels = self._parcels(round, letters)
        left_out = tuple(n for n in self.neighbours if n not in letters)
        if left_out:
            parcels.append(Outgoing(Parcel(self.node, round, None), left_out))
        return parcels + self._notice_silence(round, not letters)

    def _notice_silence(self, round: int, silent: bool) -> list[Event]:
        """Say once that this node has nothing fit to be sent."""
        before, self.silent = self.silent, silent
        where = {"node": self.node, "round": round}
        if before and not silent:
            log.info("node %r has parameters to send again", self.node, extra=where)
        if before or not silent:
            return []
        log.error("node %r diverged: it has nothing fit to be sent", self.node, extra=where)
        detail = f"node {self.node!r} sends nothing from round {round} on: its parameters diverged"
        return [DeadLetter("diverged", detail, self.node, self.node, round, b"")]

    def _parcels(self, round: int, letters: dict[NodeId, Message]) -> list[Event]:
        groups: dict[int, tuple[Message, list[NodeId]]] = {}
        for receiver, message in letters.items():
            groups.setdefault(id(message), (message, []))[1].append(receiver)
        for message, receivers in groups.values():
            self.messages += len(receivers)
            self.bytes += len(receivers) * wire_size(message)
        return [Outgoing(Parcel(self.node, round, m), tuple(to)) for m, to in groups.values()]

    def combine(self, round: int, inbox: dict[NodeId, Message]) -> list[Event]:
        """Take in the neighbours' messages; the local companion hears nobody.

        A message that the learner refuses becomes a dead letter, and its sender silent.
        """
        refused: list[Event] = []
        try:
            self.learner.combine(round, inbox, self._weights)
        except MessageError:
            fit = {n: m for n, m in inbox.items() if self._accepts(round, n, m, refused)}
            self.learner.combine(round, fit, self._weights)
        if self.samples.local is not None:
            self.samples.local.combine(round, {}, {})
        return refused

    def _accepts(self, round: int, sender: NodeId, message: Message, refused: list[Event]) -> bool:
        try:
            self.learner.check_message(message)
        except MessageError as error:
            where = {"node": self.node, "round": round}
            told = logging.getLogger("anabranch.exchange")
            told.warning("message of %r refused: %s", sender, error, extra=where)
            detail = f"from {sender!r} to {self.node!r} in round {round}: {error}"
            refused.append(DeadLetter("refused_message", detail, sender, sender, round, b""))
            return False
        return True

    def reports(self, round: int, final: bool) -> list[Event]:
        """Give the scores so far, of the node and of its companion."""
        own = self.samples
        reports = [self._report(round, final, self.label, own.learner, own.tally)]
        if own.local is not None:
            reports.append(self._report(round, final, LOCAL, own.local, own.local_tally))
        return reports

    def _report(self, round: int, final: bool, label: str, learner: Learner, tally: Any) -> Report:
        held = self.samples.score(learner, held=True)
        totals, window = tally.totals(), tally.window_totals()
        if self.plan.batch:
            totals = window = self.samples.score(learner, held=False) or totals
        counts = (self.messages, self.bytes) if label == COOPERATIVE else (0, 0)
        parameters = learner.parameters().copy() if label == COOPERATIVE else None
        return Report(
            self.node, label, round, self.rows, totals, window, held, parameters, *counts, final,
            measures=measures_of(learner), labels=columns_of(learner, None),
        )  # fmt: skip

    def parting(self, round: int, present: bool = True) -> list[Event]:
        """Give scores and model as they stand when the job is told to stop.

        A node that is not `present` yet gives its reports alone, for whoever counts them.
        """
        reports = [
            replace(report, drained=True, present=present)
            for report in self.reports(round, final=False)
        ]
        return [*reports, *(self._model() if present else ()), *self.told(round)]

    def leaving(self, round: int) -> list[Event]:
        """Give scores and model of a node that leaves the network after a round."""
        where = {"node": self.node, "round": round}
        log.info("node %r leaves the network after round %d", self.node, round, extra=where)
        reports = [replace(report, present=False) for report in self.reports(round, final=True)]
        drift = [] if self.samples.watch is None else self.samples.watch.leave(round)
        return [*reports, *drift, *self.final(round)]

    def due(self, round: int) -> list[Event]:
        """Give what a node says after a round of some: its scores, that it has told all."""
        every = self.plan.report_every
        scores = self.reports(round, final=False) if reports_at(round, every) else []
        return [*scores, *(self.told(round) if reports_at(round, min(every, _TOLD)) else ())]

    def told(self, round: int) -> list[Event]:
        """Say that all of drift up to a round is told, where the verdict waits for that.

        A node that is rebuilt says it again: an older version's snapshot of the verdict has none.
        """
        if self.samples.watch is None or self.plan.mode == "asynchronous":
            return []
        return [Told(self.node, round)]

    def final(self, round: int) -> list[Event]:
        """Give the model, what is predicted for rows held back, and rows left without labels."""
        return [*self._model(), *self.samples.last(round), *self.told(round)]

    def _model(self) -> list[Event]:
        lone = self.plan.lone.get(self.node)
        if lone is not None and not lone.saved:
            return []
        return [Final(self.node, self.label, self.learner.model())]

    def export(self) -> dict[str, Any]:
        """Give the state for a snapshot; nothing in it changes afterwards."""
        return {
            **self.samples.export(),
            "speaker": self.speaker.export(),
            "counts": (self.rows, self.messages, self.bytes, self.silent),
        }

    def _restore(self, state: dict[str, Any]) -> None:
        self.samples.restore(state)
        self.speaker.restore(state["speaker"])
        self.samples.rows, self.messages, self.bytes, self.silent = state["counts"]


def _samples(plan: NodePlan, node: NodeId) -> Samples:
    return Samples(plan, node) if plan.late is None else LateSamples(plan, node, *plan.late)
