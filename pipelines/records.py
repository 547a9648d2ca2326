"""What a job's records look like, as the connectors are told."""

from typing import Literal

from connectors import RecordFormat
from pipelines.config import Job
from pipelines.config.learner import task_of

__all__ = ["record_format"]


def record_format(job: Job) -> RecordFormat:
    """Give the record format of a job that reads files or topics.

    Raises
    ------
    ConfigurationError
        Keys of [source] contradict each other.
    """
    source = job.source
    place: Literal["field", "key", "header"] = "field"
    if source.node == "key":
        place = "key"
    elif source.node.startswith("header:"):
        place = "header"
    task = task_of(job.learner)
    named = source.node == "key" or source.node_name is not None
    return RecordFormat(
        label=source.label,
        features=source.features,
        node_field=source.node_name,
        ranks=job.learner.ranks if task == "ordinal" else None,
        task=task,
        nodes=frozenset(job.hosted) if named else None,
        node_from=place,
        columns=source.columns,
        sparse_width=source.sparse_width,
        id_from=source.id,
        labels=source.label_names,
        label_list=source.label_list,
        label_separator=source.label_separator,
        new_labels=source.new_labels,
    )
