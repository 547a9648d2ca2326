"""The stream of sets of labels: a function of seed and position, with known answers."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.errors import ConfigurationError
from anabranch.synthetic_labels import labelled

ROWS = 40_000


@settings(max_examples=20, deadline=None)
@given(start=st.integers(0, 10**12), cut=st.integers(0, 30))
def test_blocks_of_sets_are_random_access(start: int, cut: int) -> None:
    stream = labelled(4, 3, seed=3)
    X, y = stream.block(start, 30)
    left, right = stream.block(start, cut), stream.block(start + cut, 30 - cut)
    assert X.tobytes() == left[0].tobytes() + right[0].tobytes()
    assert y.tobytes() == left[1].tobytes() + right[1].tobytes()


def test_frequencies_and_features_are_as_told() -> None:
    stream = labelled(3, 5, noise=0.5, seed=1)
    X, y = stream.block(0, ROWS)
    assert set(np.unique(y)) == {0.0, 1.0}
    assert y.mean(0) == pytest.approx([1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 6], abs=0.01)
    assert np.cov(X.T) == pytest.approx(np.eye(3), abs=0.03)
    assert (stream.names, stream.labels) == (
        ("x1", "x2", "x3"),
        ("y1", "y2", "y3", "y4", "y5"),
    )


def test_least_squares_comes_to_the_projection_told() -> None:
    stream = labelled(4, 6, noise=0.3, seed=2)
    X, y = stream.block(0, ROWS)
    wide = np.column_stack([X, np.ones(ROWS)])
    found = np.linalg.lstsq(wide, y, rcond=None)[0]
    P, bias = stream.projection()
    # Each entry's standard error is at most .5 / sqrt(n) = .0025.
    assert found[:-1] == pytest.approx(P, abs=0.0125)
    assert found[-1] == pytest.approx(bias, abs=0.0125)


def test_the_best_labels_err_as_often_as_the_noise_makes_them() -> None:
    stream = labelled(6, 1, noise=0.4, seed=5)
    X, y = stream.block(0, ROWS)
    # A cut at 0 is on the wrong side of noise with probability arctan(noise) / pi.
    assert (stream.best(X) != y).mean() == pytest.approx(np.arctan(0.4) / np.pi, abs=0.008)


def test_without_noise_nothing_is_wrong() -> None:
    stream = labelled(5, 7, noise=0.0, seed=8)
    X, y = stream.block(100, 2000)
    assert (stream.best(X) == y).all()


def test_seeds_of_sets_differ_and_streams_are_picklable() -> None:
    one, two = labelled(seed=1), labelled(seed=2)
    assert not (one.block(0, 5)[0] == two.block(0, 5)[0]).any()
    again = pickle.loads(pickle.dumps(one))
    assert again == one
    assert (again.block(7, 5)[1] == one.block(7, 5)[1]).all()


@pytest.mark.parametrize("options", [{"features": 0}, {"labels": 0}, {"noise": -1.0}])
def test_numbers_out_of_range_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError, match="out of range"):
        labelled(**options)  # type: ignore[arg-type]
