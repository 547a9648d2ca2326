"""What online NPSVOR's messages hold, and reading them without trust."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from anabranch.errors import MessageError
from anabranch.kernels.npsvor_online import LARGEST, fit
from anabranch.learners.doml_wire import digest_of
from anabranch.learners.inbox import sealed
from anabranch.learners.npsvor_online_base import IDENTITIES, Survey, read_word, written_word
from anabranch.learners.npsvor_online_settings import NpsvorSettings
from anabranch.protocol import Array, Arrays, Message, NodeId, freeze

__all__ = ["OWN", "Delta", "Key", "Telling", "identity", "read", "rounded", "written"]

OWN = 1
"""Stands for the sender, among origins."""

_NAMES = ("state", "heads", "around", "indices", "dW", "dH")
_MORE = ("seen", "closed", "places", "rows")
_STATE = 7
_FARTHEST = 1 << 31
_LARGEST_HALF = 65504.0

Key = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Delta:
    """What a node's samples changed between two of its messages.

    Attributes
    ----------
    origin : `identity` of the node, or `OWN`
    number : logical time at which it was told
    indices : (c,) uint32, increasing; features that were touched, the bias last
    weights : (c, p), change of the weights
    squares : (c,), mean change of their sums of squares; its root where numbers are float16
    """

    origin: int
    number: int
    indices: Array
    weights: Array
    squares: Array

    @property
    def key(self) -> Key:
        """By which it is known."""
        return self.number, self.origin

    def content(self) -> bytes:
        """Give what puts the deltas of a group in the same order at all nodes."""
        return self.weights.tobytes() + self.indices.tobytes()

    def widened(self, held: Any) -> tuple[Array, Array, Array]:
        """Give indices, weights and squares in the node's kind of numbers."""
        dH = self.squares.astype(held, copy=False)
        if self.squares.dtype == np.float16:
            dH = np.square(dH)
        return self.indices, self.weights.astype(held, copy=False), dH


@dataclass(frozen=True, slots=True)
class Telling:
    """One neighbour's message, read and checked.

    Attributes
    ----------
    sequence : its number among the sender's messages, from 1
    clock : the sender's logical time
    asks : whether the sender waits to hear what has arrived
    taken, mask : newest of the receiver's messages that the sender has taken, and which of the
        32 before it; 0 where it does not say
    around : identities of the sender's neighbours; None where it does not say
    deltas : changes
    survey : what the sender knows; None where it does not say
    """

    sequence: int
    clock: int
    asks: bool
    taken: int
    mask: int
    around: frozenset[int] | None
    deltas: tuple[Delta, ...]
    survey: Survey | None = None


def identity(name: NodeId) -> int:
    """Give a number that stands for a node among all others.

    >>> 2 <= identity("n0") < 2**52
    True
    """
    return max(2, digest_of(name.encode()))


def rounded(number: int, indices: Array, dW: Array, dH: Array, settings: NpsvorSettings) -> Delta:
    """Make a node's own delta, of the numbers that are sent."""
    kind = settings.kind
    if kind == np.float16:
        dW = np.clip(dW, -_LARGEST_HALF, _LARGEST_HALF)
        dH = np.minimum(np.sqrt(dH), _LARGEST_HALF)
    return Delta(OWN, number, freeze(indices), freeze(dW.astype(kind)), freeze(dH.astype(kind)))


def written(one: Telling, settings: NpsvorSettings) -> dict[str, Array]:
    """Give the frozen arrays of a message."""
    around = sorted(one.around or ())
    deltas = one.deltas
    heads = [[d.origin, d.number << 32 | len(d.indices)] for d in deltas]
    survey = one.survey
    flags = one.asks | (survey.joins << 1 | survey.asks << 2 if survey else 0)
    numbers = [flags, len(around), len(deltas), one.taken, one.mask, one.clock, one.sequence]
    arrays: tuple[Array, ...] = (
        np.array(numbers, np.uint32),
        np.array(heads, np.uint64).reshape(-1, 2),
        np.array(around, np.uint64),
        _joined([d.indices for d in deltas], (0,), np.uint32),
        _joined([d.weights for d in deltas], (0, settings.ranks), settings.kind),
        _joined([d.squares for d in deltas], (0,), settings.kind),
    )
    plain = {name: freeze(array) for name, array in zip(_NAMES, arrays, strict=True)}
    return plain | written_word(survey) if survey else plain


