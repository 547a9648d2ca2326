"""The elastic net paper's experiments: our values are those that were found before."""

import numpy as np
import pytest

from anabranch.reproduce.elastic_net import Reproduction, compare_local, reproduce
from anabranch.reproduce.elastic_net_data import Split, diabetes, synthetic
from anabranch.reproduce.elastic_net_run import Problem, centralised, local_only, run


@pytest.fixture(scope="module")
def splits() -> list[Split]:
    return [synthetic(seed) for seed in range(5)]


@pytest.fixture(scope="module")
def all_of_it() -> Reproduction:
    return reproduce(seeds=1)


def test_the_synthetic_set(splits: list[Split]) -> None:
    for split in splits:
        trace = run(Problem(split), 230)
        assert 150 <= (trace.stops() or 0) <= 175
        assert 153 <= (trace.stops(paper=True) or 0) <= 213
        assert 72 <= (trace.within(0.01) or 0) <= 83
        assert 0.036 <= trace.rmse[-1] <= 0.046
        assert 0.9979 <= trace.adjusted[-1] <= 0.9986
        assert trace.objective[-1] == pytest.approx(trace.best, rel=1e-6)
        assert (np.diff(trace.primal[20:]) < 0.0).mean() > 0.95


def test_more_nodes_and_larger_rho_take_longer(all_of_it: Reproduction) -> None:
    nodes = [row["paper stop"] for row in all_of_it.sweeps["nodes"]]
    assert nodes == pytest.approx([51, 191, 749], rel=0.05)
    rho = [row["paper stop"] for row in all_of_it.sweeps["rho"]]
    assert rho == pytest.approx([15, 191, 1864], rel=0.15)


def test_heavier_penalties_fit_worse(all_of_it: Reproduction) -> None:
    for name in ("u1", "u2"):
        rmse = [row["rmse"] or 0.0 for row in all_of_it.sweeps[name]]
        assert rmse == sorted(rmse)


def test_nodes_alone_lose_with_their_number(splits: list[Split]) -> None:
    rows = compare_local(splits)
    local = [row["local rmse"] for row in rows]
    assert local == pytest.approx([0.054, 0.078, 0.122, 0.202], rel=0.08)
    own = [row["local own"] for row in rows]
    assert own == pytest.approx([0.996, 0.989, 0.958, 0.789], abs=0.02)
    assert [row["rmse"] for row in rows] == pytest.approx([0.040] * 4, abs=0.002)


def test_the_patients(all_of_it: Reproduction) -> None:
    trace = all_of_it.traces["diabetes"]
    assert 12 <= (trace.dropped(0.9) or 0) <= 17
    assert 38 <= (trace.within(0.01) or 0) <= 46
    assert trace.stops() is None
    scores = [
        (local_only(problem), problem.tested(centralised(problem)))
        for problem in (Problem(diabetes(seed), nodes=15) for seed in range(5))
    ]
    assert np.mean([alone[0] for alone, _ in scores]) == pytest.approx(0.902, abs=0.04)
    assert np.mean([together[0] for _, together in scores]) == pytest.approx(0.723, abs=0.03)
    assert np.mean([alone[2] for alone, _ in scores]) < -0.5


def test_everything_is_told(all_of_it: Reproduction) -> None:
    found = all_of_it.findings
    assert {finding.what.split(":")[0] for finding in found} >= {"diabetes", "synthetic"}
    assert all(finding.paper and finding.ours for finding in found)
    assert set(all_of_it.sweeps) == {"nodes", "rho", "u1", "u2"}
    assert (all_of_it.traces["own settings"].within(1e-6) or 99) <= 12
