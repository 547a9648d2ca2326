"""Which partition a key goes to, as Kafka's own clients choose it, for many keys at once."""

from collections.abc import Sequence

import numpy as np

from anabranch.protocol import Array
from connectors.kernel import kernel

__all__ = ["partitions_of"]

_LOW32 = np.uint64(0xFFFFFFFF)
_M = np.uint64(0x5BD1E995)
_SEED = np.uint64(0x9747B28C)
_U8, _U13, _U15, _U24 = np.uint64(8), np.uint64(13), np.uint64(15), np.uint64(24)


@kernel
def _murmur2(data: Array, start: int, end: int) -> np.uint64:
    """MurmurHash2 of data[start:end] in 32 bits, with the seed of Kafka's clients."""
    h = _SEED ^ np.uint64(end - start)
    whole = start + (end - start) // 4 * 4
    for i in range(start, whole, 4):
        k = np.uint64(0)
        for j in range(3, -1, -1):
            k = (k << _U8) | np.uint64(data[i + j])
        k = (k * _M) & _LOW32
        k = ((k ^ (k >> _U24)) * _M) & _LOW32
        h = ((h * _M) & _LOW32) ^ k
    if whole < end:
        k = np.uint64(0)
        for i in range(end - 1, whole - 1, -1):
            k = (k << _U8) | np.uint64(data[i])
        h = ((h ^ k) * _M) & _LOW32
    h = ((h ^ (h >> _U13)) * _M) & _LOW32
    return h ^ (h >> _U15)


@kernel
def _deal(data: Array, lengths: Array, count: int) -> Array:
    """Hash consecutive keys of these lengths, modulo the number of partitions."""
    out = np.empty(len(lengths), np.int64)
    start = 0
    for i in range(len(lengths)):
        end = start + lengths[i]
        out[i] = np.int64(_murmur2(data, start, end) & np.uint64(0x7FFFFFFF)) % count
        start = end
    return out


def partitions_of(keys: Sequence[bytes], count: int) -> list[int]:
    """Give each key's partition among `count`.

    The client's own hash, in Python, takes 5 us a key: a quarter of the time of a send.

    >>> partitions_of([b"bearings:0:17", b""], 8)
    [7, 1]
    """
    lengths = np.fromiter(map(len, keys), np.int64, len(keys))
    data = np.frombuffer(b"".join(keys), np.uint8)
    dealt: list[int] = _deal(data, lengths, count).tolist()
    return dealt
