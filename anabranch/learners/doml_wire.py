"""What DOML's messages hold, and reading them without trust."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from anabranch.errors import ConfigurationError, MessageError
from anabranch.features.standardiser import Moments
from anabranch.kernels.checks import LIMIT, bounded
from anabranch.labels import named
from anabranch.learners.doml_frame import Coordinates
from anabranch.learners.inbox import sealed
from anabranch.protocol import Array, Arrays, Message, NodeId, freeze

__all__ = [
    "FRAME", "HALF", "LABELS", "RANK", "READY", "ROWS", "STATE", "Telling", "Wire",
    "digest_of", "fit", "label_array", "widened",
]  # fmt: skip

STATE = (
    "tag", "version", "base", "level", "scale", "labels", "echoes", "rows",
    "count", "digest", "names", "parts",
)  # fmt: skip
"""Entries of the array "state"; "parts" adds up what is in the message, "rows" is how many
rows of P, or columns of a factor, it has."""
READY, FRAME, LABELS, ROWS, RANK, HALF = 1, 2, 4, 8, 16, 32
"""Parts: parameters in coordinates of the network, those coordinates, names of labels;
parameters by rows, as factors, as float16."""
_LARGEST = 1e100
_MOST_LABELS = 1 << 24
"""Bytes of their names: room for ten thousand of two hundred letters."""
_PAIR = ("P", "beta")
_FORMS = {0: _PAIR, ROWS: ("rows", *_PAIR), RANK: ("left", "right"), HALF: ("unit", *_PAIR)}


@dataclass(frozen=True, slots=True)
class Telling:
    """One neighbour's message, read and checked.

    Attributes
    ----------
    sender : its name; "" where it was only checked
    state : name -> number, by `STATE`
    echo : (m,) tags of the messages it was made from
    pair : P and beta as (2, d, q), or rows of them, or what they moved by; None while the
        sender warms up
    rows : (r,) places of the rows in `pair`, or None for all
    moments, varied : of the warm-up, or None
    frame : coordinates of the sender's parameters where it tells them
    labels : names of the sender's labels where it tells them
    """

    sender: NodeId
    state: Mapping[str, float]
    echo: Array
    pair: Array | None
    rows: Array | None
    moments: Moments | None
    varied: Array | None
    frame: Coordinates | None
    labels: tuple[str, ...] | None

    @property
    def key(self) -> tuple[float, int]:
        """Of the coordinates its parameters are in."""
        return self.state["count"], int(self.state["digest"])

    @property
    def moves(self) -> bool:
        """Whether `pair` is to be added to what was told before."""
        return bool(int(self.state["parts"]) & (RANK | HALF)) and self.state["base"] > 0.0


def digest_of(text: bytes) -> int:
    """Give a number below 2^52 for bytes; float64 holds it exactly."""
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big") >> 12


def label_array(labels: Sequence[str]) -> Array:
    """Give names as a frozen (n,) uint8 array of JSON."""
    text = json.dumps(list(labels), ensure_ascii=False).encode()
    return freeze(np.frombuffer(text, dtype=np.uint8).copy())


def fit(array: Array) -> bool:
    """Tell whether all numbers are finite and within `LIMIT`."""
    flat = np.ascontiguousarray(array, dtype=np.float64).reshape(-1)
    return bool(bounded(sealed(flat)))


def widened(arrays: Arrays, parts: int, dtype: Any) -> Array:
    """Give (2, d, q) of what a message's arrays mean, the same at sender and receiver."""
    if parts & RANK:
        product = np.asarray(arrays["left"], dtype) @ np.asarray(arrays["right"], dtype)
        return np.stack(np.split(product, 2, axis=1))
    pair = np.stack([np.asarray(arrays[name], dtype) for name in _PAIR])
    if parts & HALF:
        pair *= np.asarray(arrays["unit"], dtype)[:, None, None]
    return pair


