"""The L2-NPSVOR paper's experiments: splits, choice of C, traces, tables, and one true value."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import PredefinedSplit, cross_val_predict

from anabranch.errors import SampleError
from anabranch.reproduce.npsvor import Extent, Reproduction, SetFacts, reproduce
from anabranch.reproduce.npsvor_data import TextSet, errors_of
from anabranch.reproduce.npsvor_methods import METHODS, ranks_by
from anabranch.reproduce.npsvor_paper import SETS, SHAPES, TABLE_2
from anabranch.reproduce.npsvor_search import best, fitted, scored, searched
from anabranch.reproduce.npsvor_tables import differences, good_span, noise, tables
from anabranch.reproduce.npsvor_traces import LEVELS, SOLVERS, reached, traced
from anabranch.synthetic_text import TextShape, zipf_ordinal
from pipelines.text_sets import find_text_sets

RANKS = 5
SMALL = Extent(seeds=2, grid=(0.25, 4.0), folds=2)


def small(learned: int = 0) -> TextSet:
    X, y = zipf_ordinal(TextShape(600, 400, 9600, RANKS), dtype="float64")
    return TextSet("small", sparse.csr_array(X), y, learned)


@pytest.fixture(scope="module")
def found() -> Reproduction:
    """Everything on a synthetic set."""
    return reproduce({"small": small}, SMALL)


def test_a_random_split_has_every_row_once() -> None:
    given = TextSet("rows", sparse.csr_array(np.arange(1.0, 51.0)[:, None]), np.arange(50) % 2 + 1)
    split = given.split(3)
    assert (len(split.y), len(split.truth)) == (40, 10)
    rows = np.concatenate([split.X.toarray(), split.held.toarray()]).reshape(-1)
    assert sorted(rows) == list(range(1, 51))
    truth = np.concatenate([split.y, split.truth])
    assert np.array_equal(truth, given.y[rows.astype(int) - 1])
    assert not np.array_equal(given.split(4).truth, split.truth)


def test_a_given_split_is_kept_and_largemovie_is_halved() -> None:
    given = small(learned=400)
    assert given.share is None
    assert np.array_equal(given.split(5).y, given.y[:400])
    half = TextSet("largemovie", given.X, given.y)
    assert len(half.split(0).y) == 300


@pytest.mark.parametrize(
    ("y", "learned"),
    [(np.ones(3, int), 0), (np.ones(2), 0), (np.array([0, 1]), 0), (np.ones(2, int), 2)],
)
def test_sets_that_cannot_be_split_are_refused(y: Any, learned: int) -> None:
    with pytest.raises(SampleError, match="allowed: "):
        TextSet("bad", sparse.csr_array(np.eye(2)), y, learned)


def test_errors_of_ranks() -> None:
    assert errors_of(np.array([1, 2, 3]), np.array([1, 4, 2])) == (1.0, pytest.approx(5 / 3))


@pytest.mark.parametrize(("method", "threads"), [("SVR", 1), ("L2 DCD", 3)])
def test_errors_in_folds_are_those_of_scikit_learn(method: str, threads: int) -> None:
    split, make = small().split(0), METHODS[method]
    alone = searched(make, split, [0.5, 2.0], folds=3)
    assert searched(make, split, [0.5, 2.0], folds=3, threads=threads) == alone
    folds = PredefinedSplit(np.random.default_rng(0).permutation(len(split.y)) % 3)
    for C, error in zip([0.5, 2.0], alone, strict=True):
        predicted = cross_val_predict(make().set_params(C=C), split.X, split.y, cv=folds)
        ranks = np.clip(np.rint(predicted), 1, RANKS)
        assert error == pytest.approx(np.abs(ranks - split.y).mean())


def test_every_method_predicts_ranks_better_than_the_middle_one() -> None:
    split = small().split(0)
    middle = errors_of(np.full(len(split.truth), 3), split.truth)
    for name, make in METHODS.items():
        model, seconds = fitted(make, split, 1.0)
        assert seconds > 0.0
        predicted = ranks_by(model, split.held, RANKS)
        assert set(predicted) <= set(range(1, RANKS + 1))
        assert scored(model, split).absolute < middle.absolute, name


def test_solvers_fall_to_one_optimum() -> None:
    found = traced(small().split(0), 1.0)
    assert list(found["solvers"]) == list(SOLVERS)
    for points in found["solvers"].values():
        seconds, apart = np.array(points).T
        assert (np.diff(seconds) > 0.0).all()
        assert apart[0] == pytest.approx(found["solvers"]["TRON"][0][1])
        assert 0.0 <= apart[-1] < 1e-3 < apart[0]
        times = [reached(points, level) for level in LEVELS[:3]]
        assert times == sorted(time for time in times if time is not None)
    assert reached([[0.0, 1.0], [0.1, 0.001], [0.2, 0.1]], 0.01) is None


def test_a_reproduction_holds_what_was_asked_for(found: Reproduction) -> None:
    assert set(found.runs) == {("small", method) for method in METHODS}
    for (_, method), runs in found.runs.items():
        assert len(runs) == SMALL.seeds
        for run in runs:
            assert run["C"] == best(SMALL.grid, run["folds"])
            assert (run["held"] is None) == ("NPSVOR" not in method and method != "L2 DCD")
            if run["held"] is not None:
                assert run["held"][SMALL.grid.index(run["C"])] == pytest.approx(run["absolute"])
    assert found.values("absolute").shape == (1, len(METHODS))
    assert found.sets["small"].share == 0.8


def test_finished_pieces_are_not_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from anabranch.reproduce import npsvor
    from anabranch.reproduce.dsvor_parts import Memory

    one, memory = Extent(seeds=1, grid=(1.0,), folds=2), Memory()
    told: list[str] = []
    first = reproduce({"small": small}, one, parts=memory, tell=lambda *said: told.append(said[0]))
    assert told[0] == "small, preparation"
    assert len(told) == len(METHODS) + 2
    monkeypatch.setattr(npsvor, "searched", None)
    monkeypatch.setattr(npsvor, "traced", None)
    assert reproduce({"small": small}, one, parts=memory) == first


def test_extents() -> None:
    given = small()
    assert Extent().of(given) == Extent()
    assert Extent().of(small(learned=400)).seeds == 1
    quick = Extent().quick()
    assert quick.seeds == 2
    assert quick.grid == (1 / 16, 1 / 4, 1, 4)
    many = TextSet("many", sparse.csr_array((30_000, 2)), np.ones(30_000, int))
    assert (Extent().of(many).seeds, Extent().of(many).grid) == (1, quick.grid)


def made_up() -> Reproduction:
    """The expected errors as if they were ours, those of the last method .02 above."""
    runs = {}
    for name in SETS:
        for method, errors in TABLE_2[name].items():
            more = 0.02 if method == "L2 DCD" else 0.0
            run = {"C": 1.0, "folds": [0.6, 0.5], "held": [0.5, 0.7], "seconds": 2.0}
            run |= {"absolute": errors.absolute + more, "squared": errors.squared}
            runs[name, method] = [run]
    facts = {name: SetFacts(*SHAPES[name], 5, 0.8, 1, (1.0, 2.0)) for name in SETS}
    points = [[0.0, 9.0], [0.1, 0.05], [0.2, 1e-6]]
    traces = {
        n: {"C": 1.0, "optimum": 1.0, "solvers": dict.fromkeys(SOLVERS, points)} for n in SETS
    }
    return Reproduction(facts, runs, traces)


def test_tables_have_ours_beside_what_is_expected() -> None:
    found = made_up()
    assert differences(found)[:, :-1] == pytest.approx(0.0)
    assert differences(found)[:, -1] == pytest.approx(0.02)
    made = {table.key: table for table in tables(found)}
    for table in made.values():
        assert all(len(row) == len(table.columns) for row in table.rows), table.key
    errors = {(row[0], row[1]): row[2:] for row in made["errors"].rows}
    assert errors["treebank", "expected"][-1] == "0.776 / 1.107"
    assert errors["treebank", "ours"][-1] == "0.796 / 1.107"
    assert errors["semeval", "difference"] == [*["+0.000"] * 6, "+0.020"]
    agreement = made["agreement"].rows[0]
    assert agreement == ["treebank", "6 of 7", "7 of 7", "0.020", "L2 DCD"]
    # sqrt((1.107 - .796^2) / 2371)
    assert errors["treebank", "noise"][-1] == "0.014"
    # .02 over .0141 sqrt(2): two means of one split each
    assert errors["treebank", "in deviations"] == [*["+0.0"] * 6, "+1.0"]
    reach = made["solvers"].rows[0]
    assert reach[2:] == ["0.100", "0.200", "0.200", "0.200"]


def test_the_spread_is_over_our_splits() -> None:
    found = made_up()
    run = found.runs["amazon4", "SVR"][0]
    runs = [{**run, "absolute": value} for value in (0.64, 0.66, 0.68)]
    facts = {"amazon4": replace(found.sets["amazon4"], splits=3)}
    made = Reproduction(
        facts, {**found.runs, **{("amazon4", m): runs for m in METHODS}},
        {"amazon4": found.traces["amazon4"]},
    )  # fmt: skip
    errors = {row[1]: row[2:] for row in tables(made)[0].rows}
    assert errors["spread"] == ["0.020"] * 7
    chance = noise(made, "amazon4")
    assert chance is not None
    counted = 0.008 / (chance[2] * np.sqrt(4.0 / 3.0))
    assert errors["in deviations"][2] == f"{counted:+.1f}"


def test_mean_ranks_are_those_of_the_expected_errors() -> None:
    rows = {(row[0], row[1]): row[2:] for row in tables(made_up())[1].rows}
    # By hand: L1-SVC is 7th, 7th, 6th, 5th, 6th, and L2 DCD 2nd, 1st, 3rd, 2nd, 1st.
    assert rows["by mean absolute error", "expected"][0] == "6.20"
    assert rows["by mean absolute error", "expected"][-1] == "1.80"
    assert rows["by time to fit", "ours"] == ["4.00"] * 7


def test_where_an_error_is_good() -> None:
    assert good_span([1, 2, 4, 8], [0.5, 0.505, 0.52, 0.5]) == [1, 2]
    assert good_span([1, 2, 4], [0.7, 0.5, 0.7]) == [2]


def test_treebank_as_the_authors_split_it(shared: Path, tmp_path: Path) -> None:
    folder = shared / "data" / "text_ordinal"
    given = find_text_sets(folder, ["treebank"], tmp_path).sets["treebank"]()
    assert (*given.X.shape, given.X.nnz) == SHAPES["treebank"]
    split = given.split(0)
    assert (len(split.y), len(split.truth)) == (9484, 2371)
    grid, make = [0.25, 0.5, 1.0], METHODS["L2 DCD"]
    C = best(grid, searched(make, split, grid))
    errors = scored(fitted(make, split, C)[0], split)
    assert errors == pytest.approx(TABLE_2["treebank"]["L2 DCD"], abs=0.012)
    assert errors.absolute == pytest.approx(0.776, abs=0.01)
