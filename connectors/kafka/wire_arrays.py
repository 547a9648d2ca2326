"""Arrays as bytes between sites: every bit survives, and nothing hostile is believed."""

from collections.abc import Iterable
from math import prod

import msgspec
import numpy as np

from anabranch.protocol import Array, Arrays, freeze

__all__ = ["MOST_ELEMENTS", "ArrayError", "WireArray", "pack_arrays", "unpack_arrays"]

MOST_ELEMENTS = 1 << 22
"""Numbers that the arrays of one letter may hold together. A sparse array declares more than it
brings, so this is what bounds the memory a letter can take."""

_MOST_DIMENSIONS = 8
_KINDS = frozenset(
    ("<f8", "<f4", "<f2", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1")
)
_INDEX = np.dtype("<u4")


class ArrayError(Exception):
    """An array cannot be read; carries the reason and a sentence."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail


class WireArray(msgspec.Struct, array_like=True, forbid_unknown_fields=True, frozen=True):
    """One array: all its values, or, with `indices`, those whose bits are not all zero."""

    name: str
    kind: str
    shape: tuple[int, ...]
    values: bytes
    indices: bytes | None = None


def pack_arrays(arrays: Arrays) -> list[WireArray]:
    r"""Write arrays down, each dense or sparse, whichever is smaller.

    Raises
    ------
    TypeError
        An array holds no plain numbers.

    >>> pack_arrays({"w": np.array([0.0, 0.0, 0.0, 1.0])})[0].indices
    b'\x03\x00\x00\x00'
    """
    return [_pack(name, array) for name, array in arrays.items()]


def _pack(name: str, array: Array) -> WireArray:
    kind = array.dtype.newbyteorder("<")
    if kind.str not in _KINDS:
        raise TypeError(
            f"array {name!r} is of {array.dtype}: allowed between sites are"
            f" {', '.join(sorted(_KINDS))}"
        )
    flat = np.ascontiguousarray(array, kind).reshape(-1)
    # By their bits: -0.0 is not nothing.
    there = np.flatnonzero(flat.view(f"<u{kind.itemsize}"))
    if len(there) * (_INDEX.itemsize + kind.itemsize) < flat.nbytes and len(flat) <= 1 << 32:
        indices = there.astype(_INDEX).tobytes()
        return WireArray(name, kind.str, array.shape, flat[there].tobytes(), indices)
    return WireArray(name, kind.str, array.shape, flat.tobytes())


def unpack_arrays(packed: Iterable[WireArray]) -> dict[str, Array]:
    """Read arrays; they come out frozen.

    Raises
    ------
    ArrayError
        malformed_message, too_large or not_finite_message.

    >>> unpack_arrays(pack_arrays({"w": np.eye(2)}))["w"].tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    arrays: dict[str, Array] = {}
    room = MOST_ELEMENTS
    for one in packed:
        size = _size(one, room)
        room -= size
        if one.name in arrays:
            raise _malformed(one, "comes twice")
        arrays[one.name] = _unpack(one, size)
    return arrays


def _size(one: WireArray, room: int) -> int:
    """Check what an array declares before any of it is made."""
    if one.kind not in _KINDS:
        raise _malformed(one, f"is of {one.kind[:20]!r}, which is not allowed")
    if len(one.shape) > _MOST_DIMENSIONS or min(one.shape, default=0) < 0:
        raise _malformed(one, "has a shape that is not allowed")
    size = prod(one.shape)
    if max(size, *one.shape, 0) > room:
        raise ArrayError(
            "too_large",
            f"array {one.name[:40]!r} would take the letter beyond {MOST_ELEMENTS} numbers",
        )
    return size


def _unpack(one: WireArray, size: int) -> Array:
    values = _values(one)
    if one.indices is None:
        if len(values) != size:
            raise _malformed(one, f"brings {len(values)} values, not {size}")
        return freeze(values.reshape(one.shape))
    if len(one.indices) != len(values) * _INDEX.itemsize:
        raise _malformed(one, "brings not one index a value")
    indices = np.frombuffer(one.indices, _INDEX)
    if len(indices) and (indices[-1] >= size or not (indices[1:] > indices[:-1]).all()):
        raise _malformed(one, "has indices out of order or out of range")
    whole: Array = np.zeros(size, values.dtype)
    whole[indices] = values
    return freeze(whole.reshape(one.shape))


def _values(one: WireArray) -> Array:
    kind = np.dtype(one.kind)
    if len(one.values) % kind.itemsize:
        raise _malformed(one, "breaks off within a value")
    values: Array = np.frombuffer(one.values, kind)
    if kind.kind == "f" and not np.isfinite(values).all():
        at = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ArrayError(
            "not_finite_message", f"array {one.name[:40]!r} has {values[at]} among its values"
        )
    if kind.kind == "b" and (values.view(np.uint8) > 1).any():
        raise _malformed(one, "has truth values that are none")
    return values


def _malformed(one: WireArray, what: str) -> ArrayError:
    return ArrayError("malformed_message", f"array {one.name[:40]!r} {what}")
