"""What a job's records look like, as the connectors are told."""

from typing import Any, Literal

from anabranch.features.hashing import TextHasher
from connectors import RecordFormat
from pipelines.config import Job
from pipelines.config.learner import task_of
from pipelines.config.sparse import sparse_rows

__all__ = ["csv_settings", "record_format", "record_settings"]

_SAME = (
    "label", "features", "columns", "header", "separator", "text", "sparse_width", "index_base",
    "label_list", "label_separator", "new_labels", "max_labels",
)  # fmt: skip
"""Keys of [source] that record formats have by the same names."""
_KEPT = (
    "text", "text_bits", "ngrams", "separator", "header", "columns", "sparse_width", "index_base",
)  # fmt: skip


def record_format(job: Job) -> RecordFormat:
    """Give the record format of a job that reads files or topics.

    Raises
    ------
    ConfigurationError
        Keys of [source] contradict each other.
    """
    source, task = job.source, task_of(job.learner)
    named = source.node == "key" or source.node_name is not None
    same = {key: getattr(source, key) for key in _SAME}
    return RecordFormat(
        node_field=source.node_name,
        ranks=job.learner.ranks if task == "ordinal" else None,
        task=task,
        nodes=frozenset(job.hosted) if named else None,
        node_from=_node_place(source.node),
        id_from=source.id,
        labels=source.label_names,
        hasher=TextHasher(source.text_bits, source.ngrams),
        sparse=sparse_rows(job),
        **same,
    )


def _node_place(node: str) -> Literal["field", "key", "header"]:
    if node.startswith("header:"):
        return "header"
    return "key" if node == "key" else "field"


def csv_settings(job: Job) -> dict[str, Any]:
    """Give what a model's file tells of the CSV that its job read: separator and, bare, columns."""
    source = job.source
    bare = not source.header and source.kind == "csv"
    columns = record_format(job).columns_in_order if bare else ()
    return {"separator": source.separator, "columns": list(columns)}


def record_settings(job: Job) -> dict[str, Any] | None:
    """Give what a model's file must tell of records without named features, else None."""
    source = job.source
    if source.columns_in_all is None:
        return None
    settings = {key: getattr(source, key) for key in _KEPT}
    if source.kind == "reviews":
        return {**settings, "text": ("text",)}
    objects = source.kind == "jsonl" or (source.kind == "kafka" and source.format != "csv")
    if not source.header:
        settings["columns"] = record_format(job).columns_in_order
    return {**settings, "objects": objects}
