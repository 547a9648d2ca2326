"""The source that a job names."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bytewax.inputs import FixedPartitionedSource

from anabranch.errors import ConfigurationError
from anabranch.stream import Block, End
from connectors import FileSource, GeneratorSource, read_split
from pipelines.config import Job, build_stream
from pipelines.config.source import FILES
from pipelines.config.sparse import sparse_rows
from pipelines.records import record_format
from pipelines.signal import window_plan
from pipelines.topics import NoTopics, Topics

__all__ = ["JobSource", "build_source"]

_NONE = NoTopics()


@dataclass(frozen=True)
class JobSource:
    """A source of blocks, and what the rest of the job must know of it."""

    blocks: FixedPartitionedSource[Block | End, Any]
    """Of records as they are, where nodes learn windows of them."""
    partitions: tuple[str, ...]
    features: tuple[str, ...]
    begins: Mapping[str, int] = field(default_factory=dict)
    """First tick of the partitions that joined later."""
    columns: int | None = None
    """Number of features where these have numbers, not names."""

    @property
    def width(self) -> int:
        """Number of features; one stands in where no file has even a header."""
        return self.columns or max(1, len(self.features))


def build_source(job: Job, topics: Topics = _NONE) -> JobSource:
    """Open a job's source.

    Raises
    ------
    ConfigurationError
        A file cannot be read, its header does not fit, or options do not go together.
    """
    if job.source.kind == "kafka":
        found = topics.source(job)
    else:
        blocks = _generated(job) if job.source.generated else _files(job)
        columns = job.source.columns_in_all
        found = JobSource(blocks, blocks.partitions, blocks.features, columns=columns)
    windows = window_plan(job)
    return found if windows is None else replace(found, features=windows.names(found.features))


def _generated(job: Job) -> GeneratorSource:
    source = job.source
    sizes = (source.partitions, source.rows, source.rows_per_tick)
    return GeneratorSource(build_stream(source), *sizes, sparse=sparse_rows(job))


def _files(job: Job) -> FileSource:
    source = job.source
    return FileSource(
        source.paths,
        _format(source.kind),
        record_format(job),
        source.rows_per_tick,
        follow=source.follow,
        shuffle_seed=source.seed if source.shuffle else None,
        split=_split(job),
        linger=_linger(job),
    )


def _linger(job: Job) -> float | None:
    waits = job.exchange.mode == "synchronous" or not job.source.follow
    return None if waits else float(job.source.linger)


def _format(kind: str) -> Any:
    if kind not in FILES:
        raise ConfigurationError(f"source.kind is {kind!r}; allowed for files: {', '.join(FILES)}")
    return kind


def _split(job: Job) -> tuple[int, ...] | None:
    source = job.source
    if source.split is None:
        return None
    return read_split(source.split, source.split_row or 0)
