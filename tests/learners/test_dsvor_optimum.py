"""The exact optimum: against another solver, and as the yardstick of sparsity."""

import cvxpy as cp
import numpy as np
import pytest

from anabranch.errors import ConfigurationError, SampleError
from anabranch.learners.batch_network import BatchNetwork
from anabranch.learners.dsvor_optimum import Optimum, objective, optimum_of, solve_optimum
from anabranch.protocol import Array
from anabranch.synthetic import nonlinear


def problem() -> tuple[Array, Array]:
    rng = np.random.default_rng(4)
    Z = rng.normal(size=(60, 6))
    latent = Z @ [1.0, -1.0, 0.5, 0.0, 0.0, 0.0] + 0.5 * rng.normal(size=60)
    return Z, np.digitize(latent, [-1.0, 0.0, 1.0]) + 1


def by_cvxpy(Z: Array, y: Array, ranks: int, lam: float, alpha: float) -> float:
    w, b = cp.Variable(Z.shape[1]), cp.Variable(ranks - 1)
    side = np.where(y[:, None] <= np.arange(1, ranks), 1.0, -1.0)
    hinges = sum(
        cp.sum(cp.pos(1 + cp.multiply(side[:, q], Z @ w - b[q]))) for q in range(ranks - 1)
    )
    penalty = lam * ((1 - alpha) / 2 * cp.sum_squares(w) + alpha * cp.norm1(w))
    return float(cp.Problem(cp.Minimize(penalty + hinges / len(Z))).solve(solver=cp.CLARABEL))


@pytest.mark.parametrize(("lam", "alpha"), [(0.02, 0.5), (0.02, 1.0), (0.02, 0.0), (1e-3, 0.9)])
def test_equals_another_solver(lam: float, alpha: float) -> None:
    Z, y = problem()
    best = solve_optimum(Z, y, 4, lam=lam, alpha=alpha)
    assert best.objective == pytest.approx(by_cvxpy(Z, y, 4, lam, alpha), rel=1e-7)
    assert best.gap < 1e-9
    assert best.objective == objective(Z, y, best.w, best.b, lam=lam, alpha=alpha)
    assert (np.diff(best.b) >= 0.0).all()


@pytest.fixture(scope="module")
def pooled() -> tuple[BatchNetwork, Optimum]:
    X, y = nonlinear(seed=0).block(0, 1000)
    net = BatchNetwork.of({"all": (X, y)}, 4, dimension=200)
    return net, optimum_of(net.learners["all"])


def test_zeros_are_where_the_subgradient_has_room(pooled: tuple[BatchNetwork, Optimum]) -> None:
    """|g_j| <= lam alpha at a zero, g_j = -lam (alpha sign + (1 - alpha) w_j) elsewhere."""
    net, best = pooled
    Z, y = net.learners["all"].mapped_shard()
    Z = Z[:, :200]
    margins = np.where(y[:, None] > np.arange(1, 4), 1.0, -1.0) * ((Z @ best.w)[:, None] - best.b)
    slack = 1.0 - margins
    pulls = np.where(y[:, None] > np.arange(1, 4), -1.0, 1.0) * (slack > 1e-6)
    # rows at the hinge itself may take any share of their pull
    free = int((np.abs(slack) <= 1e-6).sum())
    g, room = Z.T @ pulls.sum(axis=1) / len(Z), free * np.abs(Z).max() / len(Z)
    zero = best.w == 0.0
    assert 0.7 < zero.mean() < 0.85
    assert (np.abs(g[zero]) <= 1e-3 * 0.9 + room).all()
    assert (np.abs(best.w[~zero]) > 1e-4).all()


def test_no_iterate_is_better(pooled: tuple[BatchNetwork, Optimum]) -> None:
    net, best = pooled
    Z, y = net.learners["all"].mapped_shard()
    above = []
    for _ in range(2):
        net.advance(800)
        theta = net.parameters()[0]
        value = objective(Z[:, :200], y, theta[:200], theta[200:], lam=1e-3, alpha=0.9)
        above.append(value - best.objective)
    assert 0.0 < above[1] < above[0] < 0.06 * best.objective
    assert net.zeros() < best.zeros


