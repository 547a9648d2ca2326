"""`anabranch predict`: what a saved model says of the records of a file."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from anabranch.errors import ConfigurationError
from pipelines.cli.guard import complain
from pipelines.cli.rows import BadRow, Rows, read_rows

__all__ = ["predict"]

_BLOCK = 1000
_TOLD = 20


def predict(
    model: Annotated[Path, typer.Argument(help="Model file of a node, models/NODE.npz.")],
    file: Annotated[Path, typer.Argument(help="CSV (with a header) or JSON Lines, plain or .gz.")],
    out: Annotated[str, typer.Option(help="File to write; - is standard output.")] = "-",
) -> None:
    """Print "record,prediction" for every record of a file; records count from 0.

    Bad records are named on standard error and have no line in the output.
    """
    from anabranch.model_file import load, read

    learner = load(model)
    names = read(model).metadata.get("features")
    rows = read_rows(file, names, getattr(learner, "features", None))
    with _output(out) as target:
        target.write("record,prediction\n")
        bad = _predict_all(learner, rows, target)
    if bad:
        complain(f"{bad:,} bad records have no prediction")


@contextmanager
def _output(out: str) -> Iterator[IO[str]]:
    if out == "-":
        yield sys.stdout
        sys.stdout.flush()
        return
    try:
        with open(out, "w", encoding="utf-8") as target:
            yield target
    except OSError as error:
        raise ConfigurationError(f"--out is {out!r}, which cannot be written: {error}") from None


def _predict_all(learner: Any, rows: Rows, target: IO[str]) -> int:
    import numpy as np

    bad, numbered = 0, enumerate(rows)
    while block := list(islice(numbered, _BLOCK)):
        good = [(number, row) for number, row in block if not isinstance(row, BadRow)]
        for number, row in block:
            if isinstance(row, BadRow):
                bad += 1
                _complain_of(number, row, bad)
        if good:
            predicted = learner.predict(np.array([row for _, row in good], dtype=np.float64))
            pairs = zip(good, np.asarray(predicted).tolist(), strict=True)
            target.writelines(f"{number},{_text(value)}\n" for (number, _), value in pairs)
    return bad


def _complain_of(number: int, why: BadRow, bad: int) -> None:
    if bad <= _TOLD:
        complain(f"record {number}: {why}")
    elif bad == _TOLD + 1:
        complain("further bad records are only counted")


def _text(value: Any) -> str:
    return ",".join(str(part) for part in value) if isinstance(value, list) else str(value)
