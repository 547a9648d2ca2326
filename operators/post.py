"""The post: one bundle of parcels a worker in, each node's parcels out."""

from collections.abc import Iterable
from typing import Any

import bytewax.operators as op
from bytewax.dataflow import operator
from bytewax.operators import KeyedStream, StatefulBatchLogic
from typing_extensions import override

from anabranch.protocol import NodeId
from operators.items import Hello, Parcel
from operators.routing import key_hash

__all__ = ["Bundle", "deliver", "post_keys"]

Bundle = list[tuple[Parcel | Hello, list[NodeId]]]
"""Parcels and those of their receivers that live on one worker."""

Letters = tuple[str, list[Parcel | Hello]]
"""A node's routing key, and what came for it."""


def post_keys(workers: int) -> list[str]:
    """Give one key a worker that Bytewax routes to that worker.

    >>> [key_hash(key) % 3 for key in post_keys(3)]
    [0, 1, 2]
    """
    keys: dict[int, str] = {}
    salt = 0
    while len(keys) < workers:
        key = f"post~{salt}"
        keys.setdefault(key_hash(key) % workers, key)
        salt += 1
    return [keys[worker] for worker in range(workers)]


class _Sorter(StatefulBatchLogic[Bundle, Letters, None]):
    """Sort bundles by receiver; remembers nothing."""

    def __init__(self, keys: dict[str, str]) -> None:
        self._keys = keys

    @override
    def on_batch(self, values: list[Bundle]) -> tuple[Iterable[Letters], bool]:
        letters: dict[NodeId, list[Parcel | Hello]] = {}
        for bundle in values:
            for parcel, receivers in bundle:
                for receiver in receivers:
                    letters.setdefault(receiver, []).append(parcel)
        return [(self._keys[node], parcels) for node, parcels in letters.items()], self.DISCARD

    @override
    def snapshot(self) -> None:
        return None


@operator
def deliver(
    step_id: str, up: KeyedStream[Bundle], keys: dict[str, str]
) -> KeyedStream[list[Parcel | Hello]]:
    """Carry bundles to their worker and sort them by receiver.

    A parcel crosses to another process once, however many of its receivers live there.

    Parameters
    ----------
    keys : routing key of each node
    """
    sorted_ = op.stateful_batch("sort", up, lambda state: _Sorter(keys))
    return op.flat_map_batch("strip", sorted_, _strip)


def _strip(items: list[tuple[str, Any]]) -> list[Letters]:
    return [letters for _, letters in items]
