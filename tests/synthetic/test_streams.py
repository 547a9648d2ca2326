"""Synthetic streams: functions of seed and position."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.errors import ConfigurationError
from anabranch.synthetic import (
    SITE,
    STREAMS,
    OrdinalStream,
    drifting,
    make_stream,
    nonlinear,
    wide,
)

every = pytest.mark.parametrize("name", STREAMS)


@every
@settings(max_examples=20, deadline=None)
@given(start=st.integers(0, 10**12), cut=st.integers(0, 30))
def test_blocks_are_random_access(name: str, start: int, cut: int) -> None:
    stream = make_stream(name, seed=3)
    X, y = stream.block(start, 30)
    left, right = stream.block(start, cut), stream.block(start + cut, 30 - cut)
    assert X.tobytes() == left[0].tobytes() + right[0].tobytes()
    assert y.tobytes() == left[1].tobytes() + right[1].tobytes()


@every
def test_all_ranks_are_nearly_balanced_and_fields_uniform(name: str) -> None:
    X, y = make_stream(name, seed=1).block(0, 9_000)
    assert np.bincount(y.astype(int))[1:] / 9_000 == pytest.approx([0.25] * 4, abs=0.03)
    assert 0.0 < X.min() < X.max() < 1.0
    assert X.mean(0) == pytest.approx([0.5] * X.shape[1], abs=0.02)


@every
def test_seeds_differ_and_streams_are_picklable(name: str) -> None:
    one, two = make_stream(name, seed=1), make_stream(name, seed=2)
    assert not (one.block(0, 5)[0] == two.block(0, 5)[0]).any()
    again: OrdinalStream = pickle.loads(pickle.dumps(one))
    assert (again.block(7, 5)[0] == one.block(7, 5)[0]).all()
    assert one.names == tuple(f"x{i}" for i in range(one.features))


def test_wide_takes_any_number_of_fields_and_ranks() -> None:
    X, y = wide(200, 7, seed=4).block(0, 20_000)
    assert X.shape == (20_000, 200)
    assert np.bincount(y.astype(int))[1:] / 20_000 == pytest.approx([1 / 7] * 7, abs=0.02)


def test_sudden_drift_moves_the_thresholds_at_once() -> None:
    moving, still = drifting(period=5000, seed=6), nonlinear(seed=6)
    for start, shifted in ((0, False), (4000, False), (5000, True), (9000, True), (10_000, False)):
        (X, y), (same, still_y) = moving.block(start, 1000), still.block(start, 1000)
        assert (same == X).all()
        assert (y <= still_y).all()
        assert ((y != still_y).mean() > 0.2) == shifted


def test_gradual_drift_moves_them_bit_by_bit() -> None:
    moving, still = drifting(kind="gradual", period=5000, ramp=2000, seed=6), nonlinear(seed=6)
    changed = [
        (moving.block(start, 500)[1] != still.block(start, 500)[1]).mean()
        for start in (4500, 5000, 6000, 8000, 10_000, 11_000, 13_000)
    ]
    assert changed[0] == 0.0
    assert 0.0 < changed[1] < changed[2] < changed[3]
    assert changed[4] > changed[5] > changed[6] == 0.0


def test_errors_of_the_second_set_are_between_neighbouring_ranks() -> None:
    stream = nonlinear(seed=1)
    X, y = stream.block(0, 20_000)
    latent = 10 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5)
    best = 1 + (latent[:, None] > np.array(stream.cuts)).sum(1)
    assert np.abs(best - y).max() == 1


@pytest.mark.parametrize(
    ("name", "options"),
    [("liner", {}), ("wide", {"feature": 3}), ("drifting", {"kind": "slow"}),
     ("drifting", {"period": 0})],
)  # fmt: skip
def test_wrong_names_are_refused(name: str, options: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError):
        make_stream(name, **options)


def test_only_the_sites_named_drift_and_each_by_its_own_positions() -> None:
    moving, still = drifting(period=500, sites=(1, 3), seed=6), nonlinear(seed=6)
    for site in range(5):
        changed = moving.block(site * SITE, 1000)[1] != still.block(site * SITE, 1000)[1]
        assert not changed[:500].any()
        assert changed[500:].any() == (site in (1, 3))
    everywhere = drifting(period=500, seed=6)
    assert all((everywhere.block(p * SITE, 1000)[1][500:] != still.block(p * SITE, 1000)[1][500:])
               .any() for p in range(5))  # fmt: skip
