"""The benchmark sets of labelled rows, read from files as Mulan names them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from anabranch.errors import ConfigurationError
from anabranch.reproduce.doml_data import LabelSplit
from connectors.arff import ArffTable, read_arff

__all__ = ["ORIGIN", "LabelSets", "read_sets"]

ORIGIN = "github.com/tsoumakas/mulan, folder data/multi-label"
"""Where the sets come from."""

_WHOLE: Mapping[str, int] = {"CAL500": 400}
"""Sets of one file only, and how many of its first rows are to learn."""


@dataclass(frozen=True, slots=True)
class LabelSets:
    """What was found in a folder.

    Attributes
    ----------
    splits : by name, in the order asked for
    missing : name -> file that is not there
    """

    splits: Mapping[str, LabelSplit]
    missing: Mapping[str, str]


def read_sets(folder: Path, names: Iterable[str]) -> LabelSets:
    """Read sets by name, plain or packed files, names in any case.

    A set NAME is NAME.xml, and NAME-train.arff with NAME-test.arff, or the same with "-sparse"
    before the dot. CAL500 is CAL500.arff, its first 400 rows being those to learn.

    Raises
    ------
    ConfigurationError
        The folder is none, a file cannot be read, or the two files of a set do not fit.
    """
    if not folder.is_dir():
        raise ConfigurationError(
            f"--data is {str(folder)!r}, which is no folder; allowed: a folder with ARFF and XML "
            f"files from {ORIGIN}"
        )
    files = {path.name.lower().removesuffix(".gz"): path for path in sorted(folder.iterdir())}
    splits: dict[str, LabelSplit] = {}
    missing: dict[str, str] = {}
    for name in names:
        try:
            splits[name] = _read(files, name)
        except _MissingError as error:
            missing[name] = str(error)
    return LabelSets(splits, missing)


class _MissingError(Exception):
    """A file of a set is not there."""


def _find(files: Mapping[str, Path], *names: str) -> Path:
    for name in names:
        if name.lower() in files:
            return files[name.lower()]
    raise _MissingError(names[0])


def _read(files: Mapping[str, Path], name: str) -> LabelSplit:
    labels = _find(files, f"{name}.xml")
    if name in _WHOLE:
        at, whole = _WHOLE[name], read_arff(_find(files, f"{name}.arff"), labels)
        return LabelSplit(name, whole.X[:at], whole.y[:at], whole.X[at:], whole.y[at:])
    learned, tested = (
        _find(files, f"{name}-{part}.arff", f"{name}-{part}-sparse.arff")
        for part in ("train", "test")
    )
    return _joined(name, read_arff(learned, labels), read_arff(tested, labels))


def _joined(name: str, learned: ArffTable, tested: ArffTable) -> LabelSplit:
    if learned.features != tested.features:
        raise ConfigurationError(
            f"the two files of {name} have other fields; allowed: files of one set"
        )
    return LabelSplit(name, learned.X, learned.y, tested.X, tested.y)