@dataclass(frozen=True, slots=True)
class Wire:
    """The layout of messages between nodes of one set of settings."""

    features: int
    bias: bool
    dtype: Any = np.float64

    def read_all(
        self, inbox: Mapping[NodeId, Message], weights: Mapping[NodeId, float]
    ) -> list[Telling]:
        """Read the messages of a round, in sorted order of their senders.

        Raises
        ------
        MessageError
            A message cannot be accepted, or its sender is no neighbour. Names the sender.
        """
        told = []
        for sender in sorted(inbox):
            if sender not in weights:
                raise MessageError(f"not a neighbour: {sender!r}; allowed: {sorted(weights)}")
            try:
                told.append(self.read(inbox[sender], sender))
            except MessageError as error:
                raise MessageError(f"{error} (message of {sender!r})") from error
        return told

    def read(self, message: Message, sender: NodeId = "") -> Telling:
        """Check a message and give what it says.

        Raises
        ------
        MessageError
            An array is missing, unknown, of wrong shape, not finite, or out of range.
        """
        given = message.arrays
        state = _state(given)
        parts = int(state["parts"])
        _check_names(given, state, parts)
        echo = _array(given, "echo", (int(state["echoes"]),)) if state["echoes"] else np.empty(0)
        pair, rows = self._pair(given, state, parts) if parts & READY else (None, None)
        moments, varied = self._moments(given)
        return Telling(
            sender, state, echo, pair, rows, moments, varied,
            self._frame(given, state), _labels(given, state),
        )  # fmt: skip

    def _pair(
        self, given: Arrays, state: Mapping[str, float], parts: int
    ) -> tuple[Array, Array | None]:
        d, q, r = self.features + int(self.bias), int(state["labels"]), int(state["rows"])
        rows = None
        shapes: dict[str, tuple[int, ...]]
        if parts & RANK:
            shapes = {"left": (d, r), "right": (r, 2 * q)}
        elif parts & ROWS:
            shapes, rows = dict.fromkeys(_PAIR, (r, q)), _places(given, r, d)
        else:
            shapes = dict.fromkeys(_PAIR, (d, q)) | ({"unit": (2,)} if parts & HALF else {})
        arrays = {name: _array(given, name, shape) for name, shape in shapes.items()}
        with np.errstate(over="ignore"):
            pair = widened(arrays, parts, self.dtype)
        if not np.isfinite(pair).all():
            raise MessageError(f"not finite: {sorted(shapes)} as {np.dtype(self.dtype)}")
        return pair, rows

    def _moments(self, given: Arrays) -> tuple[Moments | None, Array | None]:
        if "varied" not in given:
            return None, None
        varied = _array(given, "varied", (self.features,))
        try:
            return Moments.read(given, self.features), varied
        except (TypeError, ValueError) as error:
            raise MessageError(f"wrong moments: {error}") from error

    def _frame(self, given: Arrays, state: Mapping[str, float]) -> Coordinates | None:
        if "frame" not in given:
            return None
        centre, scale = _array(given, "frame", (2, self.features))
        if scale.min() <= 0.0:
            raise MessageError(f"not positive: frame has a scale of {scale.min()}; allowed: > 0")
        frame = Coordinates.read(state["count"], centre, scale, bias=self.bias)
        if frame.digest != state["digest"]:
            raise MessageError("damaged: frame is not the one named; allowed: the sender's own")
        return frame


def _state(given: Arrays) -> dict[str, float]:
    if "state" not in given:
        raise MessageError(f"wrong arrays: {sorted(given)}; allowed: state and others")
    numbers = _array(given, "state", (len(STATE),))
    if numbers.min() < 0.0:
        raise MessageError(f"negative: state has {numbers.min()}; allowed: 0 or more")
    return dict(zip(STATE, numbers.tolist(), strict=True))


def _check_names(given: Arrays, state: Mapping[str, float], parts: int) -> None:
    expected = {"state"} | ({"echo"} if state["echoes"] else set())
    form = parts & (ROWS | RANK | HALF)
    if parts & READY and form in _FORMS:
        expected |= set(_FORMS[form])
    expected |= {"frame"} if parts & FRAME else set()
    expected |= {"labels"} if parts & LABELS else set()
    if any(name in given for name in (*Moments.NAMES, "varied")):
        expected |= {*Moments.NAMES, "varied"}
    if given.keys() != expected:
        raise MessageError(f"wrong arrays: {sorted(given)}; allowed: {sorted(expected)}")


def _array(given: Arrays, name: str, shape: tuple[int, ...]) -> Array:
    """Check an array of numbers; what it gives may be the sender's own."""
    array = np.asarray(given[name])
    if array.shape != shape or array.dtype.kind != "f":
        raise MessageError(
            f"wrong shape: {name} has {array.shape} {array.dtype}; allowed: {shape} of floats, "
            "as the nodes of a job share one set of settings"
        )
    if not fit(array):
        raise MessageError(
            f"not finite: {name} has a value that is no number below {LIMIT:g} in magnitude"
        )
    return array


def _places(given: Arrays, count: int, width: int) -> Array:
    """Read the increasing places of rows."""
    rows = np.asarray(given["rows"])
    good = rows.dtype == np.int32 and rows.shape == (count,)
    if good and count:
        good = bool(rows[0] >= 0 and rows[-1] < width and (np.diff(rows) > 0).all())
    if not good:
        raise MessageError(f"wrong rows: {rows.dtype} {rows.shape}; allowed: below {width}, sorted")
    return rows.astype(np.int64)


def _labels(given: Arrays, state: Mapping[str, float]) -> tuple[str, ...] | None:
    if "labels" not in given:
        return None
    array = np.asarray(given["labels"])
    if array.dtype != np.uint8 or array.ndim != 1 or array.size > _MOST_LABELS:
        raise MessageError(
            f"wrong labels: {array.dtype} {array.shape}; allowed: (n,) uint8, n <= {_MOST_LABELS}"
        )
    text = array.tobytes()
    try:
        labels = named(json.loads(text))
    except (ValueError, TypeError, ConfigurationError) as error:
        raise MessageError(f"wrong labels: {error}") from error
    if len(labels) != state["labels"] or digest_of(text) != state["names"]:
        raise MessageError("damaged: labels are not those named; allowed: the sender's own")
    return labels