def _joined(parts: Sequence[Array], shape: tuple[int, ...], kind: Any) -> Array:
    if len(parts) == 1:
        return parts[0].view()
    return np.concatenate(parts) if parts else np.empty(shape, kind)


def read(message: Message, settings: NpsvorSettings) -> Telling:
    """Check a message and give what it says.

    Raises
    ------
    MessageError
        An array is missing, unknown, of wrong shape or kind, not finite, or out of range.
    """
    given = message.arrays
    if not set(_NAMES) <= given.keys() <= {*_NAMES, *_MORE}:
        raise MessageError(
            f"wrong arrays: {sorted(given)}; allowed: {sorted(_NAMES)}, and {sorted(_MORE)}"
        )
    state = _array(given, "state", (_STATE,), np.uint32).tolist()
    flags, near, count, taken, mask, clock, sequence = state
    if not 1 <= sequence < _FARTHEST or max(clock, taken) >= _FARTHEST:
        raise MessageError(f"out of range: state={state}; allowed: asks, and times below 2**31")
    around = _array(given, "around", (near,), np.uint64).tolist()
    if any(not 2 <= one < IDENTITIES for one in around) or around != sorted(set(around)):
        raise MessageError("wrong neighbours: around; allowed: identities, increasing")
    deltas = _deltas(given, count, clock, settings)
    known = frozenset(around) if near else None
    survey = read_word(given, flags >> 1, clock, settings)
    return Telling(sequence, clock, bool(flags & 1), taken, mask, known, deltas, survey)


def _deltas(given: Arrays, count: int, clock: int, settings: NpsvorSettings) -> tuple[Delta, ...]:
    heads = _array(given, "heads", (count, 2), np.uint64).tolist()
    origins = [origin for origin, _ in heads]
    numbers = [head >> 32 for _, head in heads]
    sizes = [head & 0xFFFF_FFFF for _, head in heads]
    known = all(OWN <= origin < IDENTITIES for origin in origins)
    if not known or any(not 1 <= n <= clock for n in numbers):
        raise MessageError("out of range: heads; allowed: identities, and times up to the clock")
    total = sum(sizes)
    indices = _array(given, "indices", (total,), np.uint32)
    dW = _array(given, "dW", (total, settings.ranks), settings.kind)
    dH = _array(given, "dH", (total,), settings.kind)
    held = settings.held
    wide = sealed(dW.astype(held, copy=False)), sealed(dH.astype(held, copy=False))
    if not fit(sealed(indices), wide[0], wide[1], np.array(sizes, np.int64), settings.features):
        raise MessageError(
            "out of range: indices, dW or dH; allowed: increasing indices of features, then the "
            f"bias, {settings.features}; finite numbers up to {LARGEST:g}, and dH >= 0"
        )
    ends = np.cumsum([0, *sizes]).tolist()
    parts = [slice(a, b) for a, b in pairwise(ends)]
    return tuple(
        Delta(origin, number, indices[part], dW[part], dH[part])
        for origin, number, part in zip(origins, numbers, parts, strict=True)
    )


def _array(given: Arrays, name: str, shape: tuple[int, ...], kind: Any) -> Array:
    """Check the shape and kind of an array; what it gives may be the sender's own."""
    array = np.asarray(given[name])
    if array.shape != shape or array.dtype != np.dtype(kind):
        raise MessageError(
            f"wrong shape: {name} has {array.shape} {array.dtype}; allowed: {shape} "
            f"{np.dtype(kind)}, as the nodes of a job share one set of settings"
        )
    return np.ascontiguousarray(array)