def test_ranks_that_no_sample_has() -> None:
    Z, y = problem()
    best = solve_optimum(Z, y + 1, 7, lam=0.02, alpha=0.5)
    f, same = Z @ best.w, solve_optimum(Z, y, 4, lam=0.02, alpha=0.5)
    np.testing.assert_allclose(best.w, same.w, atol=1e-6)
    assert best.b[0] <= f.min() - 1.0
    assert (best.b[4:] >= f.max() + 1.0).all()
    assert best.objective == pytest.approx(same.objective, rel=1e-8)


def test_a_strong_regulariser_leaves_no_weight() -> None:
    Z, y = problem()
    best = solve_optimum(Z, y, 4, lam=10.0, alpha=0.9)
    assert best.zeros == 1.0
    assert best.objective == pytest.approx(by_cvxpy(Z, y, 4, 10.0, 0.9), rel=1e-7)
    alone = solve_optimum(Z[:1], y[:1], 4, lam=0.1, alpha=0.5)
    assert (alone.zeros, alone.objective, alone.gap) == (1.0, 0.0, 0.0)
    assert 1 + (alone.b < 0.0).sum() == y[0]


def test_nothing_to_solve_is_refused() -> None:
    Z, y = problem()
    with pytest.raises(ConfigurationError, match="lam=0"):
        solve_optimum(Z, y, 4, lam=0.0, alpha=0.5)
    with pytest.raises(ConfigurationError, match="no row"):
        solve_optimum(Z[:0], y[:0], 4, lam=0.1, alpha=0.5)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("scale", [1e-8, 1e3, 1e8])
def test_the_gap_is_that_of_what_is_given_back(scale: float, alpha: float) -> None:
    """Whatever the units: weights that are small in numbers are not cut where they count."""
    Z = np.random.default_rng(0).normal(size=(30, 6))
    y = (Z[:, 0] >= 0) + 1
    best = solve_optimum(Z * scale, y, 2, lam=0.01, alpha=alpha)
    assert best.gap < 1e-9
    if alpha == 1.0 and scale > 1.0:  # all rows are beyond their margins: |w|_1 is all there is
        one = solve_optimum(Z, y, 2, lam=0.01, alpha=1.0)
        assert best.objective == pytest.approx(one.objective / scale, rel=1e-8)
    elif scale < 1.0:
        assert best.objective == pytest.approx(2.0 * min((y == 1).mean(), (y == 2).mean()))


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_more_features_than_rows_and_hardly_a_regulariser(alpha: float) -> None:
    Z = np.random.default_rng(0).normal(size=(50, 200))
    best = solve_optimum(Z, np.arange(50) % 4 + 1, 4, lam=1e-9, alpha=alpha)
    assert best.gap < 1e-9
    twice = solve_optimum(
        np.hstack([Z[:, :3]] * 2), np.arange(50) % 4 + 1, 4, lam=1e-3, alpha=alpha
    )
    once = solve_optimum(Z[:, :3] * (2.0 if alpha == 0.0 else 1.0) ** 0.5, np.arange(50) % 4 + 1, 4,
                         lam=1e-3, alpha=alpha)  # fmt: skip
    assert twice.objective == pytest.approx(once.objective, rel=1e-7)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"Z": np.full((60, 6), np.nan)}, r"not finite: X\[0, 0\]"),
        ({"Z": np.zeros(60)}, r"wrong shape: Z has \(60,\)"),
        ({"y": np.full(60, 5)}, r"not a rank: y\[0\]=5; .* 1 to 4"),
        ({"y": np.full(60, 0)}, "not a rank"),
        ({"y": np.full(60, 1.5)}, "not a rank"),
        ({"y": np.ones(59)}, r"wrong shape: y has \(59,\); allowed: \(60,\)"),
        ({"ranks": 1}, "ranks=1; .*>= 2"),
        ({"tol": 0.0}, "tol=0.0"),
        ({"tol": float("nan")}, "tol=nan"),
    ],
)
def test_bad_input_is_refused(wrong: dict[str, object], message: str) -> None:
    Z, y = problem()
    given = {"Z": Z, "y": y, "ranks": 4, "lam": 0.1, "alpha": 0.5} | wrong
    with pytest.raises((ConfigurationError, SampleError), match=message):
        solve_optimum(**given)  # type: ignore[arg-type]
