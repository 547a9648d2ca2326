"""z-scores agreed on by the network."""

import numpy as np
import pytest

from anabranch.errors import MessageError
from anabranch.features.standardiser import Moments
from anabranch.learners import make
from anabranch.learners.ordinal import OrdinalLearner
from anabranch.protocol import Message
from tests.learners.small_network import exchange, random_weights


def nodes_with_rows(sizes: list[int], **options: int) -> tuple[list[OrdinalLearner], np.ndarray]:
    rng = np.random.default_rng(0)
    learners, rows = [], []
    for m, size in enumerate(sizes):
        learner = make("dsvor", 2, 3, kernel="linear", **options)
        assert isinstance(learner, OrdinalLearner)
        X = rng.normal([1e6 + m, -3.0], [2.0, 1e-3], size=(size, 2))
        learner.learn(X, rng.integers(1, 4, size))
        learners.append(learner)
        rows.append(X)
    return learners, np.concatenate(rows)


def state_of(learner: OrdinalLearner) -> tuple[np.ndarray, np.ndarray]:
    state = learner.export()
    return state["mean"], np.sqrt(state["M2"] / state["progress"][0])


@pytest.mark.parametrize("sizes", [[30] * 8, [200, 0, 0, 5, 0, 0, 17, 3]])
def test_consensus_reaches_the_pooled_moments(sizes: list[int]) -> None:
    learners, X = nodes_with_rows(sizes, warm_up=150)
    weights = random_weights(8, 3, 0)
    for t in range(154):
        exchange(learners, weights, t)
    for learner in learners:
        mean, deviation = state_of(learner)
        np.testing.assert_allclose(mean, X.mean(0), rtol=1e-12)
        np.testing.assert_allclose(deviation, X.std(0), rtol=1e-6)


def test_frozen_after_warm_up_and_moments_no_longer_sent() -> None:
    learners, _ = nodes_with_rows([20] * 5, warm_up=3)
    weights = random_weights(5, 2, 0)
    for t in range(3):
        assert "mean" in learners[0].messages(t)[0].arrays
        exchange(learners, weights, t)
    frozen = state_of(learners[0])
    exchange(learners, weights, 3)
    assert set(learners[0].messages(4)[0].arrays) == {"w", "b"}
    learners[0].learn(np.full((9, 2), 5.0), np.ones(9))
    exchange(learners, weights, 4)
    assert all((a == b).all() for a, b in zip(frozen, state_of(learners[0]), strict=True))


def test_never_combined_keeps_running() -> None:
    (learner,), X = nodes_with_rows([500])
    mean, deviation = state_of(learner)
    np.testing.assert_allclose(mean, X.mean(0), rtol=1e-12)
    np.testing.assert_allclose(deviation, X.std(0), rtol=1e-6)


def test_rounds_without_any_sample_do_not_count() -> None:
    learners, _ = nodes_with_rows([0] * 4, warm_up=2)
    weights = random_weights(4, 2, 0)
    for t in range(10):
        exchange(learners, weights, t)
    learners[0].learn(np.array([[1.0, 2.0], [3.0, 4.0], [2.0, 3.0]]), np.array([1, 2, 3]))
    for t in range(10, 20):
        exchange(learners, weights, t)
    assert np.allclose(state_of(learners[3])[0], [2.0, 3.0])


def test_moments_of_one_or_two_samples_are_not_told() -> None:
    learners, _ = nodes_with_rows([0] * 2, warm_up=4)
    samples = np.array([[1.25, -3.5], [7.75, 2.0], [0.5, 9.0]])
    for count, told in enumerate([0.0, 0.0, 3.0], 1):
        learners[0].learn(samples[count - 1 : count], np.ones(1))
        (message,) = learners[0].messages(0)
        assert message.arrays["n"] == told
        assert message.arrays["mean"].any() == (told > 0)
    # Until then nothing was lost, and no round was counted.
    assert learners[0].export()["progress"][0] == 3


def test_a_node_that_never_has_three_samples_takes_over_the_others_scale() -> None:
    learners, _ = nodes_with_rows([50, 1, 50, 50, 50, 50], warm_up=4)
    weights = random_weights(6, 2, 0)
    for t in range(10):
        exchange(learners, weights, t)
    few, many = state_of(learners[1]), state_of(learners[0])
    np.testing.assert_allclose(few[0], many[0], rtol=1e-5)
    assert learners[1].export()["warm_up_rounds"] == 4


