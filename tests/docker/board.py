"""The Grafana board, read: its panels and the expressions it asks Prometheus."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tests.docker.files import DOCKER

__all__ = ["asked", "expressions", "filled_in", "load_board", "names_in"]


def load_board() -> dict[str, Any]:
    """Read the board."""
    board: dict[str, Any] = json.loads((DOCKER / "grafana/board.json").read_text(encoding="utf-8"))
    return board


def expressions(board: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Give every expression with the title of what shows it."""
    for panel in board["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]


def asked(board: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Give the series that the board's variables list, and the label they take of each."""
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            series, _, label = variable["definition"][len("label_values(") : -1].rpartition(", ")
            yield series, label


def filled_in(expression: str, variables: Mapping[str, str]) -> str:
    """Put values for the variables, as Grafana does.

    >>> filled_in('a{b="$b"}[$every]', {"b": "x", "every": "1m"})
    'a{b="x"}[1m]'
    """
    return re.sub(r"\$(\w+)", lambda found: variables[found[1]], expression)


def names_in(expression: str) -> set[str]:
    """Give the names of this project's metrics in an expression."""
    return set(re.findall(r"\banabranch_\w+", expression))
