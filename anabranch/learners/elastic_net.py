"""Elastic net regression by consensus ADMM, with a server or over any graph."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from anabranch.learners.elastic_net_core import ElasticNetLearner
from anabranch.learners.elastic_net_settings import ElasticNetSettings
from anabranch.learners.states import saved_array
from anabranch.protocol import Array, State

__all__ = ["BatchElasticNet", "ElasticNet"]


class ElasticNet(ElasticNetLearner):
    """Elastic net of a stream spread over nodes, followed round by round.

    min (1/2M) sum (y - w'x - b)^2 + u1 |w|_1 + (u2/2) |w|^2, over the samples of all nodes, or
    those that are not forgotten. A node keeps moments of its samples, not the samples; what
    it sends are parameters with multipliers, means and variances when they have moved, and now
    and then the slope of its loss, by which the hub tells its gap to the optimum (`measures`).
    From p + 2 messages of a node without new samples its second moments can be computed: the
    exchange hides samples, not their covariance.

    Follows the JEIT 2020 paper on distributed elastic net regression by ADMM. Departs from it
    by a penalty of its own for each coordinate, over-relaxation, one message instead of two,
    units agreed on without samples, and silence where a round would change nothing.

    Parameters
    ----------
    features : int
        Fields p of a sample.
    ranks : int
        Ignored.
    u1, u2 : float
        Weights of |w|_1 and of |w|^2/2.
    shape : {"server", "graph"}
        Around one node that sums and shrinks, which the graph must be a star around; or by
        edges of any graph, each node solving by coordinate descent.
    role : {"node", "hub"}
        Of this node: the hub is the server; in a graph, the node that sets the units.
    scaling : {"consensus", "none"}
        What u1 and u2 count: weights of z-scores (of fields and target), whose means and
        variances the hub puts together; or of fields and target as they are.
    rho : float, optional
        The penalty of disagreement; by default kappa sqrt(n)/sum sqrt(n) at each node (in a
        graph, kappa/N for each edge), for z-scores. Given, and without scaling, it holds for
        the fields as they are: the paper's algorithm.
    kappa : float
        As above.
    relax : float
        Over-relaxation, below 2; 1 for none.
    solver : {"cholesky", "prp"}
        Of a node's step; "prp" is the paper's conjugate gradients, by exact steps.
    decay : float
        What a sample counts after each later one of its node; 1 for no forgetting.
    window, panes : int
        Newest samples of a node that count, 0 for all; they leave a pane at a time.
    quorum : float
        Share of the nodes that must have spoken before the server answers.
    timeout : int
        Rounds after which it answers whoever has.
    ttl : int
        Rounds of silence after which the server takes a node out; 0 for never. A node that
        has nothing new to say speaks in half of that time.
    growth : float
        New samples, as a share of a node's, that are worth a round.
    absolute, relative : float
        Moves of the parameters (in z-scores) below which nothing is said: absolute sqrt(p + 1)
        + relative |theta|.
    units : float
        Standard deviations a mean may move before units are set anew, and half of it for the
        logarithm of a standard deviation.
    names : sequence of str, optional
        Names of the fields, in whose order parameters travel; "0", "1", ...

    Raises
    ------
    ConfigurationError
        A setting is out of its range.

    Examples
    --------
    >>> node = ElasticNet(features=1, u1=0.0, u2=0.0)
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> node.learn(X, 3.0 * X[:, 0] + 2.0)
    >>> node.combine(0, {}, {})
    >>> node.predict(np.array([[1.0], [2.0]])).round(6).tolist()
    [5.0, 8.0]
    """

    kind: ClassVar[str] = "elastic-net"
    rewires: ClassVar[bool] = True

    def __init__(
        self,
        features: int,
        ranks: int = 0,
        *,
        u1: float = 0.01,
        u2: float = 0.01,
        shape: str = "server",
        role: str = "node",
        scaling: str = "consensus",
        rho: float | None = None,
        kappa: float = 0.3,
        relax: float = 1.6,
        solver: str = "cholesky",
        decay: float = 1.0,
        window: int = 0,
        panes: int = 10,
        quorum: float = 0.5,
        timeout: int = 2,
        ttl: int = 0,
        growth: float = 0.05,
        absolute: float = 1e-3,
        relative: float = 1e-2,
        units: float = 0.1,
        names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(
            ElasticNetSettings.of(
                features=features, u1=u1, u2=u2, shape=shape, role=role, scaling=scaling,
                rho=rho, kappa=kappa, relax=relax, solver=solver, decay=decay, window=window,
                panes=panes, quorum=quorum, timeout=timeout, ttl=ttl, growth=growth,
                absolute=absolute, relative=relative, units=units, names=names,
            )
        )  # fmt: skip

    def _take(self, X: Array, y: Array) -> None:
        self.moments.observe(X, y)


class BatchElasticNet(ElasticNetLearner):
    """Elastic net over shards that stay where they are; every node ends at the optimum.

    As `ElasticNet`, without forgetting: every sample is worth a round, units follow the
    moments exactly, and rounds go on until parameters stand still to rounding.

    Parameters
    ----------
    features, ranks, u1, u2, shape, role, scaling, rho, kappa, relax, solver, quorum, timeout
        As for `ElasticNet`.
    ttl, absolute, relative, names
        Also.

    Raises
    ------
    ConfigurationError
        A setting is out of its range.

    Examples
    --------
    >>> nodes = {"hub": BatchElasticNet(1, u1=0.0, u2=0.0, role="hub")}
    >>> nodes |= {name: BatchElasticNet(1, u1=0.0, u2=0.0) for name in ("a", "b")}
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> ticks = [{"a": (X, 3.0 * X[:, 0] + 2.0), "b": (X + 2.0, 3.0 * X[:, 0] + 8.0)}]
    >>> from anabranch.network import combination_weights, star
    >>> from anabranch.simulate import simulate
    >>> weights = combination_weights(star(["hub", "a", "b"]))
    >>> _ = simulate(nodes, weights, ticks, final_rounds=60)
    >>> nodes["a"].predict(np.array([[1.0], [2.0]])).round(6).tolist()
    [5.0, 8.0]
    """

    kind: ClassVar[str] = "elastic-net-batch"

    def __init__(
        self,
        features: int,
        ranks: int = 0,
        *,
        u1: float = 0.01,
        u2: float = 0.01,
        shape: str = "server",
        role: str = "node",
        scaling: str = "consensus",
        rho: float | None = None,
        kappa: float = 0.3,
        relax: float = 1.6,
        solver: str = "cholesky",
        quorum: float = 0.5,
        timeout: int = 2,
        ttl: int = 0,
        absolute: float = 0.0,
        relative: float = 1e-13,
        names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(
            ElasticNetSettings.of(
                features=features, u1=u1, u2=u2, shape=shape, role=role, scaling=scaling,
                rho=rho, kappa=kappa, relax=relax, solver=solver, decay=1.0, window=0, panes=2,
                quorum=quorum, timeout=timeout, ttl=ttl, growth=0.0, absolute=absolute,
                relative=relative, units=0.0, names=names,
            )
        )  # fmt: skip
        self._start()

    def _start(self) -> None:
        self._added: list[tuple[Array, Array]] = []

    def _take(self, X: Array, y: Array) -> None:
        if len(y):
            self._added.append((X.copy(), y.copy()))

    def _pending(self) -> tuple[Array, Array]:
        """Give the rows that are not in the moments yet: joined, so that cuts do not matter."""
        if len(self._added) > 1:
            X, y = (np.concatenate(part) for part in zip(*self._added, strict=True))
            self._added = [(X, y)]
        return self._added[0] if self._added else (np.empty((0, self.features)), np.empty(0))

    def _settle(self) -> None:
        X, y = self._pending()
        if len(y):
            self.moments.fold(X, y)
            self._added.clear()

    def export(self) -> State:
        """Give the whole state, with the rows that came since the last round."""
        X, y = self._pending()
        return {**super().export(), "X": X.copy(), "y": y.copy()}

    def model(self) -> State:
        """Give the state without any row, but with their moments."""
        settled = type(self).restore(self.export())
        settled._settle()
        return ElasticNetLearner.export(settled)

    def _load(self, state: State) -> None:
        self._start()
        super()._load(state)
        if "X" in state:
            X = saved_array(state, "X", (-1, self.features))
            y = saved_array(state, "y", (len(X),))
            self._take(X, y)
