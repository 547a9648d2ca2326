"""Modes and their entropies: against PyEMD, closed forms, and the features of real bearings."""

from math import factorial
from pathlib import Path

import numpy as np
import pytest
from PyEMD import EMD
from scipy.interpolate import CubicSpline

from anabranch.errors import ConfigurationError, SampleError
from anabranch.kernels.eemd import mean_modes
from anabranch.kernels.entropy import permutation_entropy
from anabranch.kernels.envelope import KNOTS, find_extrema, fit_spline
from anabranch.protocol import Array
from anabranch.signal import EntropyFeatures
from anabranch.signal.entropy import SIFTS
from anabranch.synthetic_vibration import LEVELS, vibration

RNG = np.random.default_rng(3)
SIGNALS = {
    "noise": RNG.standard_normal(1000),
    "walk": np.cumsum(RNG.standard_normal(1000)),
    "tone": np.sin(np.arange(1000) / 7.0) + 0.2 * RNG.standard_normal(1000),
    "bearing": vibration(3, 1000),
}


def perm_entropy(signal: Array, order: int, delay: int) -> float:
    """Give antropy's; it compiles for seconds when imported, so only where it is called."""
    from antropy import perm_entropy as theirs

    return float(theirs(signal, order, delay, normalize=True))


def modes_of(signal: Array, count: int) -> Array:
    modes = np.empty((count, len(signal)))
    mean_modes(signal, np.zeros((1, len(signal))), SIFTS, modes)
    return modes


@pytest.mark.parametrize("name", SIGNALS)
def test_modes_are_those_of_pyemd(name: str) -> None:
    signal = SIGNALS[name]
    ours, theirs = modes_of(signal, 4), EMD(FIXE=SIFTS).emd(signal.copy(), max_imf=4)
    np.testing.assert_allclose(ours, theirs[:4], atol=1e-11)


def test_the_ensemble_is_the_mean_over_its_noises() -> None:
    signal, noise = SIGNALS["tone"], 0.3 * RNG.standard_normal((5, 1000))
    one_by_one = np.mean([modes_of(signal + own, 3) for own in noise], axis=0)
    together = np.empty((3, 1000))
    mean_modes(signal, noise.copy(), SIFTS, together)
    np.testing.assert_allclose(together, one_by_one, atol=1e-13)


def test_a_signal_without_extrema_is_its_own_first_mode() -> None:
    ramp = np.linspace(0.0, 1.0, 80)
    modes = modes_of(ramp, 3)
    assert (modes[0] == ramp).all()
    assert (modes[1:] == 0.0).all()


def test_extrema_that_last_are_in_their_middle() -> None:
    signal = np.array([0.0, 1.0, 1.0, 1.0, 0.0, -1.0, -1.0, 2.0, 2.0])
    places = np.zeros((2, len(signal)), np.int64)
    assert find_extrema(signal, places) == (1, 1)
    assert places[:, 0].tolist() == [2, 5]


@pytest.mark.parametrize("knots", [4, 5, 9, 40])
def test_splines_are_not_a_knot(knots: int) -> None:
    x = np.cumsum(RNG.integers(1, 9, knots)).astype(float)
    room = np.zeros((KNOTS, knots))
    room[0], room[1] = x, RNG.standard_normal(knots)
    fit_spline(room, knots)
    np.testing.assert_allclose(room[2], CubicSpline(x, room[1])(x, 2), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(("order", "delay"), [(2, 1), (3, 3), (5, 1), (6, 2)])
def test_the_entropy_is_that_of_antropy(order: int, delay: int) -> None:
    counts = np.empty(factorial(order), np.int64)
    for signal in (SIGNALS["noise"], SIGNALS["walk"].round(), np.arange(50.0), np.zeros(50)):
        ours = permutation_entropy(signal, order, delay, counts)
        assert ours == pytest.approx(perm_entropy(signal, order, delay), abs=1e-12)


def test_the_library_gives_the_same_features() -> None:
    for seed, signal in enumerate((SIGNALS["tone"], SIGNALS["bearing"])):
        ours = EntropyFeatures(trials=3).of(signal, (seed,))
        theirs = EntropyFeatures(trials=3, method="library").of(signal, (seed,))
        np.testing.assert_allclose(ours, theirs, atol=1e-3)


def test_without_noise_they_are_entropies_of_plain_modes() -> None:
    signal = SIGNALS["bearing"]
    found = EntropyFeatures(modes=3, trials=1, noise=0.0, order=4, delay=2).of(signal, (0,))
    scaled = (signal - signal.mean()) / signal.std()
    wanted = [perm_entropy(m, 4, 2) for m in modes_of(scaled, 3)]
    np.testing.assert_allclose(found, wanted, atol=2e-3)


def test_units_and_offsets_do_not_matter_nor_does_what_else_there_was() -> None:
    features, signal = EntropyFeatures(modes=3, trials=4), SIGNALS["bearing"]
    wanted = features.of(signal, (1, 2))
    features.of(SIGNALS["noise"], (1, 3))
    assert (features.of(signal.copy(), (1, 2)) == wanted).all()
    assert (features.of(signal, (1, 3)) != wanted).any()
    for factor in (1e-160, 1e-3, 1e160):
        np.testing.assert_allclose(features.of(factor * signal, (1, 2)), wanted, atol=1e-3)
    np.testing.assert_allclose(features.of(signal + 100.0, (1, 2)), wanted, atol=1e-3)


def test_worn_bearings_are_more_regular() -> None:
    features = EntropyFeatures(trials=5)
    levels = range(1, LEVELS + 1)
    found = [features.of(vibration(level, 2400, seed=1), (level,))[1:4].mean() for level in levels]
    assert (np.diff(found) < -0.01).all()


def test_a_dead_sensor_has_no_entropy() -> None:
    features = EntropyFeatures(modes=2, trials=2)
    for value in (0.0, -3.7, 1e300):
        assert (features.of(np.full(200, value), (0,)) == 0.0).all()


@pytest.mark.parametrize(
    "window", [np.ones(63), np.ones((80, 1)), np.full(80, np.nan), np.r_[np.ones(80), np.inf]]
)
def test_bad_windows_are_refused(window: Array) -> None:
    with pytest.raises(SampleError, match="window"):
        EntropyFeatures().of(window, (0,))


@pytest.mark.parametrize(
    "wrong",
    [
        {"modes": 0},
        {"trials": 0},
        {"order": 1},
        {"order": 9},
        {"delay": 0},
        {"noise": -0.1},
        {"method": "fast"},
    ],
)
def test_bad_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        EntropyFeatures(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(("kind", "width"), [("IR_0", 21), ("B_2", 14), ("N_0", 0)])
def test_features_of_real_bearings(shared: Path, kind: str, width: int) -> None:
    """Those of `data/cwru`, which another program made, within what the noise of 100 trials does.

    Over all segments ours differ from them by no more on average than those of one seed from those
    of another (standard deviations .002 to .006 a mode), so three windows lie within .03.
    """
    rows = np.loadtxt(shared / f"data/cwru/feat_{kind}.csv", delimiter=",", skiprows=1)
    rows = rows[rows[:, 1] == width] if width else rows
    with np.load(shared / f"data/cwru/signal_{kind}.npz", allow_pickle=False) as arrays:
        name = next(n for n in arrays.files if n[0] == "w" and int(n[1:]) == rows[0, 1])
        signal = arrays[name] * float(arrays["scale" + name[1:]])
    row = rows[250]
    start = int(row[3])
    ours = EntropyFeatures().of(signal[start : start + 2400], (0,))
    np.testing.assert_allclose(ours, row[4:], atol=0.03)
