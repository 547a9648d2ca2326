"""The exchange of an online NPSVOR node: own changes out, others' in and on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from anabranch.errors import ModelError
from anabranch.learners.npsvor_online_base import ANSWER, ASK, BASE, WORDS, Base, Survey
from anabranch.learners.npsvor_online_log import Log, ordered
from anabranch.learners.npsvor_online_near import Near, Neighbours
from anabranch.learners.npsvor_online_settings import NpsvorSettings
from anabranch.learners.npsvor_online_table import Table
from anabranch.learners.npsvor_online_wire import OWN, Delta, Key, Telling, written
from anabranch.learners.states import saved_array
from anabranch.protocol import Array, Message, NodeId, State

__all__ = ["Node"]

_CONFIRM = 8
"""Own messages from one word of what has come to the next, where none was lost."""
_FIRST = 2
"""Messages at the beginning, even of a node with nothing to tell: who its neighbours are."""
_LATE, _WAITS = 16, 256
"""Rounds in which others spoke after which a node that joins asks again, and begins by itself."""
_PATIENCE = 4
"""Rounds of silence after which a node asks for what was not confirmed."""


class Node:
    """Who is told what, and when.

    Parameters
    ----------
    table : what samples change here, and others' changes
    """

    def __init__(self, settings: NpsvorSettings, table: Table) -> None:
        self.settings, self.table = settings, table
        self.log, self.near = Log(settings), Neighbours()
        self._sequence = self._told = self._waited = 0
        self._flight: tuple[Key, Array] | None = None
        """The own delta told since the last `combine`, and the table's rows before it."""

    @property
    def acts(self) -> bool:
        """Whether there is something to tell, or to ask."""
        near = self.near
        if not near.known:
            return not self.table.lone
        asking = near.waiting and self._waited >= _PATIENCE
        return self._ready or near.owed or self._told < _FIRST or asking

    @property
    def _ready(self) -> bool:
        return self.table.moving >= self.settings.batch_rows and not self.log.joining

    def messages(self) -> Sequence[Message]:
        """Give each neighbour's message, or one to all."""
        self._sequence += 1
        if not self.near.known:
            return (Message(self._arrays([], None, None)),)
        if self._flight:
            self._settle([])
        if self._ready:
            self._tell_changes()
        near, self._waited = self.near, 0
        self._told += 1
        there = self.log.deltas.keys() | {ASK, ANSWER, *([] if self.log.joining else [BASE])}
        sent = {n: [k for k in one.letter if k in there] for n, one in near.known.items()}
        if self._sequence % _CONFIRM == 0 or near.apart or not any(sent.values()):
            letters = [self._letter(name, keys) for name, keys in sent.items()]
        else:
            letters = [Message(self._arrays(next(iter(sent.values())), None, None))]
        for name, keys in sent.items():
            near.known[name].send(self._sequence, keys)
        return letters

    def _letter(self, name: NodeId, keys: list[Key]) -> Message:
        """Give the message to one neighbour; it tells who the others are until that has come."""
        near, around = self.near.known[name], None
        if near.shown >= 0:
            near.shown, around = self._sequence, self.near.identities
        survey = self._survey(near, keys) if any(key in WORDS for key in keys) else None
        if survey and survey.base:
            more = [k for k in sorted(self.log.deltas) if k not in keys and k[1] != near.id]
            keys = [*keys, *more]
        keys = [key for key in keys if key not in WORDS]
        return Message(self._arrays(keys, near, around, survey), to=name)

    def _survey(self, near: Near, words: list[Key]) -> Survey:
        """Tell a neighbour what is known here, and the table where it needs that."""
        base = Base(self.log.closed, *self.table.base()) if BASE in words else None
        return Survey(self.log.seen(near.id), bool(self.log.joining), ASK in words, base)

    def _tell_changes(self) -> None:
        """Make a delta of what samples changed."""
        self.log.clock += 1
        delta, before = self.table.take(self.log.clock)
        self.log.tell(delta)
        self.log.weigh([delta])
        self._flight = delta.key, before
        self.near.tell_all(delta.key)

    def _arrays(
        self,
        keys: list[Key],
        near: Near | None,
        around: frozenset[int] | None,
        survey: Survey | None = None,
    ) -> dict[str, Array]:
        deltas = tuple(self.log.deltas[key] for key in keys)
        asks = near is not None and near.overdue(self._sequence if keys else None)
        got = (near.got.newest, near.got.mask) if near else (0, 0)
        return written(
            Telling(self._sequence, self.log.clock, asks, *got, around, deltas, survey),
            self.settings,
        )

    def combine(self, told: Sequence[tuple[NodeId, Telling]], names: Iterable[NodeId]) -> None:
        """Add what is new, and have it passed on."""
        self.table.lone = False
        self.meet(names)
        self.near.keep(names)
        self._waited += 1
        fresh: dict[Key, Delta] = {}
        senders: dict[Key, list[NodeId]] = {}
        self.log.clock = max([self.log.clock, *(one.clock for _, one in told)])
        self._hear(told)
        for name, one in told:
            near = self.near.known[name]
            for delta in one.deltas:
                origin = near.id if delta.origin == OWN else delta.origin
                key = delta.number, origin
                if self.log.is_new(origin, delta.number):
                    fresh[key], senders[key] = replace(delta, origin=origin), []
                if key in senders:
                    senders[key].append(name)
        self.log.fade()
        self.log.weigh(list(fresh.values()))
        self._settle(list(fresh.values()))
        self.near.pass_on(senders)
        self.log.prune(self.near.wanted, self.near.complete_to)

    def _hear(self, told: Sequence[tuple[NodeId, Telling]]) -> None:
        """Take in what messages say of messages, and of what their senders know."""
        new, heard = [], False
        for name, one in told:
            near = self.near.known[name]
            around, fresh = near.around, near.hear(one)
            # Of a node that starts again from an older state others have had later messages.
            self._sequence = max(self._sequence, one.taken)
            if around is not None and near.around != around:
                self._rewire()
            heard |= fresh
            if fresh and one.survey:
                new.append((near, one, one.survey))
        if heard and self.log.joining:
            self._wait()
        for near, one, survey in new:
            self._compare(near, one, survey)
        for near, one, survey in new:
            if survey.base:
                self._adopt(near, one, survey.seen, survey.base)

    # Where the network changes

    def join(self, names: Iterable[NodeId]) -> None:
        """Wait for the table of those who were there before, telling no changes meanwhile."""
        self.log.joining = 1
        self.meet(names)

    def _wait(self) -> None:
        """Ask again now and then; where nobody stayed who could answer, begin without a table."""
        self.log.joining = (self.log.joining + 1) % _WAITS
        if self.log.joining % _LATE == 0:
            self.near.ask_all()

    def meet(self, names: Iterable[NodeId]) -> None:
        """Take up other neighbours, where there were any or the network is known to change."""
        begun = self.near.known or self.log.joining
        if begun and self.near.known.keys() != set(names):
            self.near.keep(names)
            self._rewire()

    def _rewire(self) -> None:
        """Have all neighbours compare what they know: what is told to whom is uncertain."""
        self.log.rewired = True
        self.near.ask_all()

    def _compare(self, near: Near, one: Telling, there: Survey) -> None:
        """Have a neighbour told what it lacks: deltas of the log, or else the table."""
        log = self.log
        if not log.rewired:
            self._rewire()
        lacking = log.lacking(there.seen, near.id)
        # Two that were apart for too long can take no table: they would answer each other for ever.
        apart = there.base and self._missing(near, one, there.seen)
        if there.joins or (not apart and any(key not in log.deltas for key in lacking)):
            near.tell([BASE])  # it waits until there is one here
        else:
            told = near.unconfirmed
            near.tell(key for key in lacking if key in log.deltas and key not in told)
        if there.asks and not log.joining and log.missing(there.seen, near.id):
            near.tell([ANSWER])

    def _missing(self, near: Near, one: Telling, seen: Mapping[int, tuple[int, int]]) -> set[Key]:
        """Give what a neighbour knows that neither this node does nor its message tells."""
        told = {(d.number, near.id if d.origin == OWN else d.origin) for d in one.deltas}
        return set(self.log.missing(seen, near.id)) - told

    def _adopt(
        self, near: Near, one: Telling, seen: Mapping[int, tuple[int, int]], base: Base
    ) -> None:
        """Begin from a neighbour's table, and add what only this node knows.

        Only where something is missing, and nothing would be lost: a table that comes late or
        twice changes nothing.
        """
        log = self.log
        lost = any(key not in log.deltas for key in log.lacking(seen, near.id))
        if not log.joining and (lost or not self._missing(near, one, seen)):
            return
        told = [replace(d, origin=near.id) if d.origin == OWN else d for d in one.deltas]
        more = log.adopt(seen, near.id, base.closed, told)
        self.table.rebase(base.places, base.rows)
        self._flight = None
        self._settle(more)
        self.near.ask_all()

    def _settle(self, fresh: list[Delta]) -> None:
        """Add new deltas, group by group; with the own one just told, where it has not been.

        That one stands in the table already. It is taken out for the moment, so that the sum of
        a group is the same to the last bit at all nodes, unless samples have come since.
        """
        if self._flight:
            key, before = self._flight
            self._flight = None
            if key in self.log.deltas and not self.table.changed:
                own = self.log.deltas.pop(key)
                self.table.put(own.indices, before)
                fresh = [*fresh, own]
        for number in sorted({delta.number for delta in fresh}):
            new = ordered([delta for delta in fresh if delta.number == number])
            if self.log.is_open(number):
                known = self.log.group(number)
                self.table.add([*known, *new], len(known))
            else:
                # Too late to tell who else touched what: as if all had.
                for delta in new:
                    self.table.add([delta], 0, self.log.nodes)
            self.log.deltas.update({delta.key: delta for delta in new})

    def soften(self, share: float) -> None:
        """Multiply the sums of squared gradients; what neighbours are told goes on from there."""
        self.table.soften(share)
        if self._flight:
            self._flight[1][:, self.settings.ranks :] *= self.settings.held.type(share)

    def be_alone(self) -> None:
        """Have nobody to tell anything."""
        self.table.lone = True
        self.near, self.log, self._flight = Neighbours(), Log(self.settings), None

    def measures(self) -> dict[str, float]:
        """Give numbers about the exchange."""
        return {
            "rows_waiting": float(self.table.moving),
            "reach": float(self.log.reach),
            "repeats": float(self.log.repeats),
            "unconfirmed": float(sum(len(one.sent) for one in self.near.known.values())),
        }

    def export(self) -> State:
        """Give the state."""
        flying = self._flight[0] if self._flight else (0, 0)
        before = self._flight[1] if self._flight else np.empty((0, self.table.values.shape[1]))
        turns = [self._sequence, self._told, self._waited, *flying]
        return {
            **self.log.export(),
            **self.near.export(),
            "turns": np.array(turns, np.float64),
            "flight": before.copy(),
        }

    def restore(self, state: State) -> None:
        """Take it back; raises ModelError."""
        self.log.restore(state)
        self.near.restore(state)
        turns = saved_array(state, "turns", (5,)).astype(np.int64).tolist()
        self._sequence, self._told, self._waited, number, origin = turns
        if not number:
            return
        if (number, origin) not in self.log.deltas:
            raise ModelError("damaged state: turns; allowed: a delta of the log")
        own = self.log.deltas[number, origin]
        before = saved_array(state, "flight", (len(own.indices), self.table.values.shape[1]))
        self._flight = own.key, before.astype(self.settings.held)
