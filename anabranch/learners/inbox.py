"""Reading the parameters that neighbours send."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from anabranch.errors import MessageError
from anabranch.features.standardiser import Moments
from anabranch.kernels.checks import LIMIT, bounded
from anabranch.protocol import Array, Message, NodeId

__all__ = [
    "Heard",
    "Layout",
    "read_array",
    "read_each",
    "read_inbox",
    "read_message",
    "sealed",
]

T = TypeVar("T")

_DOUBLE = np.dtype(np.float64)


@dataclass(frozen=True, slots=True)
class Layout:
    """What the messages of a learner look like.

    `arrays` maps the names that are always there to their lengths; `features` is the
    length of the moments, which come with the messages of the warm-up only.
    """

    arrays: Mapping[str, int]
    features: int


@dataclass(frozen=True, slots=True)
class Heard:
    """One neighbour's message, read and checked, with its weight."""

    sender: NodeId
    weight: float
    arrays: Mapping[str, Array]
    moments: Moments | None


def sealed(array: Array) -> Array:
    """Give it read-only: the kernels are compiled for one type, whoever holds the data."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.setflags(write=False)
    return view


def read_array(name: str, given: Array, length: int) -> Array:
    """Give an array of a message as float64 (length,).

    Raises
    ------
    MessageError
        It has another shape, or a value that is not finite.
    """
    if type(given) is np.ndarray and given.dtype == _DOUBLE and given.shape == (length,):
        view = sealed(given)
        if view.flags.c_contiguous and bounded(view):
            return view
    try:
        array = np.ascontiguousarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise MessageError(f"not an array of numbers: {name}; {error}") from error
    if array.shape != (length,) or np.ndim(given) != 1:
        raise MessageError(
            f"wrong shape: {name} has {np.shape(given)}; allowed: ({length},), "
            "as the nodes of a job share one set of settings"
        )
    if not bounded(sealed(array)):
        raise MessageError(
            f"not finite: {name} has a value that is no number below {LIMIT:g} in magnitude"
        )
    return array


def read_message(message: Message, layout: Layout) -> tuple[dict[str, Array], Moments | None]:
    """Check a message against the layout and give its arrays and moments.

    Raises
    ------
    MessageError
        An array is missing, unknown, of wrong shape, or not finite.
    """
    given = message.arrays
    warm = any(name in given for name in Moments.NAMES)
    expected = [*layout.arrays, *(Moments.NAMES if warm else ())]
    if len(given) != len(expected) or any(name not in given for name in expected):
        raise MessageError(f"wrong arrays: {sorted(given)}; allowed: {sorted(expected)}")
    arrays = {name: read_array(name, given[name], size) for name, size in layout.arrays.items()}
    if not warm:
        return arrays, None
    try:
        return arrays, Moments.read(given, layout.features)
    except (TypeError, ValueError) as error:
        raise MessageError(f"wrong moments: {error}") from error


def read_inbox(
    inbox: Mapping[NodeId, Message], weights: Mapping[NodeId, float], layout: Layout
) -> Sequence[Heard]:
    """Read all messages of a round, in sorted order of their senders.

    Raises
    ------
    MessageError
        A message cannot be accepted, or its sender has no weight. Names the sender.
    """
    each = read_each(inbox, weights, lambda message: read_message(message, layout))
    return [Heard(sender, float(weights[sender]), *read) for sender, read in each]


def read_each(
    inbox: Mapping[NodeId, Message],
    weights: Mapping[NodeId, float],
    read: Callable[[Message], T],
) -> list[tuple[NodeId, T]]:
    """Read all messages of a round by `read`, in sorted order of their senders.

    Raises
    ------
    MessageError
        `read` refuses a message, or its sender has no weight. Names the sender.
    """
    heard = []
    for sender in sorted(inbox):
        if sender not in weights:
            raise MessageError(f"not a neighbour: {sender!r}; allowed: {sorted(weights)}")
        try:
            heard.append((sender, read(inbox[sender])))
        except MessageError as error:
            raise MessageError(f"{error} (message of {sender!r})") from error
    return heard
