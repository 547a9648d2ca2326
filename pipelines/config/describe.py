"""What every key means: read off the sections and the learners' signatures."""

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import inspect as shapes

from anabranch.errors import ConfigurationError, nearest
from pipelines.config.decode import SECTIONS
from pipelines.config.derive import DERIVED
from pipelines.config.learner import learner_class, option_parameters
from pipelines.config.wording import allowed, show

__all__ = ["Key", "describe_learner", "describe_section"]

_ARGUMENTS = re.compile(r"^(\w[\w, ]*?)\s*(?::\s*(.*))?$")
_TYPE = re.compile(r"^[\w.]+( or [\w.]+| of \w+)*(, optional)?$")
"""What numpydoc has after the colon; some learners' docstrings have the meaning there."""
_CHOICES = re.compile(r"\{(.+)\}")


@dataclass(frozen=True)
class Key:
    """One key of a job file.

    Attributes
    ----------
    name : "section.key"
    allowed : what it may hold, in words
    default : as it would be written in a job file, or in words
    meaning : one or two sentences
    """

    name: str
    allowed: str
    default: str
    meaning: str


def describe_section(section: str) -> list[Key]:
    """Describe every key of a section, in order.

    Raises
    ------
    ConfigurationError
        There is no such section.

    Examples
    --------
    >>> [key.name for key in describe_section("recovery")]
    ['recovery.dir', 'recovery.snapshot_every', 'recovery.backup_every']
    """
    if section not in SECTIONS:
        raise ConfigurationError(
            f"the section {section!r} is unknown{nearest(section, list(SECTIONS))}"
        )
    shape = shapes.type_info(SECTIONS[section])
    assert isinstance(shape, shapes.StructType)
    return [_key(section, field) for field in shape.fields if field.name != "options"]


def describe_learner(kind: str, learners: Mapping[str, type] | None = None) -> list[Key]:
    """Describe every option of a learner, from its constructor and docstring.

    Raises
    ------
    ConfigurationError
        There is no such learner.
    """
    learner = learner_class(kind, learners)
    meanings = _parameter_texts(learner)
    return [
        _option(name, hint, default, meanings.get(name, ("", "")))
        for name, (hint, default) in option_parameters(learner).items()
    ]


def _key(section: str, field: shapes.Field) -> Key:
    name = f"{section}.{field.name}"
    default = DERIVED.get(name) or _default(field)
    shape = field.type
    extra = (shape.extra_json_schema or {}) if isinstance(shape, shapes.Metadata) else {}
    return Key(name, allowed(shape), default, str(extra.get("description", "")))


def _default(field: shapes.Field) -> str:
    if field.default_factory is not msgspec.NODEFAULT:
        return "none"
    return "required" if field.default is msgspec.NODEFAULT else show(field.default)


def _option(name: str, hint: Any, default: Any, said: tuple[str, str]) -> Key:
    told = "required" if default is inspect.Parameter.empty else show(default)
    choices = _CHOICES.match(said[0])
    return Key(
        f"learner.{name}",
        _unquoted(choices[1]) if choices else allowed(shapes.type_info(hint)),
        DERIVED["source.seed"] if name == "seed" else told,
        said[1] or ("" if choices or _TYPE.match(said[0]) else said[0]),
    )


def _parameter_texts(learner: type) -> dict[str, tuple[str, str]]:
    """Read the Parameters section of a numpydoc docstring: name -> (type, text)."""
    types: dict[str, str] = {}
    texts: dict[str, list[str]] = {}
    names: list[str] = []
    for line in _parameters(inspect.getdoc(learner) or ""):
        found = None if line.startswith(" ") else _ARGUMENTS.match(line)
        if found:
            names = [name.strip() for name in found[1].split(",")]
        for name in names:
            if found:
                types[name], texts[name] = found[2] or "", []
            else:
                texts[name].append(line.strip())
    return {name: (types[name], " ".join(filter(None, texts[name]))) for name in types}


def _parameters(text: str) -> list[str]:
    lines = text.splitlines()
    try:
        start = lines.index("Parameters") + 2
    except ValueError:
        return []
    ends = (i - 1 for i in range(start, len(lines)) if lines[i] and set(lines[i]) == {"-"})
    return lines[start : next(ends, len(lines))]


def _unquoted(choices: str) -> str:
    return "one of " + choices.replace('"', "").replace("'", "")
