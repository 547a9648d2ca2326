"""Records that were read: the good ones as arrays, the bad ones as dead letters."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from anabranch.protocol import Array, freeze
from anabranch.sparse import freeze_rows
from anabranch.sparse import join_rows as join_features
from anabranch.stream import RAW_LIMIT, Apart, Block, DeadLetter
from connectors.inputs import no_rows
from connectors.label_names import empty_labels, label_columns, occurring
from connectors.records import RecordFormat

__all__ = ["Origin", "Rows", "join_rows"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where records come from, as dead letters tell it."""

    source: str
    partition: str

    def dead(self, reason: str, detail: str, position: int, raw: bytes) -> DeadLetter:
        """Make a dead letter; the raw record is cut to RAW_LIMIT bytes.

        >>> Origin("a.csv", "a.csv").dead("malformed", "no", 3, b"?" * 5000).raw == b"?" * 1000
        True
        """
        return DeadLetter(reason, detail, self.source, self.partition, position, raw[:RAW_LIMIT])


@dataclass(frozen=True, slots=True)
class Rows:
    """Records in the order they were read: the good ones as arrays, the bad ones apart.

    X is an array or `SparseRows`.
    Where labels grow, `sets` holds the names of each row's (None: still to come), and y has no
    columns: which there are is known when a block is whole.
    """

    X: Any
    y: Array
    positions: Array
    keys: list[str] | None
    dead: tuple[DeadLetter, ...] = ()
    records: int = 0
    times: Array | None = None
    apart: Apart | None = None
    sets: list[tuple[str, ...] | None] | None = None

    def block(self, partition: str, tick: int, held: Array | None) -> Block:
        """Make a tick's block; `held` are the sorted record numbers that are held back."""
        y, labels, mask = self.y, None, None
        if self.sets is not None:
            labels = occurring(self.sets)
            y = label_columns(self.sets, labels)
        if held is not None:
            mask = freeze(np.isin(self.positions, held))
        return Block(
            partition, tick, freeze_rows(self.X), freeze(y), freeze(self.positions), self.keys,
            mask if mask is not None and mask.any() else None, self.dead, self.records,
            None if self.times is None else freeze(self.times), self.apart, labels,
        )  # fmt: skip


def join_rows(parts: list[Rows], form: RecordFormat, width: int) -> Rows:
    """Put pieces of a tick together; no pieces make rows of no records."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        nobody: list[str] | None = [] if form.named else None
        y, none = empty_labels(form, 0), np.empty(0, np.int64)
        return Rows(no_rows(form, width), y, none, nobody, sets=[] if form.grows else None)
    keys = [name for part in parts for name in part.keys or ()]
    sets = [names for part in parts for names in part.sets or ()]
    return Rows(
        join_features([part.X for part in parts]),
        np.concatenate([part.y for part in parts]),
        np.concatenate([part.positions for part in parts]),
        keys if form.named else None,
        tuple(letter for part in parts for letter in part.dead),
        sum(part.records for part in parts),
        _join([part.times for part in parts]),
        _join_apart([part.apart for part in parts]),
        sets if form.grows else None,
    )


def _join(arrays: list[Array | None]) -> Array | None:
    there = [array for array in arrays if array is not None]
    return np.concatenate(there) if len(there) == len(arrays) else None


def _join_apart(parts: list[Apart | None]) -> Apart | None:
    there = [part for part in parts if part is not None]
    if len(there) < len(parts):
        return None
    return Apart(
        freeze(np.concatenate([part.kinds for part in there])),
        [id for part in there for id in part.ids],
        freeze(np.concatenate([part.times for part in there])),
    )
