"""The deltas an online NPSVOR node has heard of lately: which are news, and whose group is open."""

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from anabranch.errors import ModelError
from anabranch.learners.npsvor_online_base import YOURS
from anabranch.learners.npsvor_online_settings import NpsvorSettings
from anabranch.learners.npsvor_online_wire import OWN, Delta, Key
from anabranch.learners.states import saved_array
from anabranch.protocol import State, freeze

__all__ = ["Log", "Window"]

_ROOM = 1 << 20
"""Coordinates of all deltas that are kept; the oldest go first."""

_WIDTH = 64
_AT_FIRST, _FARTHEST = 32, 64
"""Logical time for which groups are kept open before delays are known, and at most."""

_LATELY, _USUALLY, _NONE = 0.8, 0.99, 1e-12
"""Shares of a node's squared gradients that are left after a round, and of what is usual; less than
the last is none."""


class Window:
    """Which whole numbers have been met, of the newest one and the `width` before it.

    Examples
    --------
    >>> window = Window(32)
    >>> [window.meet(number) for number in (1, 3, 2, 3)], window.complete
    ([True, True, True, False], True)
    """

    def __init__(self, width: int, newest: int = 0, mask: int = 0) -> None:
        self.width, self.newest, self.mask = width, newest, mask

    def meet(self, number: int) -> bool:
        """Note a number; tells whether it is new. One before the window counts as met."""
        ahead = number - self.newest
        if ahead > 0:
            kept = (self.mask << 1 | (self.newest > 0)) if ahead <= self.width else 0
            self.mask = (kept << (ahead - 1) if kept else 0) & (1 << self.width) - 1
            self.newest = number
            return True
        new = ahead < 0 and not self.has(number)
        if new:
            self.mask |= 1 << (-ahead - 1)
        return new

    def has(self, number: int) -> bool:
        """Tell whether a number was met; those before the window were."""
        back = self.newest - number - 1
        return back == -1 or back >= self.width or (back >= 0 and bool(self.mask >> back & 1))

    def beyond(self, other: "Window") -> list[int]:
        """Give what was met here and not there, as far as this window reaches."""
        met = [self.newest] if self.newest else []
        met += [self.newest - 1 - i for i in range(self.width) if self.mask >> i & 1]
        return [number for number in met if not other.has(number)]

    @property
    def complete(self) -> bool:
        """Whether none is missing, counted from 1, as far as the window reaches."""
        all_of_them = (1 << min(self.width, max(0, self.newest - 1))) - 1
        return self.mask & all_of_them == all_of_them


