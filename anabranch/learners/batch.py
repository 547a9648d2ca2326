"""Batch dSVOR: rounds over fixed shards (Algorithm 1)."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from anabranch.kernels import dsvor as loops
from anabranch.kernels.checks import good_rows
from anabranch.kernels.margins import feature_rows
from anabranch.learners.inbox import Heard
from anabranch.learners.ordinal import OrdinalLearner
from anabranch.learners.settings import Settings
from anabranch.learners.states import saved_array, saved_value
from anabranch.protocol import Array, State, freeze

__all__ = ["BatchDSVOR"]


class BatchDSVOR(OrdinalLearner):
    """Distributed support vector ordinal regression over shards that stay where they are.

    `learn` adds rows to the node's shard; each `combine` averages with the neighbours and
    takes one subgradient step over the shard, of size step/(1 + decay k). Round k = 0 is
    the first after the warm-up of the standardisation. A node with N_m rows counts
    N_m/(N/M): the mean size of the shards is averaged alongside the parameters.

    Parameters
    ----------
    features, ranks, kernel, gamma, dimension, alpha, warm_up, prune, drop, seed, orthogonal, names
        As for `DSVOR`.
    lam : float
        1/(C N), per sample: 1e-3 stands for C = 1000/N.
    step, decay : float
        Step size.
    scaling : {"consensus", "none"}
        "none" needs no warm-up, and steps from the first round.

    Raises
    ------
    ConfigurationError
        A setting is out of its range.

    Examples
    --------
    >>> node = BatchDSVOR(features=1, ranks=3, kernel="linear", scaling="none")
    >>> X = np.linspace(-1, 1, 300)[:, None]
    >>> node.learn(X, np.digitize(X[:, 0], [-0.4, 0.4]) + 1)
    >>> for t in range(500):
    ...     node.combine(t, {}, {})
    >>> node.predict(np.array([[-1.0], [0.0], [1.0]]))
    array([1, 2, 3])
    """

    kind: ClassVar[str] = "dsvor-batch"
    _SIZES: ClassVar[Mapping[str, int]] = {"size": 1}

    def __init__(
        self,
        features: int,
        ranks: int,
        *,
        kernel: str = "gaussian",
        gamma: float | None = None,
        dimension: int | None = None,
        alpha: float = 0.9,
        lam: float = 1e-3,
        step: float = 5.0,
        decay: float = 0.01,
        scaling: str = "consensus",
        warm_up: int = 20,
        prune: float = 0.01,
        drop: int = 0,
        seed: int = 0,
        orthogonal: bool = False,
        names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(
            Settings.of(
                features=features, ranks=ranks, kernel=kernel, gamma=gamma, dimension=dimension,
                alpha=alpha, lam=lam, step=step, decay=decay, floor=0.0, cache=1, averaging=1.0,
                serve="last", scaling=scaling, warm_up=warm_up, prune=prune, drop=drop, seed=seed,
                orthogonal=orthogonal, names=names,
            )
        )  # fmt: skip

    def _prepare(self) -> None:
        self._size = 0.0
        """What this node knows of the mean size of the shards."""
        self._X, self._y = np.empty((0, self.features)), np.empty(0)
        self._added: list[tuple[Array, Array]] = []
        self._features = np.empty((0, self._width + 1))

    def learn(self, X: Array, y: Array) -> None:
        """Add rows X (n, K) with labels y (n,) to the shard.

        Raises
        ------
        SampleError
            The shape is wrong, a value is not finite, a label is not a rank; nothing has
            changed then.
        """
        rows = self._rows(X)
        labels = self._labels(y, len(rows))
        if not good_rows(rows, labels, self.ranks):
            raise self._refuse(rows, labels)
        if not self._scaler.closed:
            loops.moment_rows(rows, self._scaler.scale, self._progress)
        self._size += len(rows)
        self._added.append((rows.copy(), labels.copy()))

    def predict_then_learn(self, X: Array, y: Array) -> Array:
        """Predict the rows, then add them; no row changes the parameters before `combine`.

        Raises
        ------
        SampleError
            As `learn`.
        """
        predicted = self.predict(X)
        self.learn(X, y)
        return predicted

    def predict_then_learn_margins(self, X: Array, y: Array) -> tuple[Array, Array]:
        """Predict the rows, with their margins (n, ranks - 1), then add them.

        Raises
        ------
        SampleError
            As `learn`.
        """
        scores = self.scores(X)
        return self.predict_then_learn(X, y), scores

    def _shard(self) -> tuple[Array, Array]:
        if self._added:
            self._X = np.concatenate([self._X, *(X for X, _ in self._added)])
            self._y = np.concatenate([self._y, *(y for _, y in self._added)])
            self._added.clear()
        return self._X, self._y

    def _feature_rows(self) -> Array:
        """Map the rows that came since the last step."""
        X, y = self._shard()
        known = len(self._features)
        if known < len(X):
            new = feature_rows(self._needed(X[known:]), y[known:], *self._feature_arguments())
            self._features = np.concatenate([self._features, new])
        return self._features

    def _move_rows(self, here: Array, there: Array, width: int) -> None:
        """Keep the rows' features that are known; make all anew where one is not."""
        old = self._features
        if here.size < self._map.dimension:
            self._features = np.empty((0, self._width + 1))
            return
        self._features = np.zeros((len(old), self._width + 1))
        self._features[:, here], self._features[:, -1] = old[:, there], old[:, width]

    # For all nodes of a network at once

    @property
    def settled(self) -> bool:
        """Whether its standardisation stands still, so that each `combine` takes a step."""
        return self._scaler.frozen

    @property
    def dimension(self) -> int:
        """The number of features D."""
        return self._map.dimension

    @property
    def vector(self) -> Array:
        """The settings as the kernels take them."""
        return self._vector

    def mapped_shard(self) -> tuple[Array, Array]:
        """Give its rows as features and padding, (n, P), and their ranks (n,)."""
        rows = self._feature_rows()
        return rows[:, :-1], rows[:, -1]

    def iterate(self) -> tuple[Array, float, int]:
        """Give its parameters w, padding, b, what it knows of the shards' size, and its steps."""
        return self._theta[0].copy(), self._size, int(self._progress[loops.STEPS])

    def resume(self, theta: Array, size: float, steps: int) -> None:
        """Go on from what `iterate` gave, or would give some steps later."""
        self._theta[0], self._size = theta, size
        self._progress[loops.STEPS] = steps

    def _extra_arrays(self) -> dict[str, Array]:
        return {"size": freeze(np.array([self._size]))}

    def _after_combine(self, heard: Sequence[Heard], late: bool, settled: bool) -> None:
        own = 1.0 - sum(h.weight for h in heard)
        # New rows enter the node's own figure as they come, so the mean needs no second start.
        self._size = own * self._size + sum(h.weight * float(h.arrays["size"][0]) for h in heard)
        if settled:
            self._step()

    def _step(self) -> None:
        rows = self._feature_rows()
        weight = len(rows) / self._size if self._size > 0.0 else 1.0
        current, gradient = self._theta[0], self._theta[2]
        k = self._progress[loops.STEPS]
        loops.batch_step(rows, current, self._width, gradient, weight, self._vector, k)
        self._progress[loops.STEPS] += 1.0

    def export(self) -> State:
        """Give the whole state, the shard included."""
        X, y = self._shard()
        return {**super().export(), "X": X.copy(), "y": y.copy()}

    def model(self) -> State:
        """Give what predicts and can go on learning; the shard stays out."""
        return {**super().model(), "size": self._size}

    def _load(self, state: State) -> None:
        super()._load(state)
        self._size = float(saved_array({"size": [saved_value(state, "size")]}, "size", (1,))[0])
        if "X" in state:
            self._X = saved_array(state, "X", (-1, self.features))
            self._y = saved_array(state, "y", (len(self._X),))
