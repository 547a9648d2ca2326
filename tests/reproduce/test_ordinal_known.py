"""A small real set over its given holdouts: the values known for it, within their noise."""

from pathlib import Path

import numpy as np
import pytest

from anabranch.reproduce.ordinal import Comparison, reproduce
from anabranch.reproduce.ordinal_methods import METHODS
from anabranch.reproduce.ordinal_paper import HOLDOUTS, KNOWN
from anabranch.reproduce.ordinal_tables import GATE, gate_rows
from pipelines.ordinal_sets import find_sets

_NODES = ("dsvor", "local")
_COMPARED = ("logistic-at", "logistic-it", "svorim", *_NODES)


@pytest.fixture(scope="module")
def found(shared: Path) -> Comparison:
    sets = find_sets(shared / "data" / "ordinal", ["toy"], HOLDOUTS)
    methods = [method for method in METHODS if method.key in _COMPARED]
    return reproduce(sets.holdouts, methods=methods)


def test_errors_are_those_known(found: Comparison) -> None:
    for method in found.methods:
        errors = found.scores["toy", method.key][:, 0]
        known = getattr(KNOWN["toy"], method.known)
        # Over the same holdouts, centralised models differ by their solvers' tolerances only; of
        # nodes four standard errors, since who has which row is drawn anew.
        drawn = 4.0 * errors.std() / np.sqrt(HOLDOUTS)
        assert errors.mean() == pytest.approx(known, abs=drawn if method.key in _NODES else 0.002)


def test_together_is_as_good_as_in_one_place(found: Comparison) -> None:
    ((name, rows, central, ours, holds),) = gate_rows(found)
    assert (name, rows, holds) == ("toy", 225, True)
    assert ours - central <= GATE
    alone = found.means("error")[0, -1]
    assert alone > ours + 0.2


def test_the_sets_are_as_described(shared: Path) -> None:
    for name, known in KNOWN.items():
        if known.rows > 2000:
            continue
        first, *_ = find_sets(shared / "data" / "ordinal", [name], 1).holdouts[name]()
        assert first.ranks == known.ranks
        assert len(first.y) + len(first.truth) == known.rows
