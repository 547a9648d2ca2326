"""Settings from the command line: `network.nodes=20`."""

import tomllib
from collections.abc import Iterable
from typing import Any

from anabranch.errors import ConfigurationError

__all__ = ["apply_overrides", "parse_value"]


def apply_overrides(raw: dict[str, Any], overrides: Iterable[str]) -> dict[str, Any]:
    """Give the tables with settings of the form SECTION.KEY=VALUE applied, in order.

    An empty value takes the key out, so that its default holds again.

    Raises
    ------
    ConfigurationError
        A setting is not of that form.

    Examples
    --------
    >>> apply_overrides({"network": {"nodes": 5}}, ["network.nodes=20", "job.name=trial"])
    {'network': {'nodes': 20}, 'job': {'name': 'trial'}}
    """
    tables = {name: dict(t) if isinstance(t, dict) else t for name, t in raw.items()}
    for setting in overrides:
        section, key, text = _split(setting)
        table = tables.setdefault(section, {})
        if not isinstance(table, dict):
            continue  # refused by name when the tables are decoded
        if text:
            table[key] = parse_value(text)
        else:
            table.pop(key, None)
    return tables


def parse_value(text: str) -> Any:
    """Read a TOML value; text that is none is taken as a string.

    >>> parse_value("20"), parse_value("true"), parse_value("ring"), parse_value('["a"]')
    (20, True, 'ring', ['a'])
    """
    try:
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    value = parsed.get("value")
    # A line break could smuggle in further keys; dates are no setting of ours.
    known = len(parsed) == 1 and isinstance(value, bool | int | float | str | list | dict)
    return value if known else text


def _split(setting: str) -> tuple[str, str, str]:
    place, equals, text = setting.partition("=")
    section, dot, key = place.strip().partition(".")
    if not (equals and dot and section and key) or "." in key:
        raise ConfigurationError(
            f"the setting {setting!r} is not of the form SECTION.KEY=VALUE, "
            "such as network.nodes=20"
        )
    return section, key, text.strip()
