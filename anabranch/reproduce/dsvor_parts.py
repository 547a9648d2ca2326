"""Pieces of a reproduction that are kept, so that an interrupted run goes on."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

__all__ = ["Memory", "Parts", "part"]


class Parts(Protocol):
    """Where pieces are kept: JSON values by name, each with the settings it was made with."""

    def get(self, name: str) -> Mapping[str, Any] | None:
        """Give {"settings": ..., "value": ...}, or None where there is none."""

    def put(self, name: str, kept: Mapping[str, Any]) -> None:
        """Keep a piece."""


class Memory:
    """Pieces kept for as long as the process lives."""

    def __init__(self) -> None:
        self._kept: dict[str, Mapping[str, Any]] = {}

    def get(self, name: str) -> Mapping[str, Any] | None:
        """Give what was put under a name."""
        return self._kept.get(name)

    def put(self, name: str, kept: Mapping[str, Any]) -> None:
        """Keep a piece."""
        self._kept[name] = kept


def part(
    parts: Parts, name: str, settings: Mapping[str, Any], make: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """Give a piece, made now unless one with the same settings was kept.

    >>> memory = Memory()
    >>> part(memory, "a", {"seeds": 1}, lambda: {"x": 1}), part(memory, "a", {"seeds": 1}, dict)
    ({'x': 1}, {'x': 1})
    >>> part(memory, "a", {"seeds": 2}, lambda: {"x": 2})
    {'x': 2}
    """
    kept = parts.get(name)
    if kept is not None and kept.get("settings") == settings:
        value: dict[str, Any] = kept["value"]
        return value
    value = make()
    parts.put(name, {"settings": dict(settings), "value": value})
    return value
