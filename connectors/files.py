"""Files of records as a source: each file is a partition."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from typing_extensions import override

from anabranch.errors import ConfigurationError, nearest
from anabranch.stream import Block, End
from connectors.file_partition import FilePartition, PartState
from connectors.layout import FILE_FORMATS, FileFormat, check_format, find_features
from connectors.records import RecordFormat
from connectors.shuffled_partition import ShuffledPartition

__all__ = ["FileSource", "read_split"]


def read_split(path: str | Path, holdout: int) -> tuple[int, ...]:
    r"""Read one holdout of a splits file: the 0-based record numbers of its test rows.

    Parameters
    ----------
    path : a text file with one holdout a line, numbers separated by commas
    holdout : which line, from 0

    Raises
    ------
    ConfigurationError
        The file cannot be read, has no such line, or the line is not a list of numbers.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "splits.csv").write_text("0,2\n1,3\n")
    ...     read_split(Path(folder, "splits.csv"), 1)
    (1, 3)
    """
    try:
        lines = Path(path).read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"the splits file {str(path)!r} cannot be read: {error}") from None
    lines = lines[:-1] if lines[-1] == "" else lines
    if not 0 <= holdout < len(lines):
        raise ConfigurationError(
            f"holdout {holdout} is not in {str(path)!r}: allowed are 0 to {len(lines) - 1}"
        )
    try:
        return tuple(int(number) for number in lines[holdout].split(","))
    except ValueError as error:
        raise ConfigurationError(f"holdout {holdout} of {str(path)!r}: {error}") from None


def name_partitions(paths: Sequence[str]) -> dict[str, str]:
    """Name each path by its file name, with as many folders before it as make all names differ.

    >>> name_partitions(["/data/a/x.csv", "/data/b/x.csv"])
    {'a/x.csv': '/data/a/x.csv', 'b/x.csv': '/data/b/x.csv'}
    """
    parts = [Path(path).parts for path in paths]
    for depth in range(1, max(map(len, parts), default=0) + 1):
        names = ["/".join(part[-depth:]) for part in parts]
        if len(set(names)) == len(names):
            return dict(sorted(zip(names, paths, strict=True)))
    raise ConfigurationError("source.paths names a file twice: each must be there once")


@dataclass(frozen=True)
class FileSource(FixedPartitionedSource[Block | End, PartState]):
    """Records of CSV, JSON Lines, ARFF or svmlight files, plain or (by the suffix .gz) packed.

    Each file is one partition, named by its file name. Tick t of it holds the records
    [t rows_per_tick, (t + 1) rows_per_tick), good and bad, whatever the size of the blocks that
    were read. Blank lines are no records, nor are comments of ARFF and svmlight. Resuming
    continues at the next tick, exactly.

    A followed file never ends; its last tick waits until it is full, for as long as it takes,
    and so does a last line without its newline: what a tick holds does not depend on timing.
    With `linger` a tick of a followed file waits no longer than that after its first record.

    Attributes
    ----------
    paths : the files
    format : "csv", "jsonl", "arff" or "svmlight"
    records : what a record is
    rows_per_tick : records in a tick
    follow : read on when a (plain) file grows
    linger : seconds, for jobs in asynchronous time; None: every tick is full
    shuffle_seed : read a file's records in a random order of this seed; `positions` stay their
        numbers in the file. Keeps 24 bytes a record in memory, not the records.
    split : numbers of the records to hold back, for a source of one file; see `read_split`
    partitions : names of the partitions, sorted
    features : names of X's columns; () when every file is empty and none was named, or where
        columns are made of texts or have indices

    Raises
    ------
    ConfigurationError
        A file is missing, unreadable or a directory, its header does not fit `records`, files
        do not agree on the features, or options do not go together.

    >>> FileSource(("missing.csv",), "csv", RecordFormat(), 10)
    Traceback (most recent call last):
    anabranch.errors.ConfigurationError: source.paths names 'missing.csv', which cannot be read: \
No such file or directory
    """

    paths: tuple[str, ...]
    format: FileFormat
    records: RecordFormat
    rows_per_tick: int
    follow: bool = False
    shuffle_seed: int | None = None
    split: tuple[int, ...] | None = None
    linger: float | None = None
    partitions: tuple[str, ...] = field(init=False, compare=False)
    features: tuple[str, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "paths", tuple(str(path) for path in self.paths))
        self._check_options()
        if self.split is not None:
            object.__setattr__(self, "split", tuple(sorted(set(self.split))))
        names = name_partitions(self.paths)
        object.__setattr__(self, "partitions", tuple(names))
        object.__setattr__(self, "features", self._find_features(list(names.values())))

    def _check_options(self) -> None:
        if not self.paths:
            raise ConfigurationError("source.paths is empty: name at least one file")
        if self.format not in FILE_FORMATS:
            hint = nearest(self.format, list(FILE_FORMATS))
            raise ConfigurationError(f"source.format is {self.format!r}{hint}")
        check_format(self.format, self.records)
        if self.rows_per_tick < 1:
            raise ConfigurationError(
                f"source.rows_per_tick is {self.rows_per_tick}: allowed is 1 and up"
            )
        if self.follow and self.shuffle_seed is not None:
            raise ConfigurationError(
                "source.follow and source.shuffle_seed exclude each other: only a file that has"
                " ended can be shuffled"
            )
        if self.linger is not None and not (self.follow and self.linger >= 0):
            raise ConfigurationError(
                f"source.linger is {self.linger}: allowed is 0 and up, with source.follow"
            )
        packed = [path for path in self.paths if path.endswith(".gz")]
        if self.follow and packed:
            raise ConfigurationError(
                f"source.follow is set, but {packed[0]!r} is packed: only plain files are followed"
            )
        self._check_split()

    def _check_split(self) -> None:
        if self.split is None:
            return
        if len(self.paths) > 1:
            raise ConfigurationError(
                f"source.split numbers the records of one file, but source.paths names"
                f" {len(self.paths)}"
            )
        if min(self.split, default=0) < 0:
            raise ConfigurationError(
                f"source.split holds {min(self.split)}: record numbers begin at 0"
            )

    def _find_features(self, paths: list[str]) -> tuple[str, ...]:
        chosen, first = self.records.features, ""
        for path in paths:
            found = find_features(path, self.format, self.records)
            if found is None or (self.format == "jsonl" and chosen):
                continue
            if chosen and set(found) != set(chosen):
                raise ConfigurationError(
                    f"the headers of {first} and {path} do not name the same features:"
                    f" {', '.join(chosen)} against {', '.join(found)}"
                )
            chosen, first = chosen or found, first or path
        if not chosen and self.follow and self.records.width is None:
            raise ConfigurationError(
                "source.features must be named: the files to follow do not say yet what it is"
            )
        return chosen or ()

    @property
    def width(self) -> int:
        """Number of X's columns; 0 when nothing tells it."""
        return self.records.width or len(self.features)

    @override
    def list_parts(self) -> list[str]:
        return list(self.partitions)

    @override
    def build_part(
        self, step_id: str, for_part: str, resume_state: PartState | None
    ) -> StatefulSourcePartition[Block | End, PartState]:
        options: dict[str, Any] = {
            "path": name_partitions(self.paths)[for_part],
            "partition": for_part,
            "format": self.format,
            "form": self.records,
            "features": self.features,
            "width": self.width,
            "rows_per_tick": self.rows_per_tick,
            "split": self.split,
            "state": resume_state,
        }
        if self.shuffle_seed is not None:
            return ShuffledPartition(seed=self.shuffle_seed, **options)
        return FilePartition(follow=self.follow, linger=self.linger, **options)
