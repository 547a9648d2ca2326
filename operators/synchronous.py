"""The node in synchronous time: rounds in step with ticks, and with the neighbours."""

import sys
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from bytewax.operators import StatefulBatchLogic
from typing_extensions import override

from anabranch.errors import ModelError
from anabranch.protocol import Message, NodeId
from anabranch.stream import End, Share
from operators.ears import Ears
from operators.gossip import Gossip, ends_for_joiners, with_news
from operators.items import Ack, Done, Outgoing, Parcel
from operators.node_core import Event, NodeCore
from operators.node_plan import NodePlan
from operators.owed import Owed
from operators.schema import SCHEMA

__all__ = ["SynchronousNode"]

Incoming = Share | End | Parcel
TURN = 0.1
"""Seconds after which a node lets others of its worker have their turn."""


class SynchronousNode(StatefulBatchLogic[Incoming, Event, dict[str, Any]]):
    """Perform round t when its tick and the neighbours' parcels of round t are here.

    With R rounds a tick, tick t is learned in round t R, and the R - 1 rounds after it have no
    samples. Nothing depends on the order of arrival: shares wait by (tick, partition), parcels by
    (round, sender); parcels of rounds already passed are ignored. A node rebuilt from a
    snapshot sends its last two broadcasts again, since neighbours, rebuilt from the same
    snapshot, are at most one exchange apart. What other sites sent since is read again from
    where the snapshot left off.

    The last round is known when all sites are known to end. That is told to the neighbours
    as soon as it is heard, since there may be no other round in which to tell it.

    Where the network changes, a node goes over to the new one after the last round of the old, or
    leaves; who joins begins there. Neighbours that are none any more may still want the last
    broadcast that was theirs: nobody waits for them, so it is kept, and sent again when the node is
    rebuilt, until they say that they have it.
    """

    def __init__(self, plan: NodePlan, node: NodeId, state: dict[str, Any] | None) -> None:
        self.round = state["place"][0] if state else plan.begins_at(node)
        self.core = NodeCore(plan, node, state["core"] if state else None, self.round)
        self.ears = Ears.of(self.core.neighbours)
        self.gossip = Gossip.of(plan, node, state)
        self.plan = plan
        self._enter()
        self.newest = -1
        self.waiting = False
        self.done = self.left = False
        self.shares: dict[int, dict[str, Share]] = {}
        self.ends: dict[str, int] = {}
        self.inbox: dict[int, dict[NodeId, Parcel]] = {}
        self.heard: dict[NodeId, Message] = {}
        self.sent: list[Outgoing] = []
        self.owed = Owed()
        self._behind: list[NodeId] = []
        self._rebuilt, self._more = state is not None, False
        self._told: dict[str, int] = {}
        if state:
            self._restore(state)

    def _enter(self) -> None:
        """Note what the network of this round means for the node."""
        plan, node = self.plan, self.core.node
        self.feeds = plan.feeds(node, self.round)
        self._era = plan.start(node, self.round)
        change = plan.change_after(node, self.round)
        self._until = sys.maxsize if change is None else change

    @override
    def on_batch(self, values: list[Incoming]) -> tuple[Iterable[Event], bool]:
        news = False
        for value in values:
            if isinstance(value, Parcel):
                news |= self._receive(value)
            elif isinstance(value, Share):
                self._keep(value)
            else:
                self.ends[value.partition] = value.last_tick
        if self.plan.ended(self.ends):
            news |= self.gossip.end(max(self.ends.values(), default=-1))
        told = [*(self._spread() if news else ()), *(self._confirm() if self._behind else ())]
        return [*told, *self._advance()], self.RETAIN

    def _keep(self, share: Share) -> None:
        if share.tick * self.plan.rounds_per_tick >= self.round:
            self.shares.setdefault(share.tick, {})[share.partition] = share
            self.newest = max(self.newest, share.tick)

    def _receive(self, parcel: Parcel) -> bool:
        self.ears.hear(parcel.sender, parcel.message)
        if parcel.round >= self.round:
            self.inbox.setdefault(parcel.round, {})[parcel.sender] = parcel
        else:
            self._look_back(parcel)
        return self.gossip.hear(parcel.news) if parcel.news else False

    def _look_back(self, parcel: Parcel) -> None:
        """Take what is of no round to come."""
        if parcel.ends is not None:
            self.ends |= parcel.ends
        elif parcel.last:
            self.owed.has(parcel.sender)
        elif 0 <= parcel.round < self._era:
            self._behind.append(parcel.sender)

    def _confirm(self) -> list[Event]:
        """Tell nodes that still send for a network that is no more that it has come."""
        word = Parcel(self.core.node, -1, None, True, last=True)
        names, self._behind = tuple(dict.fromkeys(self._behind)), []
        return [Outgoing(word, names)]

    def _spread(self) -> list[Event]:
        """Tell the neighbours which sites end, apart from any round."""
        word = Parcel(self.core.node, -1, None, True, news=self.gossip.tell(self.round))
        return [Outgoing(word, self.core.neighbours)]

    def _advance(self) -> list[Event]:
        events: list[Event] = []
        until, self._more = time.monotonic() + TURN, False
        while not self.done and not self._more:
            if not self.waiting:
                if self._past_the_end():
                    events.extend(self._finish())
                    break
                if not self._tick_is_here():
                    break
                events.extend(self._learn_and_send())
            if not self._parcels_are_here():
                break
            events.extend(self._combine())
            self._more = time.monotonic() > until
        return events

    def _past_the_end(self) -> bool:
        return self.plan.ended(self.ends) and self.gossip.ended and self.round > self._surely()

    def _surely(self) -> int:
        return self.plan.surely(self.ends, (*self.gossip.last_ticks, self.newest))

    def _tick_is_here(self) -> bool:
        """Tell whether every feed gave its share of this round, and the round is to be.

        A node whose feeds have ended, or that has none, cannot know by itself whether the job
        has another round; a tick somewhere shows in a neighbour's parcel.
        """
        tick, later = divmod(self.round, self.plan.rounds_per_tick)
        here = self.shares.get(tick, {})
        if not later and not all(part in here or self._without(part, tick) for part in self.feeds):
            return False
        return self.round <= self._surely() or any(round >= self.round for round in self.inbox)

    def _without(self, part: str, tick: int) -> bool:
        """Tell whether a partition has not this tick: it ended, or joins later."""
        return tick > self.ends.get(part, tick) or tick <= self.plan.before(part)

    def _learn_and_send(self) -> list[Event]:
        tick, later = divmod(self.round, self.plan.rounds_per_tick)
        here = {} if later else self.shares.pop(tick, {})
        events = self.core.learn(self.round, [here[part] for part in sorted(here)])
        if self.plan.policy.exchanges(self.round):
            sent = with_news(self.core.send(self.round), self.gossip.tell(self.round))
            previous = [o for o in self.sent if o.parcel.round == self._last_sent()]
            self.sent = previous + [o for o in sent if isinstance(o, Outgoing)]
            events.extend(sent)
        self.waiting = True
        return events

    def _last_sent(self) -> int:
        return max((o.parcel.round for o in self.sent), default=-1)

    def _parcels_are_here(self) -> bool:
        if not self.plan.policy.exchanges(self.round):
            return True
        return len(self.inbox.get(self.round, ())) == len(self.core.neighbours)

    def _combine(self) -> list[Event]:
        parcels = self.inbox.pop(self.round, {})
        for sender, parcel in parcels.items():
            if parcel.message is not None:
                self.heard[sender] = parcel.message
            elif not parcel.unchanged:
                self.heard.pop(sender, None)
        exchanged = self.plan.policy.exchanges(self.round)
        inbox = {n: self.heard[n] for n in sorted(self.heard)} if exchanged else {}
        events = self.core.combine(self.round, inbox)
        events.extend(self._after_round())
        self.round += 1
        self.waiting = False
        if self.round >= self._until:
            events.extend(self._cross())
        return events

    def _cross(self) -> list[Event]:
        """Go over to the network that begins in this round, or leave."""
        before, last = set(self.core.neighbours), self._last_sent()
        self.core.rewire(self.round)
        self._enter()
        around = set(self.core.neighbours)
        self.owed.keep([o for o in self.sent if o.parcel.round == last], before - around)
        self.heard = {name: message for name, message in self.heard.items() if name in around}
        self.ears.expect(self.core.neighbours)
        if self.plan.present(self.core.node, self.round):
            return []
        self.done = self.left = True
        return [*self.core.leaving(self.round - 1), self._ack(), Done(self.core.node)]

    def _ack(self) -> Ack:
        """Acknowledge the ticks done; who left, all that were its own."""
        first = self.plan.first_tick(self.round)
        ticks = first - 1 if self.left else self.plan.done_ticks(self.round)
        return Ack(self.core.node, ticks)

    def _after_round(self) -> list[Event]:
        events: list[Event] = []
        ticks, later = divmod(self.round + 1, self.plan.rounds_per_tick)
        if not later and ticks % self.plan.ack_every == 0:
            events.append(Ack(self.core.node, ticks - 1))
        return [*events, *self.core.due(self.round)]

    def _finish(self) -> list[Event]:
        self.done = True
        if not self._begun:
            return [Done(self.core.node)]
        return [
            *self.core.reports(self.round - 1, final=True),
            *self.core.final(self.round - 1),
            Done(self.core.node),
        ]

    @property
    def _begun(self) -> bool:
        """Whether the node has taken part; one that is to join has not, until then."""
        return self.waiting or self.round > (self.plan.begins_at(self.core.node) or -1)

    def parting(self) -> list[Event]:
        """Give the last words of a node whose job was told to stop."""
        return self.core.parting(self.round - 1, self._begun)

    @override
    def notify_at(self) -> datetime | None:
        return datetime.now(UTC) if self._rebuilt or self._more else None

    @override
    def on_notify(self) -> tuple[Iterable[Event], bool]:
        if not self._rebuilt:
            return self._advance(), self.RETAIN
        self._rebuilt = False
        again: list[Event] = [self._ack(), *self.sent, *self.owed.sent]
        again.extend(self.core.told(self.round - 1))
        again.extend(ends_for_joiners(self.plan, self.core.node, self._told))
        if self.gossip.last_ticks:
            again.extend(self._spread())
        if self.done:
            again.append(Done(self.core.node))
        return again + self._advance(), self.RETAIN

    @override
    def snapshot(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "core": self.core.export(),
            "place": (self.round, self.waiting, self.done),
            "era": self._era,
            "newest": self.newest,
            "shares": {tick: dict(parts) for tick, parts in self.shares.items()},
            "ends": dict(self.ends),
            "inbox": {round: dict(parcels) for round, parcels in self.inbox.items()},
            "heard": dict(self.heard),
            "sent": list(self.sent),
            "owed": list(self.owed.sent),
            "sites": self.gossip.export(),
        }

    def _restore(self, state: dict[str, Any]) -> None:
        self.round, self.waiting, self.done = state["place"]
        if state["era"] != self._era:
            raise ModelError(
                f"the network changes in round {self._era}, which node {self.core.node!r}, at "
                f"round {self.round}, had begun without knowing; allowed: a later round"
            )
        self.left = self.done and not self.plan.present(self.core.node, self.round)
        self.shares = {tick: dict(parts) for tick, parts in state["shares"].items()}
        self.newest = state.get("newest", max(self.shares, default=-1))
        self.ends = dict(state["ends"])
        self._told = dict(state["ends"])
        self.inbox = {round: dict(parcels) for round, parcels in state["inbox"].items()}
        self.heard = dict(state["heard"])
        self.sent = list(state["sent"])
        self.owed = Owed(state["owed"])
