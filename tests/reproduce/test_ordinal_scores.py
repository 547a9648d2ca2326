"""Scores and mean ranks by hand and by scikit-learn, splits, and pieces that are kept."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from anabranch.errors import SampleError
from anabranch.protocol import Array
from anabranch.reproduce import ordinal, ordinal_methods
from anabranch.reproduce.dsvor_parts import Memory
from anabranch.reproduce.ordinal import mean_ranks, reproduce
from anabranch.reproduce.ordinal_data import OrdinalSplit, dealt, score
from anabranch.reproduce.ordinal_methods import METHODS, Method
from anabranch.reproduce.ordinal_peers import PeerError
from anabranch.reproduce.ordinal_tables import gate_rows, tables


def test_scores_are_those_of_their_definitions() -> None:
    rng = np.random.default_rng(0)
    truth, predicted = rng.integers(1, 5, 200), rng.integers(1, 6, 200)
    found = score(truth, predicted, ranks=5)
    off = np.abs(truth - predicted)
    by_rank = [off[truth == rank].mean() for rank in range(1, 5)]
    assert found.error == pytest.approx(off.mean())
    assert found.accuracy == pytest.approx((off == 0).mean())
    assert found.macro == pytest.approx(np.mean(by_rank))
    assert found.kappa == pytest.approx(cohen_kappa_score(truth, predicted, weights="quadratic"))


def test_mean_ranks_have_closed_forms() -> None:
    always_best = np.tile([0.1, 0.2, 0.3, 0.4], (7, 1))
    assert mean_ranks(always_best).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert mean_ranks(np.ones((3, 5))).tolist() == [3.0] * 5
    errors = np.random.default_rng(1).random((9, 6))
    assert mean_ranks(errors).sum() == pytest.approx(6 * 7 / 2)
    holed = np.vstack([errors, [np.nan, *[0.0] * 5]])
    assert np.array_equal(mean_ranks(holed), mean_ranks(errors))
    assert np.isnan(mean_ranks(holed[-1:])).all()


def test_splits_are_scaled_by_the_rows_to_learn() -> None:
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.normal(3.0, 5.0, 40), np.full(40, 7.0)])
    split = OrdinalSplit.of("a", X, rng.integers(1, 4, 40), np.arange(10))
    assert split.X.shape == (30, 2)
    assert split.X[:, 0].mean() == pytest.approx(0.0, abs=1e-12)
    assert split.X[:, 0].std() == pytest.approx(1.0)
    assert not split.X[:, 1].any()
    assert not split.held[:, 1].any()


@pytest.mark.parametrize(
    ("y", "tested", "what"),
    [
        ([1, 2, 0], [0], "ranks"),
        ([1, 2, 1.5], [0], "shapes"),
        ([1, 2], [0], "shapes"),
        ([1, 2, 3], [3], "rows to test"),
        ([1, 2, 3], [-1], "rows to test"),
    ],
)
def test_splits_refuse_what_does_not_fit(y: list[float], tested: list[int], what: str) -> None:
    with pytest.raises(SampleError, match=what):
        OrdinalSplit.of("a", np.zeros((3, 1)), np.array(y), np.array(tested))


def test_every_row_is_dealt_once() -> None:
    parts = dealt(103, 20, seed=4)
    assert sorted(np.concatenate(parts).tolist()) == list(range(103))
    assert {len(rows) for rows in parts} == {5, 6}
    assert not all(np.array_equal(a, b) for a, b in zip(parts, dealt(103, 20, 5), strict=True))


def splits() -> list[OrdinalSplit]:
    X, y = np.arange(12.0)[:, None], np.tile([1, 2, 3], 4)
    return [OrdinalSplit.of("small", X, y, np.arange(k, k + 4)) for k in range(3)]


class Calls:
    """Methods that count how often they run; the second refuses the first holdout."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def ones(self, split: OrdinalSplit, seed: int) -> tuple[list[Array], str]:
        self.made.append("ones")
        return [np.ones(len(split.held), dtype=np.int64)], "did not converge" if seed else ""

    def picky(self, split: OrdinalSplit, seed: int) -> tuple[list[Array], str]:
        self.made.append("picky")
        if seed == 0:
            raise PeerError("too small")
        return [split.truth, np.ones(len(split.truth), dtype=np.int64)], ""

    def methods(self) -> tuple[Method, ...]:
        return Method("ones", "Ones", self.ones), Method("picky", "Picky", self.picky)


def test_troubles_are_counted_and_scores_of_nodes_averaged() -> None:
    found = reproduce({"small": splits}, methods=Calls().methods())
    assert found.troubles["small", "ones"] == {"did not converge": 2}
    assert found.troubles["small", "picky"] == {"refused: too small": 1}
    assert found.scores["small", "ones"].shape == (3, 4)
    halves = found.scores["small", "picky"]
    assert halves.shape == (2, 4)
    assert halves[:, 0] == pytest.approx(found.scores["small", "ones"][1:, 0] / 2)
    made = {table.key: table for table in tables(found)}
    assert [row[:3] for row in made["troubles"].rows] == [
        ["small", "Ones", "did not converge"],
        ["small", "Picky", "refused: too small"],
    ]
    assert all(str(cell).endswith("*") for cell in made["error"].rows[0][1:])
    assert [*gate_rows(found)] == []


def test_an_interrupted_run_goes_on() -> None:
    calls, parts = Calls(), Memory()

    def stop(what: str, done: int, total: int) -> None:
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce({"small": splits}, methods=calls.methods(), parts=parts, tell=stop)
    assert calls.made == ["ones"] * 3
    whole = reproduce({"small": splits}, methods=calls.methods(), parts=parts)
    assert calls.made == ["ones"] * 3 + ["picky"] * 3
    again = reproduce({"small": splits}, methods=calls.methods(), parts=parts)
    assert len(calls.made) == 6
    assert all(np.array_equal(again.scores[key], whole.scores[key]) for key in whole.scores)
    reproduce({"small": lambda: splits()[:2]}, methods=calls.methods(), parts=parts)
    assert len(calls.made) == 10


def test_peers_that_are_not_installed_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordinal_methods, "find_spec", lambda name: None if name == "mord" else 1)
    found = ordinal.reproduce({"small": splits}, methods=[METHODS[0], *Calls().methods()])
    assert [one.heading for one in found.methods] == ["Ones", "Picky"]
    notes: Mapping[str, Any] = {table.key: table.notes for table in tables(found)}
    assert "LogisticAT, LogisticIT, OrdinalRidge left out, since mord" in notes["troubles"][0]
