"""In what form a run is to tell, found among the words of its command before they are parsed."""

import json
import tomllib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

__all__ = ["form_of", "interrupted", "is_run"]

_LARGEST = 1 << 20
"""Bytes of a job file that is looked into."""


def is_run(words: Sequence[str]) -> bool:
    """Tell whether the command is `anabranch run`."""
    return next((word for word in words if not word.startswith("-")), "") == "run"


def form_of(words: Sequence[str]) -> str:
    """Give json where the last word on it says so: of an option, else of the job file.

    >>> form_of(["run", "--log-format", "json"]), form_of(["run", "--set", "logs.format=json"])
    ('json', 'json')
    >>> form_of(["check", "--log-format=json"]), form_of(["run"])
    ('text', 'text')
    """
    if not is_run(words):
        return "text"
    said = list(_said(words))
    named = next(iter(reversed(said)), None) or _in_file(words)
    return "json" if named == "json" else "text"


def _said(words: Sequence[str]) -> Iterator[str]:
    """Give the forms that options name; --log-format wins, as it does when they are parsed."""
    options = [*pairwise(words), *(w.split("=", 1) for w in words if "=" in w)]
    settings = [value.partition("=") for name, value in options if name == "--set"]
    yield from (form.strip(" '\"") for key, _, form in settings if key.strip() == "logs.format")
    yield from (value for name, value in options if name == "--log-format")


def _in_file(words: Sequence[str]) -> str | None:
    """Look into the job file, which is a word of its own; it may be anything."""
    for word in words[words.index("run") + 1 :]:
        try:
            path = Path(word)
            if word.startswith("-") or not path.is_file() or path.stat().st_size > _LARGEST:
                continue
            form = tomllib.loads(path.read_text(encoding="utf-8")).get("logs", {}).get("format")
        except (OSError, ValueError, AttributeError):
            continue
        if form is not None:
            return str(form)
    return None


def interrupted(form: str) -> str:
    """Give the line for a signal that came before what writes lines was loaded."""
    text = "interrupted before anything was begun"
    if form == "text":
        return text
    when = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return json.dumps({"time": when, "level": "error", "part": "run", "message": text})