def test_late_node_takes_over_what_its_neighbours_froze() -> None:
    learners, _ = nodes_with_rows([50] * 6, warm_up=4)
    weights = random_weights(6, 2, 0)
    for t in range(10):
        exchange(learners, weights, t)
    learners[2] = make("dsvor", 2, 3, kernel="linear", warm_up=4)  # type: ignore[assignment]
    learners[2].learn(np.array([[50.0, 60.0]]), np.array([1]))
    for t in range(10, 13):
        exchange(learners, weights, t)
    late, old = state_of(learners[2]), state_of(learners[1])
    np.testing.assert_allclose(late[0], old[0], rtol=1e-5)
    assert set(learners[2].messages(13)[0].arrays) == {"w", "b"}
    assert set(learners[1].messages(13)[0].arrays) == {"w", "b"}


def test_rounds_without_a_neighbour_do_not_count() -> None:
    """A node that starts first must not freeze a scale that is its own alone."""
    learners, _ = nodes_with_rows([50] * 5, warm_up=4)
    weights = random_weights(5, 2, 0)
    for t in range(10):
        learners[0].combine(t, {}, weights[0])
    assert not learners[0].export()["warm_up_rounds"]
    for t in range(10, 14):
        exchange(learners, weights, t)
    assert [learner.export()["warm_up_rounds"] for learner in learners] == [4] * 5


@pytest.mark.parametrize(
    ("name", "value"), [("n", 1e308), ("n", -1.0), ("M2", 1e301), ("M2", -1.0), ("mean", 1e101)]
)
def test_moments_that_would_overflow_are_refused(name: str, value: float) -> None:
    learners, _ = nodes_with_rows([20] * 2, warm_up=4)
    (message,) = learners[1].messages(0)
    with pytest.raises(MessageError, match="moments"):
        learners[0].check_message(
            Message({**message.arrays, name: np.full(message.arrays[name].shape, value)})
        )


def test_the_largest_samples_and_moments_give_finite_scales() -> None:
    learners, _ = nodes_with_rows([0] * 2, warm_up=4)
    learners[0].learn(np.array([[1e100, -1e100], [-1e100, 1e100]]), np.array([1, 2]))
    (message,) = learners[1].messages(0)
    extreme = {"n": np.array([1e100]), "mean": np.full(2, 1e100), "M2": np.full(2, 1e300)}
    learners[0].combine(0, {"a": Message({**message.arrays, **extreme})}, {"a": 0.5})
    state = learners[0].export()
    assert all(np.isfinite(state[name]).all() for name in ("mean", "M2", "progress"))


def test_mixing_is_the_linear_average_of_raw_sums() -> None:
    rng = np.random.default_rng(1)
    samples = [rng.normal(size=(n, 3)) for n in (4, 9, 30)]
    parts = [
        Moments(float(len(x)), x.mean(0), ((x - x.mean(0)) ** 2).sum(0)) for x in samples
    ]  # fmt: skip
    c = [0.5, 0.2, 0.3]
    mixed = Moments.mix(list(zip(c, parts, strict=True)), 0)
    raw = [
        sum(w * np.sum(x**p, axis=0) for w, x in zip(c, samples, strict=True)) for p in (0, 1, 2)
    ]
    np.testing.assert_allclose(mixed.count, raw[0][0])
    np.testing.assert_allclose(mixed.mean, raw[1] / raw[0])
    np.testing.assert_allclose(mixed.m2, raw[2] - raw[1] ** 2 / raw[0])


def test_constant_feature_stays_harmless_through_consensus() -> None:
    rng = np.random.default_rng(2)
    learners = [make("dsvor", 2, 3, kernel="linear", warm_up=20) for _ in range(6)]
    for learner in learners:
        n = int(rng.integers(1, 30))
        X = np.column_stack([rng.normal(size=n), np.full(n, 1234.567)])
        learner.learn(X, rng.integers(1, 4, n))
    weights = random_weights(6, 3, 0)
    for t in range(25):
        exchange(learners, weights, t)
    scores = learners[0].scores(np.array([[0.0, 1234.567]]))  # type: ignore[attr-defined]
    assert np.abs(scores).max() < 100.0
