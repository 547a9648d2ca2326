"""What online NPSVOR nodes tell of all they know, where the network changes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from anabranch.errors import MessageError
from anabranch.kernels.npsvor_online import LARGEST
from anabranch.learners.inbox import sealed
from anabranch.learners.npsvor_online_settings import NpsvorSettings
from anabranch.protocol import Array, Arrays, freeze

__all__ = [
    "ANSWER",
    "ASK",
    "BASE",
    "IDENTITIES",
    "WORDS",
    "YOURS",
    "Base",
    "Survey",
    "read_word",
    "written_word",
]

IDENTITIES = 1 << 52
"""Identities are below: states hold them as float64."""

YOURS = 0
"""Stands for the receiver, among origins."""

BASE, ASK, ANSWER = (0, 0), (0, 1), (0, 2)
"""Stand among the keys of deltas for what else a neighbour is told until it is confirmed."""
WORDS = (BASE, ASK, ANSWER)

_SEEN = ("seen",)
_BASE = ("closed", "places", "rows")


@dataclass(frozen=True, slots=True)
class Base:
    """The table of a node without what it has not told.

    Attributes
    ----------
    closed : deltas up to this number belong to groups that are no longer known
    places, rows : rows of the table that are not all zero
    """

    closed: int
    places: Array
    rows: Array


@dataclass(frozen=True, slots=True)
class Survey:
    """Which deltas a node knows.

    Attributes
    ----------
    seen : origin -> newest number met, and which of the 64 before it; of the sender and the
        receiver under 1 and 0
    joins : whether the sender waits for a table
    asks : whether it wants to know what the receiver lacks
    base : the sender's table
    """

    seen: Mapping[int, tuple[int, int]]
    joins: bool
    asks: bool
    base: Base | None = None


def written_word(one: Survey) -> dict[str, Array]:
    """Give the frozen arrays it adds to a message."""
    seen = [[origin, *one.seen[origin]] for origin in sorted(one.seen)]
    arrays = {"seen": freeze(np.array(seen, np.uint64).reshape(-1, 3))}
    if one.base is not None:
        arrays["closed"] = freeze(np.array([one.base.closed], np.uint32))
        arrays["places"], arrays["rows"] = freeze(one.base.places), freeze(one.base.rows)
    return arrays


def read_word(given: Arrays, flags: int, clock: int, settings: NpsvorSettings) -> Survey | None:
    """Check what a message says beyond its deltas; `flags`: 1 where it joins, 2 where it asks.

    Raises
    ------
    MessageError
        An array is missing, of wrong shape or kind, or out of range.
    """
    names = given.keys() & {*_SEEN, *_BASE}
    if not names and not flags:
        return None
    if names not in ({*_SEEN}, {*_SEEN, *_BASE}) or flags > 3:
        raise MessageError(
            f"wrong arrays: {sorted(names)} with flags {flags}; allowed: none of them, "
            f"{list(_SEEN)}, or {[*_SEEN, *_BASE]}"
        )
    seen = _plain(given, "seen", (-1, 3), np.uint64).tolist()
    origins = [row[0] for row in seen]
    within = all(o < IDENTITIES and 1 <= n <= clock and not m >> (n - 1) for o, n, m in seen)
    if origins != sorted(set(origins)) or not within:
        raise MessageError(
            "out of range: seen; allowed: increasing identities, times from 1 up to the clock"
        )
    base = _read_base(given, clock, settings) if len(names) > 1 else None
    return Survey({o: (n, m) for o, n, m in seen}, bool(flags & 1), bool(flags & 2), base)


def _read_base(given: Arrays, clock: int, settings: NpsvorSettings) -> Base:
    closed = int(_plain(given, "closed", (1,), np.uint32)[0])
    places = _plain(given, "places", (-1,), np.uint32)
    rows = _plain(given, "rows", (len(places), 2 * settings.ranks), settings.held)
    ordered = (places <= settings.features).all() and (places[1:] > places[:-1]).all()
    within = (np.abs(rows) <= LARGEST).all() and (rows[:, settings.ranks :] >= 0.0).all()
    if closed > clock or not ordered or not within:
        raise MessageError(
            "out of range: closed, places or rows; allowed: a time up to the clock, "
            f"increasing places up to {settings.features}, finite numbers up to {LARGEST:g}, "
            "squares >= 0"
        )
    return Base(closed, places, rows)


def _plain(given: Arrays, name: str, shape: tuple[int, ...], kind: Any) -> Array:
    array = np.asarray(given[name])
    fits = array.ndim == len(shape) and all(
        b in (-1, a) for a, b in zip(array.shape, shape, strict=True)
    )
    if not fits or array.dtype != np.dtype(kind):
        raise MessageError(
            f"wrong shape: {name} has {array.shape} {array.dtype}; allowed: {shape} "
            f"{np.dtype(kind)}, as the nodes of a job share one set of settings"
        )
    return sealed(np.ascontiguousarray(array))
