"""Text sets with ordered labels, read from files and prepared, which is kept for the next time."""

import gzip
import hashlib
import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_files

from anabranch.errors import ConfigurationError
from anabranch.protocol import Array
from anabranch.reproduce.npsvor_data import TextSet
from anabranch.reproduce.npsvor_text import VERSION, prepared

__all__ = ["FILES", "FORM", "TextSets", "find_text_sets"]

FILES: Mapping[str, tuple[str, ...]] = {
    "treebank": ("treebank5_authors_train.libsvm.gz", "treebank5_authors_test.libsvm.gz"),
    "moviereview": ("moviereview_scale4.tsv.gz",),
    "amazon4": ("amazon_multidomain4.tsv.gz",),
    "semeval": ("semeval_tweets5.tsv.gz",),
    "largemovie": ("largemovie_imdb8.tsv.gz",),
}
"""Set -> its files: lines of label, tab, ..., tab, text; or svmlight, to learn and to test."""

FORM = f"a folder with some of {', '.join(name for files in FILES.values() for name in files)}"


@dataclass(frozen=True, slots=True)
class TextSets:
    """What was found in a folder.

    Attributes
    ----------
    sets : name -> what reads and prepares the set, in the order asked for
    missing : name -> file that is not there
    """

    sets: Mapping[str, Callable[[], TextSet]]
    missing: Mapping[str, str]


def find_text_sets(folder: Path, names: Iterable[str], kept: Path) -> TextSets:
    """Find sets by name.

    Parameters
    ----------
    kept : folder for prepared rows; made when the first are written

    Raises
    ------
    ConfigurationError
        The folder is none; when a set is read, a file is damaged or not in its form.
    """
    if not folder.is_dir():
        raise ConfigurationError(f"--data is {str(folder)!r}, which is no folder; allowed: {FORM}")
    sets: dict[str, Callable[[], TextSet]] = {}
    missing: dict[str, str] = {}
    for name in names:
        paths = [folder / file for file in FILES[name]]
        gone = [path.name for path in paths if not path.is_file()]
        if gone:
            missing[name] = gone[0]
        elif len(paths) > 1:
            sets[name] = partial(_read_rows, name, paths)
        else:
            sets[name] = partial(_read_text, name, paths[0], kept)
    return TextSets(sets, missing)


def _read_rows(name: str, paths: Iterable[Path]) -> TextSet:
    """Read rows to learn, then rows to test."""
    try:
        found = load_svmlight_files([io.BytesIO(_unpacked(path)) for path in paths])
    except ValueError as error:
        raise ConfigurationError(f"{name} is no svmlight file: {error}") from error
    learned, y, held, truth = found
    X = sparse.csr_array(sparse.vstack([learned, held]))
    return TextSet(name, X, np.concatenate([y, truth]).astype(np.int64), len(y))


def _read_text(name: str, path: Path, kept: Path) -> TextSet:
    content = _unpacked(path)
    try:
        whole = content.decode("utf-8").rstrip("\n")
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path} cannot be read: {error}; allowed: UTF-8") from error
    # Not splitlines: texts may have other characters that it takes for the end of a line.
    lines = [line.split("\t") for line in whole.split("\n")]
    y = np.array([_rank(fields, path, i) for i, fields in enumerate(lines, start=1)])
    made = kept / f"{name}.{hashlib.sha256(content).hexdigest()[:16]}.{VERSION}.npz"
    rows = _load(made)
    if rows is None:
        rows = prepared([fields[-1] for fields in lines])
        _save(rows, made)
    return TextSet(name, rows, y)


def _unpacked(path: Path) -> bytes:
    try:
        with gzip.open(path) as packed:
            return packed.read()
    except (OSError, EOFError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}; allowed: gzip") from error


def _rank(fields: list[str], path: Path, line: int) -> int:
    if len(fields) < 2 or not fields[0].isdecimal():
        raise ConfigurationError(
            f"{path}, line {line}, has no label; allowed: 1, 2, ..., a tab, and the text last"
        )
    return int(fields[0])


def _load(path: Path) -> sparse.csr_array | None:
    """Give rows kept before; None where there are none, or they are damaged."""
    try:
        return sparse.csr_array(sparse.load_npz(path))
    except (OSError, ValueError, EOFError, KeyError, BadZipFile):
        return None


def _save(rows: Array, path: Path) -> None:
    """Keep rows, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".unfinished.npz")
    sparse.save_npz(beside, rows)
    beside.replace(path)