class Log:
    """Deltas by number and origin.

    A number is a node's logical time: one more than the largest it had heard of. Deltas of
    one number were made without knowledge of each other; they are a group.

    Attributes
    ----------
    clock : largest number heard of
    reach : longest time from a delta's number to its arrival
    repeats : deltas that came more than once
    rewired : whether the network has changed since it began
    joining : rounds for which a table of those who were there before has been waited for; else 0
    """

    def __init__(self, settings: NpsvorSettings) -> None:
        self.settings = settings
        self.clock = self.reach = self.repeats = 0
        self.deltas: dict[Key, Delta] = {}
        self._seen: dict[int, Window] = {}
        self._lately: dict[int, float] = {}
        self._usual = 0.0
        self._closed = 0
        self._own = Window(_WIDTH)
        self.rewired, self.joining = False, 0

    def is_new(self, origin: int, number: int) -> bool:
        """Note that a delta has come; tells whether it had not before."""
        new = self._seen.setdefault(origin, Window(_WIDTH)).meet(number)
        self.repeats += not new
        if new:
            self.reach = min(max(self.reach, self.clock - number), _FARTHEST)
        return new

    def tell(self, delta: Delta) -> None:
        """Take up an own delta."""
        self._own.meet(delta.number)
        self.deltas[delta.key] = delta

    # Where the network changes

    def seen(self, by: int) -> dict[int, tuple[int, int]]:
        """Give what is known here as a `Survey` tells it to a neighbour."""
        windows = {YOURS if origin == by else origin: w for origin, w in self._seen.items()}
        return {o: (w.newest, w.mask) for o, w in [(OWN, self._own), *windows.items()] if w.newest}

    def lacking(self, seen: Mapping[int, tuple[int, int]], by: int) -> list[Key]:
        """Give what is known here and not to a neighbour, whose own is not meant."""
        windows = [
            (o, YOURS if o == OWN else o, w) for o, w in [(OWN, self._own), *self._windows()]
        ]
        return [
            (number, origin)
            for origin, there, window in windows
            if origin != by
            for number in window.beyond(Window(_WIDTH, *seen.get(there, (0, 0))))
        ]

    def missing(self, seen: Mapping[int, tuple[int, int]], by: int) -> list[Key]:
        """Give what a neighbour knows and this node does not, which knows its own."""
        none = Window(_WIDTH)
        return [
            (number, by if origin == OWN else origin)
            for origin, window in seen.items()
            if origin != YOURS
            for number in Window(_WIDTH, *window).beyond(
                self._seen.get(by if origin == OWN else origin, none)
            )
        ]

    def adopt(
        self, seen: Mapping[int, tuple[int, int]], by: int, closed: int, log: Sequence[Delta]
    ) -> list[Delta]:
        """Know what a neighbour does, and its log; gives what was known here beyond it."""
        there = {by if o == OWN else OWN if o == YOURS else o: seen[o] for o in seen}
        self._seen = {o: Window(_WIDTH, *w) for o, w in there.items() if o != OWN}
        windows = {o: Window(_WIDTH, *w) for o, w in there.items()}
        none = Window(_WIDTH)
        more = [d for d in self.deltas.values() if not windows.get(d.origin, none).has(d.number)]
        for delta in more:
            if delta.origin != OWN:
                self._seen.setdefault(delta.origin, Window(_WIDTH)).meet(delta.number)
            del self.deltas[delta.key]
        self.deltas.update({delta.key: delta for delta in log})
        self._closed, self.joining = closed, 0
        return more

    @property
    def closed(self) -> int:
        """Up to which number groups are no longer known."""
        return self._closed

    def is_open(self, number: int) -> bool:
        """Tell whether all that arrived before of this number is still here."""
        return number > self._closed

    @property
    def nodes(self) -> int:
        """How many nodes there are, as far as they have told something, with this one."""
        return len(self._seen) + 1

    def weigh(self, deltas: list[Delta]) -> None:
        """Add squared gradients to those of lately, of the nodes they came from."""
        for delta in deltas:
            squares = float(delta.squares.sum(dtype=np.float64))
            self._lately[delta.origin] = self._lately.get(delta.origin, 0.0) + squares

    def fade(self) -> None:
        """Let what is lately be a round farther away."""
        self._usual += (1.0 - _USUALLY) * (self._total - self._usual)
        faded = {origin: _LATELY * squares for origin, squares in self._lately.items()}
        self._lately = {origin: squares for origin, squares in faded.items() if squares > _NONE}

    @property
    def _total(self) -> float:
        return sum(self._sums())

    def _sums(self) -> list[float]:
        return [self._lately[origin] for origin in sorted(self._lately)]

    def risen(self, times: float, share: float) -> bool:
        """Tell whether squared gradients are so many times the usual, those of most nodes.

        Their sums g, one a node, are of a share (sum g)^2/(n sum g^2) of the nodes, 1 where all
        have as many. Nothing is told without neighbours: they have risen then.
        """
        total, squares = self._total, sum(g * g for g in self._sums())
        shared = total * total >= share * self.nodes * squares
        return shared and total >= times * self._usual

    def group(self, number: int) -> list[Delta]:
        """Give the deltas of a number in an order that does not depend on the node."""
        return ordered([d for key, d in self.deltas.items() if key[0] == number])

    def prune(self, wanted: Collection[Key], complete_to: int) -> None:
        """Drop what belongs to no open group and is not wanted, and the oldest beyond the room."""
        room = _ROOM
        patience = min(2 * self.reach + 2, _FARTHEST) if self.clock > _AT_FIRST else _AT_FIRST
        if self.rewired:  # ways may have become longer, and who had heard of what is uncertain
            patience, complete_to = _FARTHEST, 0
        if not self.joining:
            self._closed = max(self._closed, self.clock - patience, complete_to)
        for key in sorted(self.deltas, reverse=True):
            room -= len(self.deltas[key].indices)
            if room < 0:
                self._closed = max(self._closed, key[0])
            if room < 0 or not (self.is_open(key[0]) or key in wanted):
                del self.deltas[key]

    def export(self) -> State:
        """Give the state."""
        log = [self.deltas[key] for key in sorted(self.deltas)]
        kind, p, own = self.settings.kind, self.settings.ranks, self._own
        windows = [[o, w.newest, w.mask >> 32, w.mask & 0xFFFF_FFFF] for o, w in self._windows()]
        return {
            "clock": np.array(
                [self.clock, self.reach, self.repeats, self._closed, len(windows)], np.float64
            ),
            "own": np.array(
                [own.newest, own.mask >> 32, own.mask & 0xFFFF_FFFF, self.rewired, self.joining],
                np.float64,
            ),
            "seen": np.array(windows, np.float64).reshape(-1, 4),
            "lately": np.array([(len(self._lately), self._usual), *sorted(self._lately.items())]),
            "log": np.array(
                [[d.origin, d.number, len(d.indices)] for d in log], np.float64
            ).reshape(-1, 3),
            "log_places": np.concatenate([np.empty(0, np.uint32), *(d.indices for d in log)]),
            "log_dW": np.concatenate([np.empty((0, p), kind), *(d.weights for d in log)]),
            "log_dH": np.concatenate([np.empty(0, kind), *(d.squares for d in log)]),
        }

    def _windows(self) -> Iterator[tuple[int, Window]]:
        return iter(sorted(self._seen.items(), key=lambda item: item[0]))

    def restore(self, state: State) -> None:
        """Take it back; raises ModelError."""
        times = map(int, saved_array(state, "clock", (5,)).tolist())
        self.clock, self.reach, self.repeats, self._closed, known = times
        for origin, newest, high, low in saved_array(state, "seen", (known, 4)).tolist():
            self._seen[int(origin)] = Window(_WIDTH, int(newest), int(high) << 32 | int(low))
        if "lately" in state:  # the first states of schema 2 are without
            lately = saved_array(state, "lately", (-1, 2)).tolist() or [(-1, 0.0)]
            (count, self._usual), *rows = lately
            if count != len(rows):
                raise ModelError(f"damaged state: lately has {len(rows)} rows; allowed: {count:g}")
            self._lately = {int(origin): squares for origin, squares in rows}
        heads = saved_array(state, "log", (-1, 3)).astype(np.int64)
        total, kind = int(heads[:, 2].sum()), self.settings.kind
        places = saved_array(state, "log_places", (total,))
        dW = saved_array(state, "log_dW", (total, self.settings.ranks)).astype(kind)
        dH = saved_array(state, "log_dH", (total,)).astype(kind)
        if heads.size and (heads.min() < 0 or not (places <= self.settings.features).all()):
            raise ModelError("damaged state: log; allowed: deltas of these features")
        end = 0
        for origin, number, count in heads.tolist():
            part, end = slice(end, end + count), end + count
            arrays = (freeze(places[part].astype(np.uint32)), freeze(dW[part]), freeze(dH[part]))
            self.deltas[number, origin] = Delta(origin, number, *arrays)
        self._restore_own(state)

    def _restore_own(self, state: State) -> None:
        """Older states do not tell own numbers; those that may matter are in the log."""
        if "own" in state:
            newest, high, low, rewired, joining = map(int, saved_array(state, "own", (5,)).tolist())
            self._own = Window(_WIDTH, newest, high << 32 | low)
            self.rewired, self.joining = bool(rewired), joining
            return
        for number in sorted(number for number, origin in self.deltas if origin == OWN):
            self._own.meet(number)


def ordered(deltas: list[Delta]) -> list[Delta]:
    """Sort deltas by what is in them; those alike may stand in any order."""
    return sorted(deltas, key=Delta.content) if len(deltas) > 1 else deltas
