"""The files in docker/, read."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

__all__ = ["DOCKER", "ROOT", "Stage", "load_compose", "mounts_of", "read_stages"]

ROOT = Path(__file__).resolve().parent.parent.parent
DOCKER = ROOT / "docker"

_VARIABLE = re.compile(r"\$\{\w+:-([^}]*)\}")


@dataclass
class Stage:
    """One stage of a Dockerfile: its name and its instructions after FROM."""

    image: str
    name: str
    steps: list[tuple[str, str]] = field(default_factory=list)

    def all(self, instruction: str) -> list[str]:
        """Give the arguments of every instruction of a kind."""
        return [arguments for name, arguments in self.steps if name == instruction]

    def one(self, instruction: str) -> str:
        """Give the arguments of the only instruction of a kind."""
        (found,) = self.all(instruction)
        return found

    def words(self, instruction: str) -> list[str]:
        """Give the words of the only instruction of a kind, in its JSON form."""
        found: list[str] = json.loads(self.one(instruction))
        return found


def read_stages(text: str) -> list[Stage]:
    r"""Read a Dockerfile.

    >>> stage = read_stages("FROM a AS b\nRUN x \\\n    y\n# no\nUSER 1\n")[0]
    >>> stage.name, stage.steps
    ('b', [('RUN', 'x y'), ('USER', '1')])
    """
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    joined = re.sub(r"\s*\\\n\s*", " ", "\n".join(lines))
    stages: list[Stage] = []
    for line in filter(str.strip, joined.splitlines()):
        instruction, _, arguments = line.strip().partition(" ")
        if instruction == "FROM":
            image, _, name = arguments.partition(" AS ")
            stages.append(Stage(image, name))
        else:
            stages[-1].steps.append((instruction, arguments.strip()))
    return stages


def load_compose() -> dict[str, Any]:
    """Read compose.yaml, every ${VARIABLE:-default} by its default."""
    text = (DOCKER / "compose.yaml").read_text(encoding="utf-8")
    read: dict[str, Any] = yaml.safe_load(_VARIABLE.sub(r"\1", text))
    return read


def mounts_of(service: dict[str, Any]) -> dict[str, str]:
    """Give what a service mounts: file or volume by path inside."""
    parts = [volume.removesuffix(":ro").rsplit(":", 1) for volume in service.get("volumes", [])]
    return {inside: outside for outside, inside in parts}
