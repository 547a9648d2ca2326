"""One node's learner, companion, scores and counts, whatever kind of time it keeps."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from anabranch.errors import MessageError
from anabranch.exchange import Speaker, wire_size
from anabranch.label_rows import columns_of
from anabranch.protocol import Learner, Message, NodeId
from anabranch.simulate import address
from anabranch.stream import DeadLetter, Share
from operators.items import Final, Outgoing, Parcel, Report
from operators.late_samples import LateSamples
from operators.measures import measures_of
from operators.node_plan import COOPERATIVE, LOCAL, NodePlan
from operators.samples import Samples

__all__ = ["Event", "NodeCore"]

Event = Any
"""One of the items of `operators.items`, `Predictions` or `DeadLetter`."""


class NodeCore:
    """What a node does with its samples and its neighbours' messages.

    Parameters
    ----------
    plan : the job's settings
    node : this node's name
    state : what `export` gave, or None for a fresh node
    """

    def __init__(self, plan: NodePlan, node: NodeId, state: dict[str, Any] | None = None) -> None:
        self.plan = plan
        self.node = node
        self.neighbours = plan.neighbours(node)
        self._weights = plan.weights_of(node)
        self.label = node if node in plan.lone else COOPERATIVE
        self.speaker = Speaker(plan.policy)
        self.messages = self.bytes = 0
        self.silent = False
        self.samples = _samples(plan, node)
        if state is not None:
            self._restore(state)

    @property
    def learner(self) -> Learner:
        """The node's learner."""
        return self.samples.learner

    @property
    def rows(self) -> int:
        """Number of samples learned."""
        return self.samples.rows

    def learn(self, round: int, shares: Sequence[Share]) -> list[Event]:
        """Predict, score, then learn one node's shares, in the order given."""
        return [event for share in shares for event in self.samples.take(round, share)]

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
        begins, self.silent = silent and not self.silent, silent
        if not begins:
            return []
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

    def parting(self, round: int) -> list[Event]:
        """Give scores and model as they stand when the job is told to stop."""
        reports = [replace(report, drained=True) for report in self.reports(round, final=False)]
        return [*reports, *self._model()]

    def final(self, round: int) -> list[Event]:
        """Give the model, what is predicted for rows held back, and rows left without labels."""
        return [*self._model(), *self.samples.last(round)]

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
