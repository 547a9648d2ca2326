"""Job files: read, completed, checked; and the job that runs without one."""

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from anabranch.errors import ConfigurationError
from pipelines.config.check import check_job
from pipelines.config.decode import decode, encode
from pipelines.config.derive import derive
from pipelines.config.overrides import apply_overrides
from pipelines.config.sections import GENERATORS, Job

__all__ = ["DEFAULT_JOB", "build_job", "default_job", "from_json", "load_job", "to_json"]

DEFAULT_JOB: Mapping[str, Mapping[str, Any]] = {
    "job": {"name": "default", "run_dir": "runs/{name}-{time}", "seed": 7},
    "source": {"kind": "nonlinear", "rows": 30_000, "rows_per_tick": 20},
    "network": {"nodes": 20, "graph": "random", "degree": 4},
    "learner": {"kind": "dsvor"},
    "evaluation": {"companions": ["local", "pooled"]},
}
"""What `anabranch run` does without a job file."""

_KINDS = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".arff": "arff"}
_KINDS |= dict.fromkeys((".svmlight", ".libsvm", ".svm"), "svmlight")


def load_job(
    path: str | Path | None = None,
    overrides: Iterable[str] = (),
    *,
    source: str | None = None,
    kept: Mapping[str, Any] | None = None,
) -> Job:
    """Read a job file, apply settings, fill in every default, and check the whole.

    Parameters
    ----------
    path : TOML file, or the job.json of a run; the built-in job if None
    overrides : settings of the form "section.key=value"; they win over the file
    source : kind of generator, or path of a file of records (CSV, JSON Lines, ARFF, svmlight), to
        use as the source
    kept : values of keys, by "section.key", that hold where the job does not state them

    Raises
    ------
    ConfigurationError
        The file cannot be read, or one sentence tells the mistake in it.
    """
    raw = _copy(DEFAULT_JOB) if path is None else read_tables(Path(path))
    if source is not None:
        raw["source"] = _source(raw.get("source", {}), source, built_in=path is None)
    raw = apply_overrides(raw, overrides)
    if path is not None and isinstance(raw.get("job", {}), dict):
        raw["job"] = {"name": Path(path).stem, **raw.get("job", {})}
    for place, value in (kept or {}).items():
        section, _, key = place.partition(".")
        if isinstance(raw.setdefault(section, {}), dict):
            raw[section] = {key: value, **raw[section]}
    return build_job(raw)


def build_job(raw: dict[str, Any], learners: Mapping[str, type] | None = None) -> Job:
    """Complete and check a job given as plain tables.

    Parameters
    ----------
    raw : sections by name, each a table of its keys
    learners : learners by name; the registry unless given

    Raises
    ------
    ConfigurationError
        As `load_job`.
    """
    job = decode(raw)
    given = {f"{section}.{key}" for section, table in raw.items() for key in table}
    job = derive(job, given, learners)
    check_job(job, learners)
    return job


def default_job(overrides: Iterable[str] = ()) -> Job:
    """Give the job that `anabranch run` performs without a job file.

    Twenty nodes learn the dSVOR paper's nonlinear synthetic set, next to a local-only and
    a pooled companion.
    """
    return load_job(None, overrides)


def to_json(job: Job) -> str:
    """Write a job as JSON, sections and keys as in a job file."""
    return json.dumps(encode(job), indent=2)


def from_json(text: str | bytes) -> Job:
    """Read a job written by `to_json`; nothing is completed or checked against files again.

    Raises
    ------
    ConfigurationError
        The text is not a job of this version.
    """
    try:
        raw = json.loads(text)
    except ValueError as error:
        raise ConfigurationError(f"the job is not JSON: {error}") from None
    return decode(raw)


def read_tables(path: Path) -> dict[str, Any]:
    """Read the tables of a job file, TOML or JSON.

    Raises
    ------
    ConfigurationError
        The file is not there, or is not TOML (JSON where its name ends so).
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigurationError(f"the job file {path} cannot be read: {reason}") from None
    try:
        tables = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
        raise ConfigurationError(f"the job file {path} cannot be read: {error}") from None
    if not isinstance(tables, dict):
        raise ConfigurationError(f"the job file {path} must hold sections, [job] and others")
    return tables


def _source(table: dict[str, Any], text: str, *, built_in: bool) -> dict[str, Any]:
    if text in GENERATORS:
        return {**table, "kind": text}
    name = text.removesuffix(".gz")
    kind = next((k for end, k in _KINDS.items() if name.endswith(end)), None)
    if kind is None:
        raise ConfigurationError(
            f"--source is {text!r}; it must be one of {', '.join(GENERATORS)}, or a file whose "
            f"name ends in one of {', '.join(_KINDS)}, plain or .gz"
        )
    # The built-in job's source is a generator, whose keys mean nothing to a file.
    return {**({} if built_in else table), "kind": kind, "paths": [text]}


def _copy(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {name: dict(table) for name, table in tables.items()}
