"""What to expect of the L2-NPSVOR paper's Table 2 on the public sets."""

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["QUICK", "SETS", "SHAPES", "TABLE_2", "Errors"]


class Errors(NamedTuple):
    """Mean absolute and mean squared error of predicted ranks."""

    absolute: float
    squared: float


SETS = ("treebank", "moviereview", "amazon4", "semeval", "largemovie")
"""The quick ones first."""

QUICK = SETS[:2]

_COLUMNS = ("L1-SVC", "L2-SVC", "SVR", "RedSVM", "L1-NPSVOR", "L2 TRON", "L2 DCD")
_VALUES: Mapping[str, str] = {
    "treebank": ".912/1.642 .866/1.498 .795/1.116 .785/1.151 .791/1.115 .775/1.098 .776/1.107",
    "moviereview": ".496/.602 .466/.550 .450/.474 .461/.499 .440/.464 .441/.471 .436/.468",
    "amazon4": ".587/1.154 .546/1.032 .652/.874 .577/.877 .574/.814 .563/.748 .569/.767",
    "semeval": ".415/.482 .411/.472 .423/.461 .420/.457 .409/.452 .412/.452 .410/.450",
    "largemovie": "1.196/3.572 1.174/3.527 1.198/2.509 1.131/2.354 1.022/2.178 1.020/2.115 "
    "1.012/2.101",
}


def _errors(pairs: str) -> dict[str, Errors]:
    found = [Errors(*map(float, pair.split("/"))) for pair in pairs.split()]
    return dict(zip(_COLUMNS, found, strict=True))


TABLE_2: Mapping[str, Mapping[str, Errors]] = {
    name: _errors(pairs) for name, pairs in _VALUES.items()
}
"""Set -> method -> errors: C by five-fold cross-validation, epsilon = .1, one split each."""

SHAPES: Mapping[str, tuple[int, int, int]] = {
    "treebank": (11_855, 8_569, 98_883),
    "moviereview": (5_006, 60_160, 1_014_373),
    "amazon4": (8_000, 33_616, 511_759),
    "semeval": (43_011, 29_385, 569_954),
    "largemovie": (50_000, 343_138, 7_010_914),
}
"""Rows, features and nonzeros after the preparation of text."""
