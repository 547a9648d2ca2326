"""The node in asynchronous time: it never waits for anyone."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from bytewax.operators import StatefulBatchLogic
from typing_extensions import override

from anabranch.protocol import Message, NodeId
from anabranch.stream import End, Share
from operators.ears import Ears
from operators.gossip import Gossip, ends_for_joiners, with_news
from operators.items import Ack, Done, Outgoing, Parcel
from operators.node_core import Event, NodeCore
from operators.node_plan import NodePlan, reports_at
from operators.schema import SCHEMA
from operators.silence import Silence

__all__ = ["AsynchronousNode"]

Incoming = Share | End | Parcel


class AsynchronousNode(StatefulBatchLogic[Incoming, Event, dict[str, Any]]):
    """Learn what arrives, then exchange with whoever was heard lately.

    With R rounds a tick, up to R - 1 exchanges follow, each when a neighbour has spoken since the
    last, until the next tick comes: to exchange again with nothing heard would only add delay.

    A neighbour silent for `stale_after` is left out and taken back when it speaks again.
    A node without samples exchanges every `idle_every`. When all partitions have ended, and
    every other site has or is silent too, a node speaks, goes on for diameter + final rounds,
    each as soon as its live neighbours have spoken, then says that it is done: its last
    parameters stand for good. A neighbour never heard is awaited there as one just heard.

    Other sites read the newest parcel only, so what goes there must stand on its own: where
    sites are, a node whose parameters have not moved speaks in full twice every `stale_after`.

    Where the network has changed, the newest holds as soon as the job goes on: who is not in it
    leaves at once, and who joins takes the ticks that are still to be read.
    """

    def __init__(self, plan: NodePlan, node: NodeId, state: dict[str, Any] | None) -> None:
        self.core = NodeCore(plan, node, state["core"] if state else None)
        self.ears = Ears.of(self.core.neighbours)
        self.silence = Silence(node, self.ears)
        self.gossip = Gossip.of(plan, node, state)
        self.plan = plan
        self.feeds = plan.feeds(node)
        self.round = 0
        self.done = self.left = False
        self.waiting = False
        self.learned: dict[str, int] = {}
        self.ends: dict[str, int] = {}
        self.heard: dict[NodeId, Message] = {}
        self.heard_at = dict.fromkeys(self.core.neighbours, datetime.now(UTC))
        self.news: set[NodeId] = set()
        self._unread: set[NodeId] = set()
        self._quiet: set[NodeId] = set()
        """Who has had nothing to say since what it said last, which is unread."""
        self.owed = 0
        self.finished: set[NodeId] = set()
        self.closing = plan.weights.graph.diameter + plan.final_rounds + 1
        self.remaining = self.closing
        self.exchanged_at = datetime.now(UTC)
        self.spoke_at = datetime.min.replace(tzinfo=UTC)
        self._rebuilt = self._took_part = state is not None
        self._told: dict[str, int] = {}
        if state:
            self._restore(state)

    @override
    def on_batch(self, values: list[Incoming]) -> tuple[Iterable[Event], bool]:
        events: list[Event] = []
        for value in values:
            if isinstance(value, Parcel):
                self._receive(value)
            elif isinstance(value, Share):
                events.extend(self._learn(value))
            else:
                self.ends[value.partition] = value.last_tick
        if self._leaves():
            return self._leave(), self.RETAIN
        if self._all_learned():
            self.gossip.end(max(self.ends.values(), default=-1))
        while self._ended() and self._all_live_spoke():
            events.extend(self._wind_down())
        if self.owed and self.news and not self.done:
            self.owed -= 1
            events.extend(self._exchange())
        return events, self.RETAIN

    def _receive(self, parcel: Parcel) -> None:
        self.ears.hear(parcel.sender, parcel.message)
        if parcel.news:
            self.gossip.hear(parcel.news)
        if parcel.ends is not None:
            self.ends |= parcel.ends
        if parcel.round < 0:
            return
        self.heard_at[parcel.sender] = datetime.now(UTC)
        self.news.add(parcel.sender)
        if parcel.last:
            self.finished.add(parcel.sender)
        if parcel.message is not None:
            self.heard[parcel.sender] = parcel.message
            self._unread.add(parcel.sender)
            self._quiet.discard(parcel.sender)
        elif not parcel.unchanged and parcel.sender in self._unread:
            self._quiet.add(parcel.sender)
        elif not parcel.unchanged:
            self.heard.pop(parcel.sender, None)

    def _learn(self, share: Share) -> list[Event]:
        if share.tick <= self._last(share.partition):
            return []
        self.learned[share.partition] = share.tick
        events = self.core.learn(self.round, [share])
        if len(share.y):
            events.extend(self._exchange())
        self.owed = self.plan.rounds_per_tick - 1
        if (share.tick + 1) % self.plan.ack_every == 0:
            events.append(Ack(self.core.node, share.tick, share.partition))
        return events

    def _last(self, part: str) -> int:
        return self.learned.get(part, self.plan.before(part))

    def _send(self, must: bool = False) -> list[Event]:
        now = datetime.now(UTC)
        if self.plan.elsewhere and now >= self.spoke_at + self.plan.stale_after / 2:
            must = True
        sent = self.core.send(self.round, must)
        if not any(isinstance(o, Outgoing) and o.parcel.unchanged for o in sent):
            self.spoke_at = now
        return with_news(sent, self.gossip.beat(self.round))

    def _exchange(self) -> list[Event]:
        events: list[Event] = []
        inbox: dict[NodeId, Message] = {}
        if self.plan.policy.exchanges(self.round):
            events.extend(self._send())
            inbox = self._read()
        events.extend(self.core.combine(self.round, inbox))
        if reports_at(self.round, self.plan.report_every):
            events.extend(self.core.reports(self.round, final=False))
        self.round += 1
        self.news.clear()
        self.exchanged_at = datetime.now(UTC)
        return events

    def _read(self) -> dict[NodeId, Message]:
        """Give what the neighbours said last; what somebody said and is over is given once."""
        inbox = {n: self.heard[n] for n in self._live() if n in self.heard}
        self.heard = {n: self.heard[n] for n in self.heard if n not in self._quiet}
        self._unread, self._quiet = set(), set()
        return inbox

    def _live(self) -> list[NodeId]:
        oldest = datetime.now(UTC) - self.plan.stale_after
        live = [n for n in self.core.neighbours if n in self.finished or self.heard_at[n] > oldest]
        self.silence.note(live)
        return live

    def _ended(self) -> bool:
        """Tell whether nothing more is to come, here or from a site that lives."""
        if self.done or not self._all_learned():
            return False
        return not self.gossip.awaits(datetime.now(UTC) - self.plan.stale_after)

    def _all_learned(self) -> bool:
        here = self.plan.ended(self.ends)
        return here and all(self._learned_all(part) for part in self.feeds)

    def _learned_all(self, part: str) -> bool:
        """Tell whether the ticks of an ended partition are done with that came here.

        Where the network has changed, it may have ended before any did.
        """
        none_came = self.plan.eras is not None and part not in self.learned
        return none_came or self._last(part) >= self.ends[part]

    def _leaves(self) -> bool:
        return not (self.done or self.plan.present(self.core.node, self.round))

    def _leave(self) -> list[Event]:
        """Give scores and model of a node that is not in the network any more."""
        self.done = self.left = True
        words = self.core.leaving(self.round - 1) if self._took_part else []
        return [*words, Done(self.core.node)]

    def parting(self) -> list[Event]:
        """Give the last words of a node whose job was told to stop."""
        return self.core.parting(self.round - 1)

    def _all_live_spoke(self) -> bool:
        spoke = (self.news | self.finished).issuperset(self._live())
        return spoke or self.remaining == self.closing

    def _wind_down(self) -> list[Event]:
        if self.remaining > 0:
            self.remaining -= 1
            return self._exchange()
        self.done = True
        return [
            *self._last_words(),
            *self.core.reports(self.round - 1, final=True),
            *self.core.final(self.round - 1),
            Done(self.core.node),
        ]

    def _last_words(self) -> list[Event]:
        return [
            replace(o, parcel=replace(o.parcel, last=True))
            for o in self._send(must=bool(self.plan.elsewhere))
            if isinstance(o, Outgoing)
        ]

    @override
    def notify_at(self) -> datetime | None:
        if self._rebuilt:
            return datetime.now(UTC)
        return self.exchanged_at + self.plan.idle_every

    @override
    def on_notify(self) -> tuple[Iterable[Event], bool]:
        events: list[Event] = []
        if self._rebuilt:
            self._rebuilt = False
            events.extend(Ack(self.core.node, tick, part) for part, tick in self.learned.items())
            events.extend(ends_for_joiners(self.plan, self.core.node, self._told))
        if self._leaves():
            events.extend(self._leave())
        elif self.done:
            events.extend([*self._last_words(), Done(self.core.node)])
            self.exchanged_at = datetime.now(UTC)
        elif self._ended():
            events.extend(self._wind_down())
        else:
            events.extend(self._exchange())
        return events, self.RETAIN

    @override
    def snapshot(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "core": self.core.export(),
            "place": (self.round, self.done, self.remaining),
            "learned": dict(self.learned),
            "ends": dict(self.ends),
            "heard": dict(self.heard),
            "finished": sorted(self.finished),
            "sites": self.gossip.export(),
        }

    def _restore(self, state: dict[str, Any]) -> None:
        self.round, self.done, self.remaining = state["place"]
        self.learned = dict(state["learned"])
        self.ends = dict(state["ends"])
        self.heard = dict(state["heard"])
        self.finished = set(state["finished"])
        self._told = dict(state["ends"])
        if self.plan.eras is not None:
            self._go_over()

    def _go_over(self) -> None:
        """Begin with the newest network, which may be another than that of the snapshot."""
        self.left = self.done and not self.plan.present(self.core.node, self.round)
        around = set(self.core.neighbours)
        self.heard = {name: self.heard[name] for name in self.heard if name in around}
        self.finished &= around
        self.learned = {part: self.learned[part] for part in self.learned if part in self.feeds}
        self.core.speaker.forget()
        self.remaining = self.closing
