"""Checks of what has to do with texts, sparse records, and the columns of csv."""

from collections.abc import Mapping
from typing import NoReturn

from anabranch.errors import ConfigurationError
from pipelines.config.sections import Job
from pipelines.config.source import Source
from pipelines.config.sparse import DENSE_MOST, dense_only
from pipelines.config.wording import show

__all__ = ["check_text", "check_width"]

_SEPARATORS = (",", ";", "|", "\t")


def check_text(job: Job) -> None:
    """Check the keys that say how texts, svmlight's records and columns are read.

    Raises
    ------
    ConfigurationError
        A key is missing, or contradicts another.
    """
    _check_columns(job.source)
    if job.signal.window is not None and job.source.columns_in_all is not None:
        _fail(
            f"signal.window is {job.signal.window}, but windows are cut from samples of named "
            "features, and source has texts or sparse records; leave one of them out"
        )
    if job.source.kind == "svmlight":
        _check_svmlight(job.source)
    if job.source.text:
        _check_fields(job.source)
        return
    for key in ("text_bits", "ngrams") if job.source.kind != "reviews" else ():
        value = getattr(job.source, key)
        if value != getattr(Source(kind="csv"), key):
            _fail(f"source.{key} is {value}, but source.text is empty; it must name fields")


def _check_columns(source: Source) -> None:
    if source.separator == r"\t":
        _fail(
            'source.separator is a backslash and a t; a tab must be "\\t" in double quotes (TOML '
            "takes what is in single quotes as it is)"
        )
    if source.separator not in _SEPARATORS:
        _fail(
            f'source.separator is {show(source.separator)}; it must be one of ",", ";", "|" and a '
            'tab, "\\t"'
        )
    if source.kind == "kafka" and source.format != "csv" and source.separator != ",":
        _fail(
            f"source.separator is {show(source.separator)}, but applies to csv only; source.format "
            f"is {show(source.format)}"
        )
    if source.kind != "csv":
        return
    if source.header and source.columns is not None:
        _fail(
            f"source.columns is {show(source.columns)}, but the files have a header; "
            "source.header must be false where they have none"
        )
    if not (source.header or source.columns or source.features or source.text):
        _fail(
            "source.header is false, but nothing names the columns; source.columns must, or "
            "source.features or source.text"
        )
    if source.columns is not None:
        _check_names(source, source.columns)


def _check_names(source: Source, columns: tuple[str, ...]) -> None:
    twice = next((name for name in columns if columns.count(name) > 1), None)
    if twice is not None:
        _fail(f"source.columns has {show(twice)} twice; each column must be named once")
    labels = source.label_names if source.labels and not source.label_list else (source.label,)
    wanted = {"label": labels, "text": source.text, "features": source.features or ()}
    wanted["node"] = (source.node_name,) if source.node_name else ()
    for key, names in wanted.items():
        for name in names:
            if name not in columns:
                _fail(f"source.{key} has {show(name)}, which is not in source.columns; it must be")


def _check_svmlight(source: Source) -> None:
    if source.sparse_width is None:
        _fail(
            "source.sparse_width is none; svmlight files do not tell the number of features: it "
            "must be the highest index, or more"
        )
    if source.node_name is not None:
        _fail(
            f"source.node is {show(source.node)}, but svmlight records have no fields; it must be "
            "one of round-robin, hash, partition"
        )


def _check_fields(source: Source) -> None:
    for key in ("features", "sparse_width"):
        value = getattr(source, key)
        if value is not None:
            _fail(
                f"source.{key} is {show(value)}, but source.text is {show(source.text)}, and texts "
                f"are then the only features; leave source.{key} out"
            )
    twice = next((name for name in source.text if source.text.count(name) > 1), None)
    if twice is not None:
        _fail(f"source.text has {show(twice)} twice; each field must be named once")
    places = [(name, "labels") for name in source.label_names]
    places += [] if source.label_names and not source.label_list else [(source.label, "label")]
    places += [(source.node_name, "node"), ((source.id or "").removeprefix("field:"), "id")]  # type: ignore[list-item]
    for name, key in places:
        if name in source.text:
            _fail(f"source.{key} has {show(name)}, which is in source.text; it must be another")


def check_width(job: Job, learners: Mapping[str, type] | None = None) -> None:
    """Refuse more columns than a learner or companion can take that knows no sparse rows.

    Raises
    ------
    ConfigurationError
        With the learners that can.
    """
    source, width = job.source, job.source.columns_in_all
    wide = source.text or source.kind in ("svmlight", "jsonl", "reviews")
    found = dense_only(job, learners)
    if found is None or not wide or width is None or width <= DENSE_MOST:
        return
    key, name, others = found
    smaller = f"source.text_bits up to {DENSE_MOST.bit_length() - 1}"
    if source.sparse_width is not None:
        smaller = f"source.sparse_width up to {DENSE_MOST:,}"
    _fail(
        f"{key} {show(name)} takes no sparse rows, and {width:,} columns are too many without; "
        f"allowed: {smaller}, or in its place {', '.join(others) or 'none'}"
    )


def _fail(message: str) -> NoReturn:
    raise ConfigurationError(message)
