"""Which package may import which: the core knows no engine, the parts know not each other."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

FORBIDDEN = {
    "anabranch": {
        "bytewax",
        "connectors",
        "kafka",
        "msgspec",
        "operators",
        "pipelines",
        "socket",
        "typer",
    },
    "operators": {"connectors", "pipelines"},
    "connectors": {"operators", "pipelines"},
}


def imported(source: str) -> Iterator[tuple[int, str]]:
    """Give line and full name of every import, those inside functions and by name included."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield node.lineno, module
            case ast.Call(
                func=ast.Name(id="__import__" | "import_module")
                | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield node.lineno, name


def violations(source: str, package: str) -> list[str]:
    """Give the imports in a source text that its package may not have."""
    forbidden = FORBIDDEN[package]
    return [f"{line}: {name}" for line, name in imported(source) if name.split(".")[0] in forbidden]


@pytest.mark.parametrize("package", FORBIDDEN)
def test_imports_point_one_way(package: str) -> None:
    files = sorted((ROOT / package).rglob("*.py"))
    assert files, f"{package} has no source file"
    found = [
        f"{path.relative_to(ROOT)}:{violation}"
        for path in files
        for violation in violations(path.read_text(encoding="utf-8"), package)
    ]
    assert not found, "imports against the layout:\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("package", "source"),
    [
        ("anabranch", "import bytewax"),
        ("anabranch", "import numpy, kafka.errors"),
        ("anabranch", "from socket import socket"),
        ("anabranch", "from operators.node import Node"),
        ("anabranch", "def late():\n    from connectors import files"),
        ("anabranch", "if TYPE_CHECKING:\n    import pipelines.job as job"),
        ("anabranch", "try:\n    import msgspec\nexcept ImportError:\n    msgspec = None"),
        ("anabranch", "import importlib\nimportlib.import_module('typer.main')"),
        ("anabranch", "x = __import__('bytewax.dataflow')"),
        ("operators", "from connectors.files import FileSource"),
        ("operators", "import pipelines"),
        ("connectors", "import operators.feedback"),
        ("connectors", "from pipelines import job"),
    ],
)
def test_the_checker_catches_a_violation(package: str, source: str) -> None:
    assert len(violations(source, package)) == 1


@pytest.mark.parametrize(
    ("package", "source"),
    [
        ("anabranch", "import numpy\nfrom anabranch.operators_of_sets import union"),
        ("anabranch", "from . import socket\nfrom .kafka import x"),
        ("anabranch", "'import bytewax'  # import bytewax"),
        ("operators", "import bytewax, msgspec\nfrom anabranch.stream import Block"),
        ("connectors", "from kafka import KafkaConsumer\nimport operatorsque"),
    ],
)
def test_the_checker_passes_what_is_allowed(package: str, source: str) -> None:
    assert violations(source, package) == []
