"""From plain tables to a Job and back; every mistake told in one sentence."""

import re
from typing import Any

import msgspec

from anabranch.errors import ConfigurationError, nearest
from pipelines.config.durations import Duration
from pipelines.config.sections import Job, LearnerSection
from pipelines.config.wording import allowed, field_types, show

__all__ = ["SECTIONS", "decode", "encode"]

SECTIONS: dict[str, type] = {name: Job.__annotations__[name] for name in Job.__struct_fields__}
_PLACE = re.compile(r" - at `\$\.(.+)`$")


def decode(raw: dict[str, Any]) -> Job:
    """Check plain tables against the sections and build the job from them.

    Raises
    ------
    ConfigurationError
        A section or key is unknown or missing, or a value is of the wrong type or range.
    """
    for section, table in raw.items():
        _check_names(section, table)
    if "source" not in raw or "kind" not in raw["source"]:
        raise ConfigurationError(f"source.kind is missing; it must be {_allowed('source', 'kind')}")
    tables = {**raw, "learner": _gather_options(raw.get("learner", {}))}
    try:
        return msgspec.convert(tables, Job, dec_hook=_read)
    except msgspec.ValidationError as error:
        raise ConfigurationError(_sentence(str(error), raw)) from None


def encode(job: Job) -> dict[str, Any]:
    """Give a job as plain tables, the way a job file holds them."""
    tables: dict[str, Any] = msgspec.to_builtins(job, enc_hook=str)
    options = tables["learner"].pop("options")
    tables["learner"].update(options)
    return tables


def _read(kind: type, value: Any) -> Any:
    if kind is Duration:
        return Duration.parse(value)
    raise NotImplementedError(f"no reading of {kind}")


def _gather_options(table: dict[str, Any]) -> dict[str, Any]:
    own: dict[str, Any] = {key: table[key] for key in ("kind", "ranks") if key in table}
    return {**own, "options": {key: value for key, value in table.items() if key not in own}}


def _check_names(section: str, table: Any) -> None:
    if section not in SECTIONS:
        raise ConfigurationError(
            f"the section [{section}] is unknown{nearest(section, list(SECTIONS))}"
        )
    if not isinstance(table, dict):
        raise ConfigurationError(f"{section} = {show(table)} must be a table, [{section}]")
    names = list(SECTIONS[section].__struct_fields__)  # type: ignore[attr-defined]
    for key in table:
        # A learner's further keys are options: checked against its constructor, later.
        if key not in names and SECTIONS[section] is not LearnerSection:
            raise ConfigurationError(f"the key {section}.{key} is unknown{nearest(key, names)}")


def _allowed(section: str, key: str) -> str:
    return allowed(field_types(SECTIONS[section])[key])


def _sentence(error: str, raw: dict[str, Any]) -> str:
    found = _PLACE.search(error)
    parts = re.split(r"[.\[]", found[1]) if found else []
    if len(parts) < 2:
        return f"the job cannot be read: {error}"
    section, key = parts[:2]
    return f"{section}.{key} is {show(raw[section][key])}; it must be {_allowed(section, key)}"
