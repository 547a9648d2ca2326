"""Values known of the dSVOR paper beside ours, and where they differ, why."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from anabranch.reproduce.bearings import KINDS, PAPER
from anabranch.reproduce.doml_table import Row, Table
from anabranch.reproduce.dsvor_experiments import SETS, runs_of
from anabranch.reproduce.dsvor_paper import DIMENSIONS, READINGS, SYNTHETIC, ZEROS
from anabranch.reproduce.dsvor_tables import SET_NAMES, apart, told

__all__ = ["findings"]

Found = Mapping[str, Mapping[str, Any]]
Finding = tuple[str, float, Sequence[float], str]
"""What it is, the value known, ours by seed, and why they differ if they do."""

_LEAST = 0.005
_LAST = 2000
_OTHER_SETS = "other draws of the sets, and of who has which row"
_UNKNOWN = "what else the program behind this value took literally is not known"
_FEATURES = (
    "no one gamma gives the paper's three values: its features, of which it does not print all "
    "settings, must have been others"
)


def findings(found: Found) -> Table:
    """Give a row for each value known of what was run to the end.

    Two values differ if they are farther apart than a standard deviation over our seeds, and
    than .005.

    Parameters
    ----------
    found : name of the piece -> what was kept of it
    """
    rows: list[Row] = []
    for what, known, ours, why in _all(found):
        difference = fmean(ours) - known
        spread = stdev(ours) if len(ours) > 1 else 0.0
        differs = abs(difference) > max(_LEAST, spread)
        rows.append([what, known, told(ours), apart(fmean(ours), known), why if differs else "no"])
    head = ["what", "known", "ours", "difference", "where they differ, and why"]
    return Table("findings", "Values known, and ours: accuracy unless said otherwise", head, rows)


def _all(found: Found) -> Iterator[Finding]:
    """Give bearings first, then the synthetic sets."""
    yield from _bearings(found)
    if _complete(found, "rounds"):
        yield from _rounds(found["rounds"])
    if "dimension" in found:
        yield from _dimension(found["dimension"])
    if _complete(found, "readings"):
        yield from _readings(found["readings"])
    if "alpha" in found:
        yield from _zeros(found["alpha"])


def _complete(found: Found, name: str) -> bool:
    return name in found and all(marks[-1] == _LAST for marks in found[name]["rounds"].values())


def _accuracies(values: Mapping[str, Any], label: str, rounds: int | None = None) -> list[float]:
    return [one.accuracy for one in runs_of(values, label, rounds)]


def _bearings(found: Found) -> Iterator[Finding]:
    names = dict(zip(KINDS, ("centralised", "local-only", "dSVOR"), strict=True))
    for case, paper in PAPER.items():
        values = found.get(f"bearings random {case}")
        if values is not None:
            for kind, known in zip(KINDS, paper, strict=True):
                what = f"bearings {case}, random split, {names[kind]}"
                yield what, known, values["accuracy"][kind], _FEATURES


def _rounds(values: Mapping[str, Any]) -> Iterator[Finding]:
    for name in SETS:
        of = SET_NAMES[name]
        for k in (500, 1000, 2000):
            ours = _accuracies(values, f"{name}, dSVOR", k)
            yield f"{of}, dSVOR, k = {k:,}", SYNTHETIC[name, str(k)][0], ours, _OTHER_SETS
        local = _accuracies(values, f"{name}, local-only")
        yield f"{of}, local-only", SYNTHETIC[name, "local"][0], local, _OTHER_SETS
        central = [accuracy for accuracy, _ in values["central"][name]]
        yield f"{of}, centralised", SYNTHETIC[name, "centralised"][0], central, _OTHER_SETS


def _dimension(values: Mapping[str, Any]) -> Iterator[Finding]:
    for D, known in DIMENSIONS.items():
        yield f"set 2, D = {D}", known, _accuracies(values, str(D)), "other draws of the features"


def _readings(values: Mapping[str, Any]) -> Iterator[Finding]:
    first = values["rounds"]["as here"][0]
    for label in values["runs"]:
        if label in READINGS:
            yield f"set 2, {label}", READINGS[label], _accuracies(values, label), _UNKNOWN
        early = f"{label}, {first} rounds" if label != "as here" else f"{first} rounds"
        if early in READINGS:
            what = f"set 2, {label}, k = {first}"
            yield what, READINGS[early], _accuracies(values, label, first), _UNKNOWN


def _zeros(values: Mapping[str, Any]) -> Iterator[Finding]:
    runs, where = runs_of(values, "0.9"), "share of zeros at alpha = .9"
    why = "other draws of the features; ours are counted in the solver's own messages"
    yield f"{where}, in nodes", ZEROS["kept"], [one.kept for one in runs], why
    yield f"{where}, in messages", ZEROS["pruned"], [one.sent for one in runs], why
    exact = "ours is exact to a gap of 1e-9; how zeros were counted then is not known"
    yield f"{where}, at the optimum", ZEROS["optimum"], values["optima"]["0.9"], exact
