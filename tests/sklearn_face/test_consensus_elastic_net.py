"""The elastic net as a scikit-learn regressor: scikit-learn's own checks, and its own model."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.linear_model import ElasticNet
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from anabranch.errors import ConfigurationError
from anabranch.sklearn_face import ConsensusElasticNet
from tests.learners.elastic_network import Net


@parametrize_with_checks(
    [
        ConsensusElasticNet(),
        ConsensusElasticNet(nodes=3),
        ConsensusElasticNet(scaling="consensus", decay=0.99),
    ]
)
def test_passes_scikit_learns_estimator_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("nodes", [1, 20])
def test_fit_is_scikit_learns_elastic_net(nodes: int) -> None:
    X, y = load_diabetes(return_X_y=True)
    ours = ConsensusElasticNet(u1=0.02, u2=0.01, nodes=nodes).fit(X, y)
    theirs = ElasticNet(alpha=0.03, l1_ratio=2 / 3, tol=1e-14, max_iter=10**6).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7)
    assert ours.intercept_ == pytest.approx(theirs.intercept_)
    assert (ours.n_iter_ == 1) == (nodes == 1)


def test_the_shards_of_fit_are_nodes_and_a_server() -> None:
    """Round for round, what learners that exchange messages do."""
    X, y = load_diabetes(return_X_y=True)
    for rounds in (1, 2, 7, 30):
        face = ConsensusElasticNet(u1=0.02, u2=0.01, nodes=5, rounds=rounds).fit(X, y)
        net = Net.star(5, 10, scaling="none", u1=0.02, u2=0.01)
        net.deal(X, y)
        net.rounds(2 * rounds)
        np.testing.assert_allclose(face.coef_, net.learners["hub"].coefficients, rtol=1e-9)
        assert face.n_iter_ == rounds


def test_partial_fit_of_parts_is_fit_of_all() -> None:
    X, y = load_diabetes(return_X_y=True)
    whole, parts = ConsensusElasticNet().fit(X, y), ConsensusElasticNet()
    for rows in np.array_split(np.arange(442), 9):
        parts.partial_fit(X[rows], y[rows])
    assert parts.n_iter_ == 9
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), rtol=1e-6)
    again = parts.fit(X[:50], y[:50]).partial_fit(X, y)
    np.testing.assert_allclose(again.predict(X), whole.predict(X), rtol=1e-6)


def test_works_in_cross_validation_and_is_cloned() -> None:
    X, y = load_diabetes(return_X_y=True)
    model = ConsensusElasticNet(u1=0.01, u2=0.001, scaling="consensus", nodes=4, rounds=100)
    assert clone(model).get_params() == model.get_params()
    assert cross_val_score(model, X, y, cv=3).mean() > 0.4


@pytest.mark.parametrize("options", [{"nodes": 0}, {"u1": -1.0}, {"rounds": 0}])
def test_wrong_settings_are_refused_by_fit(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="allowed"):
        ConsensusElasticNet(**options).fit([[0.0], [1.0]], [0.0, 1.0])
