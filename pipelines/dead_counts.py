"""How many dead letters there were, by reason, where the letters themselves go to a topic."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import bytewax.operators as op
from bytewax.dataflow import Stream, operator
from bytewax.operators import KeyedStream, StatefulBatchLogic
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from typing_extensions import override

from anabranch.stream import DeadLetter
from pipelines.run_dir import write_whole

__all__ = ["CountFile", "count_by_reason"]

_ONE = "dead"
Counts = dict[str, int]


class _Counting(StatefulBatchLogic[str, Counts, Counts]):
    def __init__(self, state: Counts | None) -> None:
        self._counts = Counter(state or {})

    @override
    def on_batch(self, values: list[str]) -> tuple[Iterable[Counts], bool]:
        self._counts.update(values)
        return [dict(self._counts)], self.RETAIN

    @override
    def snapshot(self) -> Counts:
        return dict(self._counts)


@operator
def count_by_reason(step_id: str, up: Stream[DeadLetter]) -> KeyedStream[Counts]:
    """Count dead letters by reason; emits all counts so far, exact across crash and resume."""

    def reasons(letters: list[DeadLetter]) -> list[tuple[str, str]]:
        return [(_ONE, letter.reason) for letter in letters]

    named = op.flat_map_batch("reasons", up, reasons)
    return op.stateful_batch("count", named, _Counting)


class _Writer(StatelessSinkPartition[tuple[str, Counts]]):
    def __init__(self, path: Path) -> None:
        self._path = path

    @override
    def write_batch(self, items: list[tuple[str, Counts]]) -> None:
        write_whole(self._path, json.dumps(dict(sorted(items[-1][1].items()))))


@dataclass(frozen=True)
class CountFile(DynamicSink[tuple[str, Counts]]):
    """Keep the newest counts in a file, whole or not at all."""

    path: Path

    @override
    def build(self, step_id: str, worker_index: int, worker_count: int) -> _Writer:
        return _Writer(self.path)
