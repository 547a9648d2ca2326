"""ARFF: what the attributes of a file are, by its header."""

import re
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from anabranch.errors import ConfigurationError
from connectors.values import shown

__all__ = ["Attribute", "read_attributes", "unquote"]

_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_NAME = re.compile(rf"[ \t]+({_QUOTED}|[^\s{{}}'\"][^\s{{}}]*)[ \t]*")
_TYPE = re.compile(rf"(?:(\{{(?:{_QUOTED}|[^'\"}}])*\}})|([A-Za-z]+))[ \t]*(?:[ \t%].*)?")
_VALUE = re.compile(rf"\s*({_QUOTED}|[^\s,'\"{{}}]+)\s*(,|\}}$)")
_ESCAPED = re.compile(r"\\(.)")
_LETTERS = {"n": "\n", "r": "\r", "t": "\t"}
_NUMBERS = ("numeric", "real", "integer")


class Attribute(NamedTuple):
    """A column of an ARFF file.

    `kind` is "number", "flag" (one of 0 and 1) or else what the file calls the type; `first` is
    what stands for nothing in a sparse record: 0, or of a nominal attribute its first value.
    """

    name: str
    kind: str
    first: str = "0"


def unquote(text: str) -> str:
    r"""Give a name or a value without quotes and escapes.

    >>> unquote(r"'it\'s'"), unquote("plain")
    ("it's", 'plain')
    """
    if text[:1] not in ("'", '"'):
        return text
    return _ESCAPED.sub(lambda match: _LETTERS.get(match[1], match[1]), text[1:-1])


def read_attributes(
    next_line: Callable[[], bytes | None], path: str
) -> tuple[Attribute, ...] | None:
    """Read a header, with its line `@data`; None when it does not end (yet).

    Parameters
    ----------
    next_line : gives the next line that is not blank, without its end; None after the last
    path : what the file is called in errors

    Raises
    ------
    ConfigurationError
        A line is no ARFF, an attribute is there twice, or there is none.

    >>> lines = iter([b"% made by hand", b"@RELATION r", b"@attribute 'x 1' real", b"@data"])
    >>> read_attributes(lambda: next(lines, None), "a.arff")
    (Attribute(name='x 1', kind='number', first='0'),)
    """
    found: list[Attribute] = []
    while (line := next_line()) is not None:
        text = _decode(line, path)
        keyword = re.split(r"[\s%]", text, maxsplit=1)[0].lower()
        if keyword == "@data":
            _check(found, path)
            return tuple(found)
        if keyword == "@attribute":
            found.append(_attribute(text[len(keyword) :], path))
        elif keyword not in ("", "@relation"):
            raise ConfigurationError(
                f"the header of {path} has the line {shown(text)}: allowed are @relation,"
                " @attribute, @data and comments after %"
            )
    return None


def _decode(line: bytes, path: str) -> str:
    line = line.strip(b" \t")
    if line.startswith(b"%"):  # in whatever encoding
        return ""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"the header of {path} cannot be read: {error}") from None


def _check(found: list[Attribute], path: str) -> None:
    times = Counter(attribute.name for attribute in found)
    name, most = next(iter(times.most_common(1)), ("", 0))
    if most != 1:
        what = f"names the attribute {name!r} {most} times" if found else "has no @attribute"
        raise ConfigurationError(f"the header of {path} {what}: each column has its own name")


def _attribute(text: str, path: str) -> Attribute:
    named = _NAME.match(text)
    typed = _TYPE.fullmatch(text, named.end()) if named else None
    if named is None or typed is None:
        raise ConfigurationError(
            f"the header of {path} has the line {shown('@attribute' + text)}: allowed is"
            " @attribute, a name (in quotes if it has spaces), and a type"
        )
    name = unquote(named[1])
    if typed[2]:
        kind = typed[2].lower()
        return Attribute(name, "number" if kind in _NUMBERS else kind)
    values = _values(typed[1])
    return Attribute(name, "flag" if values and set(values) <= {"0", "1"} else typed[1],
                     values[0] if values else "")  # fmt: skip


def _values(text: str) -> list[str]:
    """Give the values of a nominal type; none when it cannot be read."""
    values, at = [], 1
    while at < len(text) and (match := _VALUE.match(text, at)):
        values.append(unquote(match[1]))
        at = match.end()
    return values if at == len(text) else []
