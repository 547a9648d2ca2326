"""JSON Lines files as a sink, each item in them exactly once."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import msgspec
import numpy as np
from bytewax.outputs import FixedPartitionedSink, StatefulSinkPartition
from typing_extensions import override

from anabranch.errors import ConfigurationError
from anabranch.protocol import Array
from anabranch.stream import RAW_LIMIT, DeadLetter, Predictions
from connectors.records import SourceError

__all__ = [
    "JsonLinesSink", "encode_dead_letter", "encode_plain", "encode_predictions", "plain_labels",
    "plain_margins",
]  # fmt: skip

X = TypeVar("X")


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise NotImplementedError(f"no JSON for {type(value).__name__}")


_ENCODER = msgspec.json.Encoder(enc_hook=_plain)


def encode_plain(item: Any) -> bytes:
    r"""Encode a dictionary, or anything msgspec or numpy makes JSON of, as one line.

    >>> encode_plain({"rate": np.float64(0.5), "node": None})
    b'{"rate":0.5,"node":null}\n'
    """
    return _ENCODER.encode(item) + b"\n"


def encode_dead_letter(letter: DeadLetter) -> bytes:
    r"""Encode a dead letter as one line; bytes of `raw` that are not UTF-8 become \xhh.

    No more than `RAW_LIMIT` bytes of it: the record can be looked up where it came from.

    >>> encode_dead_letter(DeadLetter("malformed", "no", "a.csv", "a.csv", 3, b"1,\xff"))[-19:]
    b'3,"raw":"1,\\\\xff"}\n'
    """
    raw = letter.raw[:RAW_LIMIT].decode("utf-8", "backslashreplace")
    return encode_plain(
        {
            "reason": letter.reason,
            "detail": letter.detail,
            "source": letter.source,
            "partition": letter.partition,
            "position": letter.position,
            "raw": raw,
        }
    )


def plain_labels(y: Array, names: Sequence[str] | None) -> list[Any]:
    """Give labels as JSON has them: numbers, or of sets the names of the labels in each.

    Parameters
    ----------
    y : (n,), or (n, q) of 0 and 1, a row of NaN where the labels are still to come
    names : of the q columns; None gives rows of 0 and 1

    >>> plain_labels(np.array([[1.0, 0.0], [1.0, 1.0], [np.nan, np.nan]]), ("calm", "sad"))
    [['calm'], ['calm', 'sad'], None]
    """
    if y.ndim == 1 or names is None:
        return cast(list[Any], y.tolist())
    lists: list[list[str] | None] = [[] for _ in y]
    for row, column in np.argwhere(y == 1).tolist():
        cast(list[str], lists[row]).append(names[column])
    for row in np.flatnonzero(np.isnan(y).any(axis=1)).tolist():
        lists[row] = None
    return lists


def plain_margins(margins: Array, names: Sequence[str] | None) -> list[Any]:
    """Give margins (n, q) as lists, or by the names of their columns, which may grow.

    >>> plain_margins(np.array([[0.5, -0.25]]), ("calm", "sad"))
    [{'calm': 0.5, 'sad': -0.25}]
    """
    rows = margins.tolist()
    return rows if names is None else [dict(zip(names, row, strict=True)) for row in rows]


def encode_predictions(item: Predictions) -> bytes:
    r"""Encode the predictions for a share, one line a row; a label still to come is null.

    Margins, where there are any, are the last field. Sets of labels are lists of their names, and
    margins an object by these; lists of numbers where the columns have no names.

    >>> one = np.ones(1, np.int64)
    >>> encode_predictions(Predictions("n0", 2, "a.csv", one, one, one))
    b'{"node":"n0","round":2,"partition":"a.csv","position":1,"y":1,"predicted":1,"held":false}\n'
    """
    y, predicted = (plain_labels(array, item.labels) for array in (item.y, item.predicted))
    columns = zip(item.positions.tolist(), y, predicted, strict=True)
    rows: list[dict[str, Any]] = [
        {
            "node": item.node,
            "round": item.round,
            "partition": item.partition,
            "position": position,
            "y": truth,
            "predicted": predicted,
            "held": bool(item.held),
        }
        for position, truth, predicted in columns
    ]
    if item.margins is not None:
        for row, margins in zip(rows, plain_margins(item.margins, item.labels), strict=True):
            row["margins"] = margins
    return _ENCODER.encode_lines(rows)


class _JsonLinesPartition(StatefulSinkPartition[X, int]):
    """The open file; its state is its length in bytes."""

    def __init__(self, path: Path, encode: Callable[[X], bytes], state: int | None) -> None:
        self._path, self._encode = path, encode
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(path, "ab")  # noqa: SIM115 - closed by close
        size, wanted = self._file.tell(), state or 0
        if size < wanted:
            self._file.close()
            raise SourceError(
                f"{path} was cut short: it has {size} bytes, and {wanted} were written when the"
                " job to resume was saved"
            )
        self._file.truncate(wanted)
        self._file.seek(wanted)
        self._written = False

    @override
    def write_batch(self, values: list[X]) -> None:
        self._file.write(b"".join([self._encode(value) for value in values]))
        self._file.flush()
        self._written = True

    @override
    def snapshot(self) -> int:
        # A kill loses nothing that was flushed. A power cut may, while the recovery store, which
        # does sync, remembers the length: so what a snapshot counts must be on the disk.
        if self._written:
            os.fsync(self._file.fileno())
            self._written = False
        return self._file.tell()

    @override
    def close(self) -> None:
        self._file.close()


class _LeftPartition(StatefulSinkPartition[X, int | None]):
    """A file that is no longer written; its length is remembered."""

    def __init__(self, state: int | None) -> None:
        self._state = state

    @override
    def write_batch(self, values: list[X]) -> None:
        raise AssertionError("nothing goes to a file that was left")

    @override
    def snapshot(self) -> int | None:
        return self._state


@dataclass(frozen=True)
class JsonLinesSink(FixedPartitionedSink[X, int], Generic[X]):
    """Writes (key, item) pairs to one file; resuming cuts it to where the snapshot was.

    Without a snapshot to resume from the file begins anew. Readers may see lines that a crash
    takes back: those since the last snapshot.

    Attributes
    ----------
    path : the file; its folder is made if need be
    encode : makes an item zero or more whole lines of bytes
    former : names of other files, by which snapshots may know what was written before

    Raises
    ------
    ConfigurationError
        The path is a directory.

    >>> JsonLinesSink("out.jsonl", encode_plain).list_parts()
    ['out.jsonl']
    """

    path: str | Path
    encode: Callable[[X], bytes]
    former: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if Path(self.path).is_dir():
            raise ConfigurationError(f"the output {str(self.path)!r} is a directory, not a file")

    @override
    def list_parts(self) -> list[str]:
        return sorted({Path(self.path).name, *self.former})

    @override
    def part_fn(self, item_key: str) -> int:
        return self.list_parts().index(Path(self.path).name) if self.former else 0

    @override
    def build_part(self, step_id: str, for_part: str, resume_state: int | None) -> Any:
        if for_part != Path(self.path).name:
            return _LeftPartition[X](resume_state)
        return _JsonLinesPartition(Path(self.path), self.encode, resume_state)
