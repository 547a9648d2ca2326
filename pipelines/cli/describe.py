"""`anabranch describe`: every key with what it allows, its default and its meaning."""

import inspect
from textwrap import fill
from typing import Annotated

import typer

from anabranch.errors import ConfigurationError, nearest
from pipelines.config import Key, LearnerSection, describe_learner, describe_section
from pipelines.config.decode import SECTIONS
from pipelines.config.learner import registry
from pipelines.config.measures import measures_of

__all__ = ["describe"]

_WIDTH = 96
_DEFAULT = LearnerSection().kind


def describe(
    section: Annotated[
        str | None,
        typer.Argument(help="Section of the job file: learner, source, network and so on."),
    ] = None,
    name: Annotated[
        str | None, typer.Argument(help="One key of the section; or a learner's name.")
    ] = None,
) -> None:
    """List every key of a section with what it allows, its default and its meaning."""
    if section is None:
        for each, shape in SECTIONS.items():
            typer.echo(f"{each:12}{inspect.getdoc(shape)}")
        return
    keys = describe_section(section)
    if section == "learner":
        keys = _learner_keys(keys, name)
    elif name is not None:
        keys = _only(keys, f"{section}.{name.removeprefix(section + '.')}")
    for key in keys:
        typer.echo(_text(key))
    if section == "learner" and name is not None:
        _say_measures(name)


def _say_measures(kind: str) -> None:
    told = measures_of(kind)
    if told:
        typer.echo(f"\nWhat {kind} tells of itself, in scores and report:")
    for name, meaning in told.items():
        typer.echo(fill(f"{name}: {meaning}", _WIDTH, subsequent_indent="    "))


def _learner_keys(keys: list[Key], name: str | None) -> list[Key]:
    if name is not None and any(key.name == f"learner.{name}" for key in keys):
        return _only(keys, f"learner.{name}")
    if name is not None and name not in registry():
        found = [key for key in describe_learner(_DEFAULT) if key.name == f"learner.{name}"]
        if found:
            return found
    if name is not None:
        return [*keys, *describe_learner(name)]
    for kind, learner in registry().items():
        first = (inspect.getdoc(learner) or "").partition("\n")[0]
        typer.echo(f"{kind:20}{first}")
    typer.echo("")
    return [*keys, *describe_learner(_DEFAULT)]


def _only(keys: list[Key], name: str) -> list[Key]:
    found = [key for key in keys if key.name == name]
    if not found:
        raise ConfigurationError(
            f"the key {name} is unknown{nearest(name, [key.name for key in keys])}"
        )
    return found


def _text(key: Key) -> str:
    head = f"{key.name}: {key.allowed}; " + (
        "required" if key.default == "required" else f"default {key.default}"
    )
    lines = [fill(head, _WIDTH, subsequent_indent="    ")]
    if key.meaning:
        lines.append(fill(key.meaning, _WIDTH, initial_indent="    ", subsequent_indent="    "))
    return "\n".join(lines)
