"""The elastic net as a scikit-learn regressor."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from anabranch.kernels.elastic import predict_rows
from anabranch.learners import BatchElasticNet, ElasticNet
from anabranch.learners.elastic_net_alone import solve_alone
from anabranch.learners.elastic_net_shards import fold_shards, solve_shards
from anabranch.learners.options import check_whole
from anabranch.protocol import Array

__all__ = ["ConsensusElasticNet"]


class ConsensusElasticNet(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Elastic net of rows that may be spread over nodes, by consensus ADMM with a server.

    min (1/2n) sum (y - w'x - b)^2 + u1 |w|_1 + (u2/2) |w|^2: scikit-learn's `ElasticNet` with
    alpha = u1 + u2 and l1_ratio = u1/(u1 + u2), where scaling is "none".

    Parameters
    ----------
    u1, u2 : weights of |w|_1 and |w|^2/2
    scaling : "none", or "consensus" where they hold for z-scores of fields and target
    nodes : shards that `fit` deals the rows to, in order; 1 solves them at one place
    rounds : most rounds of nodes and server that `fit` takes
    decay, window, panes : how `partial_fit` forgets, as for `ElasticNet`; `fit` does not

    Attributes
    ----------
    coef_ : (p,)
    intercept_ : float
    n_iter_ : rounds that `fit` took, or calls of `partial_fit`

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]])
    >>> model = ConsensusElasticNet(u1=0.0, u2=1e-9, nodes=2).fit(X, [0.0, 2.0, 4.0, 6.0])
    >>> model.predict([[4.0, 4.0]]).round(4).tolist()
    [8.0]
    """

    def __init__(
        self,
        u1: float = 0.01,
        u2: float = 0.01,
        *,
        scaling: str = "none",
        nodes: int = 1,
        rounds: int = 400,
        decay: float = 1.0,
        window: int = 0,
        panes: int = 10,
    ) -> None:
        self.u1 = u1
        self.u2 = u2
        self.scaling = scaling
        self.nodes = nodes
        self.rounds = rounds
        self.decay = decay
        self.window = window
        self.panes = panes

    def fit(self, X: Any, y: Any) -> Self:
        """Find the optimum for rows X (n, p) with targets y (n,).

        Raises
        ------
        ValueError
            A value is not finite, or shapes do not fit.
        ConfigurationError
            A setting is out of its range.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        check_whole("nodes", self.nodes, 1)
        check_whole("rounds", self.rounds, 1)
        settings = BatchElasticNet(X.shape[1], **self._penalty()).settings
        X, y = np.ascontiguousarray(X), np.asarray(y, dtype=np.float64)
        parts = zip(np.array_split(X, self.nodes), np.array_split(y, self.nodes), strict=True)
        shards = fold_shards(X.shape[1], list(parts))
        self.learner_: ElasticNet | None = None
        self.n_iter_ = 1
        if self.nodes == 1:
            frame, theta, *_ = solve_alone(settings, shards[0], None, np.zeros(settings.size))
        else:
            frame, theta, self.n_iter_ = solve_shards(settings, shards, self.rounds)
        return self._serve(*frame.raw(theta), frame.centre[:-1])

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Take more rows in, and find the optimum for those that are not forgotten.

        Raises
        ------
        ValueError, ConfigurationError
            As `fit`.
        """
        known = getattr(self, "learner_", None)
        first = not isinstance(known, ElasticNet)
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, reset=first)
        if not isinstance(known, ElasticNet):
            self.n_iter_ = 0
            known = ElasticNet(
                X.shape[1], growth=0.0, decay=self.decay, window=self.window, panes=self.panes,
                **self._penalty(),
            )  # fmt: skip
        known.learn(X, np.asarray(y, dtype=np.float64))
        known.combine(0, {}, {})
        self.learner_ = known
        self.n_iter_ += 1
        return self._serve(known.coefficients, known.intercept, np.zeros(X.shape[1]))

    def predict(self, X: Any) -> Array:
        """Predict (n,) for rows X (n, p).

        Raises
        ------
        ValueError
            A value is not finite, or the number of columns is another than before.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        out = np.empty(len(X))
        predict_rows(np.ascontiguousarray(X), self.coef_, self._centre, self._level, out)
        return out

    def _penalty(self) -> dict[str, Any]:
        return {"u1": self.u1, "u2": self.u2, "scaling": self.scaling}

    def _serve(self, weights: Array, level: float, centre: Array) -> Self:
        """Predict `level` at `centre`, by these weights of the fields."""
        self.coef_, self._level, self._centre = weights, level, centre
        self.intercept_ = level - float((weights * centre).sum())
        return self
