"""`anabranch predict`: what a saved model says of the records of a file."""

import csv
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from anabranch.errors import ConfigurationError, SampleError
from pipelines.cli.guard import complain
from pipelines.cli.rows import BadRow, CsvForm, read_rows
from pipelines.cli.text_rows import rows_of

__all__ = ["predict"]

_BLOCK = 1000
_TOLD = 20


def predict(
    model: Annotated[Path, typer.Argument(help="Model file of a node, models/NODE.npz.")],
    file: Annotated[
        Path,
        typer.Argument(
            help="CSV, with the separator and header of the files that the model's job read, or "
            "JSON Lines, plain or .gz. For models of texts, and of svmlight files: such a file as "
            "that job read, read as it did."
        ),
    ],
    out: Annotated[str, typer.Option(help="File to write; - is standard output.")] = "-",
    margins: Annotated[
        bool, typer.Option("--margins", help="Add each prediction's margins, as JSON.")
    ] = False,
) -> None:
    """Print "record,prediction" for every record of a file; records count from 0.

    A set of labels is a JSON list of their names. Bad records are named on standard error and
    have no line in the output; the exit code is 1 where there is no other record.
    """
    from anabranch.model_file import load, read
    from anabranch.protocol import Margins

    learner = load(model)
    if margins and not isinstance(learner, Margins):
        raise ConfigurationError(f"--margins: models of {learner.kind} have none; leave it out")
    if lacking := getattr(learner, "lacking", None):
        complain(f"{model}: {lacking}")
    rows, make = _rows(learner, read(model).metadata, file)
    with _output(out) as target:
        target.write("record,prediction,margins\n" if margins else "record,prediction\n")
        good, bad = _predict_all(learner, rows, make, target, margins)
    if bad and not good:
        complain(f"none of the {bad:,} records could be predicted: all are bad")
        raise typer.Exit(1)
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


def _rows(
    learner: Any, metadata: Mapping[str, Any], file: Path
) -> tuple[Iterator[Any], Callable[[list[Any]], Any]]:
    """Give the records of a file, and what makes X of some of them."""
    import numpy as np

    from anabranch.protocol import takes_sparse

    records = metadata.get("records")
    if records is None:
        width = getattr(learner, "features", None)
        form = CsvForm(**metadata.get("csv", {}))
        rows = read_rows(file, metadata.get("features"), width, form)
        return rows, partial(np.array, dtype=float)
    reader = rows_of(records)

    def make(some: list[Any]) -> Any:
        X = reader.rows(some)
        return X if takes_sparse(learner) else X.toarray()

    return reader.read(file), make


def _predict_all(
    learner: Any,
    rows: Iterator[Any],
    make: Callable[[list[Any]], Any],
    target: IO[str],
    margins: bool,
) -> tuple[int, int]:
    """Write the predictions; give the numbers of good and of bad records."""
    good = bad = 0
    writer = csv.writer(target, lineterminator="\n")
    while block := list(islice(rows, _BLOCK)):
        usable = [row for row in block if not isinstance(row, BadRow)]
        told = iter(_cells(learner, usable, make, margins))
        for row in block:
            cells = row if isinstance(row, BadRow) else next(told)
            if isinstance(cells, BadRow):
                bad += 1
                _complain_of(good + bad - 1, cells, bad)
            else:
                writer.writerow([good + bad, *cells])
                good += 1
    return good, bad


def _cells(
    learner: Any, rows: list[Any], make: Callable[[list[Any]], Any], margins: bool
) -> list[list[Any] | BadRow]:
    """Give what is written of every row, or why the learner refuses it."""
    if not rows:
        return []
    try:
        return [*_told(learner, make(rows), margins)]
    except SampleError as error:
        if len(rows) == 1:
            return [BadRow(str(error))]
    half = len(rows) // 2
    parts = (rows[:half], rows[half:])
    return [cells for part in parts for cells in _cells(learner, part, make, margins)]


def _told(learner: Any, X: Any, margins: bool) -> list[list[Any]]:
    """Give prediction and margins, if wanted, of every row, as they are written."""
    from anabranch.protocol import Labelled

    labels = learner.labels if isinstance(learner, Labelled) else None
    cells = [[_prediction(value, labels)] for value in learner.predict(X).tolist()]
    if margins:
        for row, values in zip(cells, learner.scores(X).tolist(), strict=True):
            row.append(_json(values if labels is None else dict(zip(labels, values, strict=True))))
    return cells


def _prediction(value: Any, labels: Sequence[str] | None) -> Any:
    if labels is None:
        return value
    return _json([name for name, there in zip(labels, value, strict=True) if there])


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _complain_of(number: int, why: BadRow, bad: int) -> None:
    if bad <= _TOLD:
        complain(f"record {number}: {why}")
    elif bad == _TOLD + 1:
        complain("further bad records are only counted")
