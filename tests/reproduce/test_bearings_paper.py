"""The bearings of the dSVOR paper: splits that leak and do not, and what 20 nodes make of them."""

from pathlib import Path

import numpy as np
import pytest

from anabranch.errors import ConfigurationError, SampleError
from anabranch.reproduce.bearings import GAP, KINDS, BearingRow, bearings, run_split
from anabranch.reproduce.bearings_data import CASES, SEGMENT, Segments, files_of, split_case


def made(levels: list[int], shift: float = 0.0) -> Segments:
    """Give 500 segments a level, whose only field is their place in the recording."""
    start = np.tile(np.arange(500) * 238, len(levels))
    return Segments(np.repeat(levels, 500), start, start[:, None] + shift)


@pytest.fixture(scope="module")
def files(shared: Path) -> dict[str, Segments]:
    found = {}
    for name in files_of("OR 0"):
        rows = np.loadtxt(shared / "data" / "cwru" / name, delimiter=",", skiprows=1)
        found[name] = Segments(rows[:, 0].astype(int), rows[:, 3].astype(int), rows[:, 4:])
    return found


def test_the_time_split_shares_no_sample() -> None:
    split = split_case("IR 0", {"feat_IR_0.csv": made([1, 2])}, "time")
    assert len(split.y) == 600
    apart = split.held.min() - split.X.max()
    assert apart * made([1, 2]).X[:].std() > 0.0
    places = np.arange(500) * 238
    assert len(split.truth) == 2 * (places >= places[299] + SEGMENT).sum()


def test_the_random_split_tests_all_that_is_not_learned() -> None:
    data = {"feat_IR_0.csv": made([1, 2, 3])}
    a, b = (split_case("IR 0", data, "random", seed) for seed in (0, 1))
    assert (len(a.y), len(a.truth)) == (900, 600)
    assert a.X.tobytes() != b.X.tobytes()
    # Nearly every row to test has a neighbour that is learned, nine tenths of it the same samples.
    assert np.mean(np.abs(a.held - a.X.T).min(axis=1) < 1.01 * np.diff(np.unique(a.X)).min()) > 0.8


def test_the_healthy_state_is_the_lowest_rank_of_the_outer_race() -> None:
    data = {"feat_N_0.csv": made([0], 1e6), "feat_OR6_0.csv": made([1, 2, 3])}
    split = split_case("OR 0", data)
    assert split.ranks == 4
    assert set(split.y[split.X[:, 0] > split.X[split.y > 1].max()]) == {1}


def test_nodes_together_come_close_to_one_machine(files: dict[str, Segments]) -> None:
    (row,) = bearings(files, ["OR 0"], "random", seeds=1)
    assert [row.mean(kind) for kind in KINDS] == pytest.approx((0.985, 0.925, 0.970), abs=0.02)
    assert row.holds
    assert row.leaks
    assert row.paper == (0.959, 0.798, 0.955)
    found = run_split(split_case("OR 0", files), rounds=600)
    values = [found[kind].accuracy for kind in KINDS]
    assert values == pytest.approx((0.987, 0.966, 0.981), abs=0.02)


@pytest.mark.parametrize(
    ("values", "time", "random"),
    [
        ((0.99, 0.94, 0.98), True, True),
        ((0.99, 0.97, 0.98), True, False),
        ((0.99, 0.90, 0.95), False, False),
        ((0.99, 0.99, 0.98), False, False),
    ],
)
def test_the_gates(values: tuple[float, ...], time: bool, random: bool) -> None:
    accuracy = {kind: np.array([value]) for kind, value in zip(KINDS, values, strict=True)}
    assert BearingRow("IR 0", "time", accuracy, accuracy).holds is time
    assert BearingRow("IR 0", "random", accuracy, accuracy).holds is random
    assert GAP == 0.03


def test_mistakes_are_named() -> None:
    with pytest.raises(ConfigurationError, match="'IR 9'"):
        files_of("IR 9")
    with pytest.raises(ConfigurationError, match="'tmie'"):
        split_case("IR 0", {}, "tmie")  # type: ignore[arg-type]
    with pytest.raises(SampleError, match=r"feat_OR6_0\.csv"):
        split_case("OR 0", {"feat_N_0.csv": made([0])})
    with pytest.raises(SampleError, match="shapes"):
        Segments(np.ones(3), np.ones(2), np.ones((3, 1)))
    assert set(CASES) >= {"IR 0", "OR 0", "B 2"}
