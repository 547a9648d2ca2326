"""What an online NPSVOR node knows of its neighbours: what each still needs, and what it got."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from anabranch.errors import ModelError
from anabranch.learners.elastic_net_part import saved_names
from anabranch.learners.npsvor_online_base import ASK, BASE, WORDS
from anabranch.learners.npsvor_online_log import Window
from anabranch.learners.npsvor_online_wire import Key, Telling, identity
from anabranch.learners.states import saved_array
from anabranch.protocol import NodeId, State

__all__ = ["Near", "Neighbours"]

_WIDTH = 32
_TABLES = ("near_around", "near_sent", "near_held")
_LATE, _GIVEN_UP = 16, 64
"""Own messages after which one that was not confirmed is asked for, and no longer waited for."""


@dataclass(slots=True)
class Near:
    """One neighbour.

    Attributes
    ----------
    id : its `identity`
    got : which of its messages have come
    around : identities of its neighbours; None while it has not told them
    outbox : deltas it is to be told
    sent : own message -> deltas told in it, while it has not confirmed that one
    asks : whether it waits to hear what has come
    losing : own messages for which it is taken to lose some, since it did
    clock : its logical time, as far as it has told
    shown : own message that last told it the neighbours; 0 for none, -1 once one has come
    """

    id: int
    got: Window = field(default_factory=lambda: Window(_WIDTH))
    around: frozenset[int] | None = None
    outbox: list[Key] = field(default_factory=list)
    sent: dict[int, list[Key]] = field(default_factory=dict)
    asks: bool = False
    losing: int = 0
    clock: int = 0
    shown: int = 0

    def hear(self, one: Telling) -> bool:
        """Note what a message says of messages; what was lost is to be told again.

        Tells whether it has not been heard before.
        """
        new = self.got.meet(one.sequence)  # the last message may be there again
        self.asks |= one.asks and new
        self.clock = max(self.clock, one.clock)
        self.around = self.around if one.around is None else one.around
        if one.taken:
            self._confirm(Window(_WIDTH, one.taken, one.mask))
        return new

    def _confirm(self, got: Window) -> None:
        """Strike out what has come; what was lost, and not told again since, is to be."""
        if 0 < self.shown <= got.newest and got.has(self.shown):
            self.shown = -1
        old = {s: self.sent.pop(s) for s in sorted(self.sent) if s <= got.newest}
        # What came before the window is taken to have come, but not words: they are too few.
        known = {s: got.has(s) for s in old}
        sure = {s: known[s] and s >= got.newest - _WIDTH for s in old}
        told = [(k, (sure if k in WORDS else known)[s]) for s in old for k in old[s]]
        come = {key for key, has in told if has}
        lost = [key for key, has in told if not has]
        left = {s: [key for key in keys if key not in come] for s, keys in self.sent.items()}
        self.sent = {s: keys for s, keys in left.items() if keys}
        come.update(self.outbox, self.unconfirmed)
        self.outbox[:0] = [key for key in dict.fromkeys(lost) if key not in come]
        self.losing = _GIVEN_UP if lost else self.losing

    @property
    def unconfirmed(self) -> list[Key]:
        """What was told and not confirmed."""
        return list(dict.fromkeys(key for s in sorted(self.sent) for key in self.sent[s]))

    @property
    def letter(self) -> list[Key]:
        """What the next message tells: where messages get lost, what is not confirmed again."""
        again = [key for key in self.unconfirmed if key != BASE] if self.losing else []
        return again + [key for key in self.outbox if key not in again]

    def send(self, sequence: int, keys: list[Key]) -> None:
        """Note that deltas are told in an own message."""
        self.outbox = [BASE] if BASE in self.outbox and BASE not in keys else []
        self.asks, self.losing = False, max(0, self.losing - 1)
        if keys:
            self.sent[sequence] = keys
        for old in [s for s in self.sent if s <= sequence - _GIVEN_UP]:
            self.sent[old] = [key for key in self.sent[old] if key in WORDS]
            if not self.sent[old]:
                del self.sent[old]

    def tell(self, keys: Iterable[Key]) -> None:
        """Have something told that is not about to be."""
        self.outbox += [key for key in keys if key not in self.outbox]

    def overdue(self, sequence: int | None) -> bool:
        """Tell whether it should have confirmed something by an own message; None: anything."""
        late = _LATE if sequence is not None else 0
        return any(old + late <= (sequence or old) for old in self.sent)


class Neighbours:
    """The neighbours by name, and deltas on their way to them.

    Attributes
    ----------
    known : the neighbours
    """

    def __init__(self) -> None:
        self.known: dict[NodeId, Near] = {}
        self._held: dict[Key, list[NodeId]] = {}
        """Deltas, and who told them, while one of these has not told its neighbours."""

    def keep(self, names: Iterable[NodeId]) -> None:
        """Take up who is new, and drop who is no neighbour any more."""
        if self.known.keys() != set(names):
            self.known = {
                name: self.known.get(name) or Near(identity(name)) for name in sorted(names)
            }
            for near in self.known.values():
                near.shown = 0

    @property
    def identities(self) -> frozenset[int]:
        """Of all."""
        return frozenset(near.id for near in self.known.values())

    @property
    def waiting(self) -> bool:
        """Whether somebody has not confirmed something."""
        return any(near.sent for near in self.known.values())

    @property
    def owed(self) -> bool:
        """Whether somebody is to be told something, or asks."""
        near = self.known.values()
        return any(one.outbox or one.asks or (one.losing and one.sent) for one in near)

    @property
    def apart(self) -> bool:
        """Whether they need different messages: other deltas, or word of what has come."""
        near = list(self.known.values())
        word = any(one.asks or one.shown >= 0 or not one.got.complete for one in near)
        word = word or any(key in WORDS for one in near for key in one.outbox + one.unconfirmed)
        return word or any(one.letter != near[0].letter for one in near)

    @property
    def complete_to(self) -> int:
        """Number up to which all deltas have come, where all nodes are neighbours; else 0."""
        near, names = self.known.values(), self.identities
        others = frozenset(one for n in near for one in n.around or ()) - names
        all_here = len(others) == 1 and all(len(n.around or ()) == len(names) for n in near)
        complete = all_here and all(n.got.complete for n in near)
        return min(n.clock for n in near) if complete else 0

    @property
    def wanted(self) -> set[Key]:
        """Deltas that may still have to be told."""
        near = self.known.values()
        keys = {key for one in near for keys in (one.outbox, *one.sent.values()) for key in keys}
        return keys | self._held.keys()

    def ask_all(self) -> None:
        """Have all compare what they know with what this node does."""
        for near in self.known.values():
            near.tell([ASK])

    def tell_all(self, key: Key) -> None:
        """Have a delta told to all."""
        for near in self.known.values():
            near.outbox.append(key)

    def pass_on(self, told: Mapping[Key, list[NodeId]]) -> None:
        """Have deltas told to those to whom they are news, as far as can be known."""
        waiting, self._held = self._held | dict(told), {}
        news = {name: self._news_of(near) for name, near in self.known.items()}
        for key in sorted(waiting):
            to = [news[name] for name in waiting[key] if name in news]
            if None in to:
                self._held[key] = waiting[key]
                continue
            for name in sorted(set.intersection(*to) if to else ()):  # type: ignore[arg-type]
                if self.known[name].id != key[1]:
                    self.known[name].outbox.append(key)

    def _news_of(self, by: Near) -> set[NodeId] | None:
        """Give who does not hear what a neighbour tells; None where that is not known."""
        if by.around is None:
            return None
        reached = by.around | {by.id}
        return {name for name, near in self.known.items() if near.id not in reached}

    def export(self) -> State:
        """Give the state."""
        names = list(self.known)
        near = list(self.known.values())
        numbers = [
            [n.got.newest, n.got.mask, n.around is not None, n.asks, n.losing, n.clock, n.shown]
            for n in near
        ]
        around = [[i, one] for i, n in enumerate(near) for one in sorted(n.around or ())]
        sent = [[i, s, *key] for i, n in enumerate(near) for s, key in _sent(n)]
        held = [[names.index(by), *key] for key in sorted(self._held) for by in self._held[key]
                if by in self.known]  # fmt: skip
        return {
            "near": names,
            "near_sizes": np.array([len(around), len(sent), len(held)], np.float64),
            "near_numbers": np.array(numbers, np.float64).reshape(-1, 7),
            "near_around": np.array(around, np.float64).reshape(-1, 2),
            "near_sent": np.array(sent, np.float64).reshape(-1, 4),
            "near_held": np.array(held, np.float64).reshape(-1, 3),
        }

    def restore(self, state: State) -> None:
        """Take it back; raises ModelError."""
        names = saved_names(state, "near")
        numbers = saved_array(state, "near_numbers", (len(names), 7)).astype(np.int64).tolist()
        sizes = saved_array(state, "near_sizes", (3,)).astype(np.int64).tolist()
        tables = [
            saved_array(state, name, (size, width)).astype(np.int64).tolist()
            for name, size, width in zip(_TABLES, sizes, (2, 4, 3), strict=True)
        ]
        if any(not 0 <= row[0] < len(names) for table in tables for row in table):
            raise ModelError(
                f"damaged state: near has {len(names)} names; allowed: one a neighbour"
            )
        for i, (name, row) in enumerate(zip(names, numbers, strict=True)):
            newest, mask, told, *rest = row
            around = frozenset(one for at, one in tables[0] if at == i) if told else None
            got = Window(_WIDTH, newest, mask)
            self.known[name] = Near(identity(name), got, around, [], {}, bool(rest[0]), *rest[1:])
        for at, sequence, number, origin in tables[1]:
            near = self.known[names[at]]
            keys = near.sent.setdefault(sequence, []) if sequence else near.outbox
            keys.append((number, origin))
        for at, number, origin in tables[2]:
            self._held.setdefault((number, origin), []).append(names[at])


def _sent(near: Near) -> list[tuple[int, Key]]:
    """Give what was told and by which message, and under 0 what is to be told, in order."""
    sent = sorted(near.sent.items())
    return [(s, key) for s, keys in [(0, near.outbox), *sent] for key in keys]
