"""One node's learner, companion, scores and counts, whatever kind of time it keeps."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from anabranch.errors import MessageError, SampleError
from anabranch.evaluation import restore_tally, tally_for
from anabranch.exchange import Speaker, wire_size
from anabranch.protocol import Array, Learner, Message, NodeId
from anabranch.simulate import address
from anabranch.stream import RAW_LIMIT, DeadLetter, Predictions, Share
from operators.items import Final, Outgoing, Parcel, Report
from operators.node_plan import COOPERATIVE, LOCAL, POOLED, NodePlan

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
        self.label = POOLED if node == POOLED else COOPERATIVE
        self.speaker = Speaker(plan.policy)
        self.rows = self.messages = self.bytes = 0
        self.silent = False
        self.kept: list[Share] = []
        self.learner: Learner = plan.make(node)
        self.local = plan.make(node) if plan.local and self.neighbours else None
        self.tally = tally_for(plan.task, ranks=plan.ranks, window=self._window())
        self.local_tally = tally_for(plan.task, ranks=plan.ranks, window=plan.window)
        if state is not None:
            self._restore(state)

    def _window(self) -> int:
        """Give the window: the pooled companion's covers as much as all nodes' together."""
        nodes = len(self.plan.weights.graph.nodes) if self.node == POOLED else 1
        return self.plan.window * nodes

    def learn(self, round: int, shares: Sequence[Share]) -> list[Event]:
        """Predict, score, then learn one node's shares, in the order given."""
        events: list[Event] = []
        for share in shares:
            if share.held is not None:
                if share.held.any():
                    self.kept.append(share.rows(share.held))
                share = share.rows(~share.held)
            if len(share.y):
                events.extend(self._learn(round, share))
        return events

    def _learn(self, round: int, share: Share) -> list[Event]:
        try:
            predicted = self._both(share.X, share.y)
        except SampleError as error:
            return self._learn_one_by_one(round, share, error)
        if self.plan.batch:
            self.kept.append(share)
        self.rows += len(share.y)
        wanted = self.plan.predictions and self.node != POOLED
        return [self._predictions(round, share, predicted)] if wanted else []

    def _learn_one_by_one(self, round: int, share: Share, error: SampleError) -> list[Event]:
        if len(share.y) == 1:
            # The sample's own node has told; the pooled companion would tell it twice.
            return [] if self.node == POOLED else [_refused(share, error)]
        one_each = (share.rows(slice(i, i + 1)) for i in range(len(share.y)))
        return [event for single in one_each for event in self._learn(round, single)]

    def _both(self, X: Array, y: Array) -> Array:
        if self.plan.batch:
            self.learner.learn(X, y)
            if self.local is not None:
                self.local.learn(X, y)
            return y
        predicted = self.learner.predict_then_learn(X, y)
        self.tally.add(y, predicted)
        if self.local is not None:
            self.local_tally.add(y, self.local.predict_then_learn(X, y))
        return predicted

    def _predictions(self, round: int, share: Share, predicted: Array) -> Predictions:
        return Predictions(self.node, round, share.partition, share.positions, share.y, predicted)

    def send(self, round: int) -> list[Event]:
        """Give this round's parcels: a message to each neighbour, or the sign of none."""
        if not self.neighbours:
            return []
        if not self.learner.acts(round):
            return [Outgoing(Parcel(self.node, round, None), self.neighbours)]
        if not self.speaker.due(round, self.learner):
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
        if self.local is not None:
            self.local.combine(round, {}, {})
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
        reports = [self._report(round, final, self.label, self.learner, self.tally)]
        if self.local is not None:
            reports.append(self._report(round, final, LOCAL, self.local, self.local_tally))
        return reports

    def _report(self, round: int, final: bool, label: str, learner: Learner, tally: Any) -> Report:
        held = _score(self.plan, learner, [s for s in self.kept if s.held is not None])
        totals, window = tally.totals(), tally.window_totals()
        if self.plan.batch:
            shard = _score(self.plan, learner, [s for s in self.kept if s.held is None])
            totals = window = shard or totals
        counts = (self.messages, self.bytes) if label == COOPERATIVE else (0, 0)
        parameters = learner.parameters().copy() if label == COOPERATIVE else None
        return Report(
            self.node, label, round, self.rows, totals, window, held, parameters, *counts, final
        )

    def parting(self, round: int) -> list[Event]:
        """Give scores and model as they stand when the job is told to stop."""
        reports = [replace(report, drained=True) for report in self.reports(round, final=False)]
        return [*reports, Final(self.node, self.label, self.learner.model())]

    def final(self, round: int) -> list[Event]:
        """Give the model, and what was predicted for the held-back rows."""
        events: list[Event] = [Final(self.node, self.label, self.learner.model())]
        if self.plan.predictions and self.node != POOLED:
            for share in (s for s in self.kept if s.held is not None):
                made = self._predictions(round, share, self.learner.predict(share.X))
                events.append(replace(made, held=True))
        return events

    def export(self) -> dict[str, Any]:
        """Give the state for a snapshot; nothing in it changes afterwards."""
        return {
            "learner": self.learner.export(),
            "local": None if self.local is None else self.local.export(),
            "tally": self.tally.export(),
            "local_tally": self.local_tally.export(),
            "speaker": self.speaker.export(),
            "counts": (self.rows, self.messages, self.bytes, self.silent),
            "kept": list(self.kept),
        }

    def _restore(self, state: dict[str, Any]) -> None:
        self.learner = self.plan.restore(state["learner"])
        if self.local is not None and state["local"] is not None:
            self.local = self.plan.restore(state["local"])
        self.tally = restore_tally(state["tally"])
        self.local_tally = restore_tally(state["local_tally"])
        self.speaker.restore(state["speaker"])
        self.rows, self.messages, self.bytes, self.silent = state["counts"]
        self.kept = list(state["kept"])


def _score(plan: NodePlan, learner: Learner, shares: Iterable[Share]) -> Any:
    shares = list(shares)
    if not shares:
        return None
    tally = tally_for(plan.task, ranks=plan.ranks, window=1)
    for share in shares:
        tally.add(share.y, learner.predict(share.X))
    return tally.totals()


def _refused(share: Share, error: SampleError) -> DeadLetter:
    raw = ",".join(map(repr, share.X[0].tolist())).encode()[:RAW_LIMIT]
    position = int(share.positions[0])
    return DeadLetter("refused", str(error), share.partition, share.partition, position, raw)
