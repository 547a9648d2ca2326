"""Arrays as plain tuples: what pickles and crosses processes at a fraction of numpy's cost."""

import numpy as np

from anabranch.protocol import Array, Arrays

__all__ = ["Packed", "pack", "pack_all", "unpack", "unpack_all"]

Packed = tuple[str, tuple[int, ...], bytes]
"""dtype, shape and bytes in C order."""


def pack(array: Array) -> Packed:
    r"""Give an array of numbers as plain values.

    Raises
    ------
    TypeError
        The array holds Python objects, whose bytes are addresses.

    Examples
    --------
    >>> pack(np.arange(2, dtype=np.int8))
    ('|i1', (2,), b'\x00\x01')
    """
    if array.dtype.hasobject:
        raise TypeError("an array of Python objects cannot be packed; allowed: numbers")
    return array.dtype.str, array.shape, array.tobytes()


def unpack(packed: Packed) -> Array:
    """Give the array back, read-only and without a copy.

    >>> unpack(pack(np.eye(2)))[1].tolist()
    [0.0, 1.0]
    """
    kind, shape, data = packed
    array: Array = np.frombuffer(data, dtype=kind).reshape(shape)
    return array


def pack_all(arrays: Arrays) -> tuple[tuple[str, Packed], ...]:
    """Pack named arrays."""
    return tuple((name, pack(array)) for name, array in arrays.items())


def unpack_all(packed: tuple[tuple[str, Packed], ...]) -> dict[str, Array]:
    """Give the named arrays back."""
    return {name: unpack(one) for name, one in packed}
