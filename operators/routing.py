"""Keys that spread nodes evenly over workers.

Bytewax sends a key to worker `hash(key) % workers`. Over a handful of nodes that is a
lottery: 13 of 20 on one of two workers is common, and the slowest worker sets the pace.
A short salt behind the name makes the hashes round robin for 1, 2, 3, 4, 6 and 12 workers.
Should Bytewax change its hash, only the balance is lost.
"""

from collections.abc import Iterable

from anabranch.protocol import NodeId

__all__ = ["balanced_keys", "key_hash", "worker_of"]

_MASK = (1 << 64) - 1
_CYCLE = 12


def balanced_keys(nodes: Iterable[NodeId]) -> dict[NodeId, str]:
    """Give each node the key it is routed and recovered by; in the order given, round robin.

    >>> keys = balanced_keys([f"n{i}" for i in range(6)])
    >>> [key_hash(keys[f"n{i}"]) % 2 for i in range(6)]
    [0, 1, 0, 1, 0, 1]
    """
    return {node: _salted(node, place % _CYCLE) for place, node in enumerate(nodes)}


def worker_of(place: int, workers: int) -> int:
    """Give the worker of the node at a place in the order that `balanced_keys` was given.

    Exact where `workers` divides 12; elsewhere a guess.

    >>> worker_of(13, 2)
    1
    """
    return place % _CYCLE % workers


def _salted(node: NodeId, wanted: int) -> str:
    salt = 0
    while key_hash(f"{node}~{salt}") % _CYCLE != wanted:
        salt += 1
    return f"{node}~{salt}"


def key_hash(key: str) -> int:
    """Hash a key as Bytewax 0.21 does: SipHash-1-3 with zero keys, of the bytes and 0xff."""
    data = key.encode() + b"\xff"
    v = [0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573]
    whole = len(data) - len(data) % 8
    words = [int.from_bytes(data[i : i + 8], "little") for i in range(0, whole, 8)]
    words.append((len(data) & 0xFF) << 56 | int.from_bytes(data[whole:], "little"))
    for word in words:
        v[3] ^= word
        _sip_round(v)
        v[0] ^= word
    v[2] ^= 0xFF
    for _ in range(3):
        _sip_round(v)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def _rotate(x: int, bits: int) -> int:
    return ((x << bits) | (x >> (64 - bits))) & _MASK


def _sip_round(v: list[int]) -> None:
    v[0] = (v[0] + v[1]) & _MASK
    v[2] = (v[2] + v[3]) & _MASK
    v[1] = _rotate(v[1], 13) ^ v[0]
    v[3] = _rotate(v[3], 16) ^ v[2]
    v[0] = _rotate(v[0], 32)
    v[2] = (v[2] + v[1]) & _MASK
    v[0] = (v[0] + v[3]) & _MASK
    v[1] = _rotate(v[1], 17) ^ v[2]
    v[3] = _rotate(v[3], 21) ^ v[0]
    v[2] = _rotate(v[2], 32)
