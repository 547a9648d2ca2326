"""What the tests of the connectors share."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from anabranch.sparse import SparseRows
from anabranch.stream import Block, DeadLetter, End
from connectors.files import FileSource
from connectors.parser import RecordParser
from connectors.partition import PartState
from connectors.records import RecordFormat
from connectors.rows import Rows, join_rows

Seen = list[Block | End]


def source(path: Path | Sequence[Path], rows: int = 10, **options: Any) -> FileSource:
    """Make a source; its format follows the suffix, options of the records come as `records`."""
    paths = [path] if isinstance(path, Path) else list(path)
    kinds = ("jsonl", "arff", "svmlight")
    kind = next((kind for kind in kinds if f".{kind}" in paths[0].name), "csv")
    records = options.pop("records", RecordFormat())
    names = tuple(map(str, paths))
    return FileSource(names, kind, records, rows, **options)  # type: ignore[arg-type]


def drain(
    of: Any, part: str | None = None, state: PartState | None = None, stop_after: int | None = None
) -> tuple[Seen, PartState]:
    """Read a partition to its end or for some items; give the items and the snapshot then."""
    partition = of.build_part("step", part or of.partitions[0], state)
    seen: Seen = []
    try:
        while stop_after is None or len(seen) < stop_after:
            seen.extend(partition.next_batch())
    except StopIteration:
        pass
    snapshot: PartState = partition.snapshot()
    partition.close()
    return seen, snapshot


def blocks(seen: Seen) -> list[Block]:
    return [item for item in seen if isinstance(item, Block)]


def letters(seen: Seen) -> list[DeadLetter]:
    return [letter for block in blocks(seen) for letter in block.dead]


def bits(X: Any) -> object:
    """Make rows of either kind comparable, bit by bit."""
    if isinstance(X, SparseRows):
        arrays = (X.indptr, X.indices, X.values)
        return X.features, *((array.dtype.char, array.tobytes()) for array in arrays)
    return X.tobytes()


def plain(item: Block | End) -> object:
    """Make an item comparable."""
    if isinstance(item, End):
        return item
    held = None if item.held is None else item.held.tolist()
    return (
        item.partition,
        item.tick,
        bits(item.X),
        item.y.tobytes(),
        item.positions.tolist(),
        item.keys,
        held,
        item.dead,
        item.records,
        item.labels,
    )


def same(left: Seen, right: Seen) -> bool:
    return [plain(item) for item in left] == [plain(item) for item in right]


def table(seen: Seen) -> np.ndarray[Any, Any]:
    """Give all good rows: features, label and position."""
    return np.concatenate(
        [np.column_stack([dense(block.X), block.y, block.positions]) for block in blocks(seen)]
    )


def dense(X: Any) -> np.ndarray[Any, Any]:
    """Give rows of either kind as an array."""
    return X.toarray() if isinstance(X, SparseRows) else X


def write_csv(path: Path, rows: int, width: int = 2) -> Path:
    """Write rows whose first feature is their number; the label is 1..3."""
    names = ",".join(f"x{i + 1}" for i in range(width))
    lines = [
        ",".join([str(row), *[repr(row / (i + 3)) for i in range(width - 1)], str(row % 3 + 1)])
        for row in range(rows)
    ]
    path.write_text("\n".join([names + ",y", *lines, ""]))
    return path


def parsed(parser: RecordParser, data: bytes, form: RecordFormat, width: int, most: int) -> Rows:
    """Parse a whole text, so many records at a time."""
    parts: list[Rows] = []
    at = done = 0
    while True:
        rows, at = parser.parse(data, at, True, most, done)
        if rows.records == 0:
            return join_rows(parts, form, width)
        parts.append(rows)
        done += rows.records
