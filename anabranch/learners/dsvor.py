"""Online dSVOR: ordinal regression from streams, on a network of nodes."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from anabranch.errors import ModelError
from anabranch.kernels import dsvor as loops
from anabranch.kernels.checks import good_rows
from anabranch.learners.inbox import Heard
from anabranch.learners.ordinal import OrdinalLearner
from anabranch.learners.settings import Settings
from anabranch.learners.states import saved_array
from anabranch.protocol import Array, State

__all__ = ["DSVOR"]

_NO_RANKS = np.empty(0, dtype=np.int64)
_NO_MARGINS = np.empty((0, 0))
_BOOST = 4.0
"""Against drift steps are at most so many floors: larger ones pull neighbours along that do not
drift, by more than the node gains."""


class DSVOR(OrdinalLearner):
    """Distributed support vector ordinal regression, one subgradient step a sample.

    A node minimises lam [(1 - alpha)/2 |w|^2 + alpha |w|_1] + the mean hinge, summed over
    the ranks - 1 thresholds, of all nodes' samples: each row moves it by a step of size
    max(floor, step/(1 + decay k)), k the rows before; `combine` averages it with its
    neighbours.

    Parameters
    ----------
    features : int
        Fields K of a sample.
    ranks : int
        Ranks Q, labels 1..Q. May be more than are ever seen: the threshold of a top rank
        without samples parks above all margins and comes down when the rank appears.
    kernel : {"gaussian", "laplacian", "cauchy", "linear", "hellinger", "chi-squared", \
              "intersection", "jensen-shannon"}
        By random Fourier features of the standardised fields (`FourierMap`), or these fields
        themselves. The last four are sums over fields that are not negative, as counts and
        histograms are, by explicit features (`AdditiveMap`); a negative value is refused.
    gamma : float, optional
        Of the random features' kernels; factor of the sums; 1/K.
    dimension : int, optional
        Random features D; max(200, 10 K). Of the sums, the most there may be: 9 K. Linear and
        Hellinger kernels have K.
    alpha : float
        Share of |w|_1 in the regulariser, 0 to 1.
    lam : float
        Strength of the regulariser, per sample: 1/(C N).
    step, decay, floor : float
        Step size; `floor` keeps it able to follow a drift.
    cache : int
        Samples W over whose mean hinge a step is taken, the newest ones. They stay in the
        node and out of `model`.
    averaging : float
        The served parameters are an average with weight max(1/k, averaging).
    serve : {"average", "last"}
        Parameters that predict. "last" where the classes are split by node.
    scaling : {"consensus", "none"}
        z-scores by moments averaged over the network in the first `warm_up` rounds and
        frozen then, or fields as they are. A node that never combines keeps its own
        running moments. Kernels of fields that are not negative divide these by their means
        instead, so that zero stays zero and units do not count.
    warm_up : int
        Rounds of averaging moments, counted from the first with a sample in reach; where
        there are neighbours, only rounds in which one is heard count. Samples enter the
        moments in the first half of these rounds.
    prune : float
        In messages, weights below prune max|w| are zeros.
    drop : int
        Features that neither the node nor a neighbour has sent a weight of for so many rounds
        are given up: not computed, stored or sent until a neighbour sends one again. What is
        small is then judged by what is served. A network forgets features it has given
        up, so a drift that needs them is not followed. 0: never.
    seed : int
        Of the random features; the same at all nodes.
    orthogonal : bool
        Frequencies of the Gaussian kernel orthogonal in blocks of K, in pairs of cosine and
        sine: nearer to the kernel at the same D.
    names : sequence of str, optional
        Names of the fields, which the random features are drawn by; "0", "1", ...

    Raises
    ------
    ConfigurationError
        A setting is out of its range.

    Examples
    --------
    >>> node = DSVOR(features=1, ranks=3, kernel="linear", scaling="none")
    >>> X = np.linspace(-1, 1, 300)[:, None]
    >>> y = np.digitize(X[:, 0], [-0.4, 0.4]) + 1
    >>> order = np.random.default_rng(0).permutation(300)
    >>> _ = node.predict_then_learn(X[order], y[order])
    >>> node.predict(np.array([[-1.0], [0.0], [1.0]]))
    array([1, 2, 3])
    """

    kind: ClassVar[str] = "dsvor"
    rewires: ClassVar[bool] = True

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
        floor: float = 0.5,
        cache: int = 1,
        averaging: float = 0.01,
        serve: str = "average",
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
                alpha=alpha, lam=lam, step=step, decay=decay, floor=floor, cache=cache,
                averaging=averaging, serve=serve, scaling=scaling, warm_up=warm_up,
                prune=prune, drop=drop, seed=seed, orthogonal=orthogonal, names=names,
            )
        )  # fmt: skip

    def _prepare(self) -> None:
        wanted = self.settings.cache if self.settings.cache > 1 else 0
        self._cache: Array = np.zeros((wanted, self._width + 1))

    def _move_rows(self, here: Array, there: Array, width: int) -> None:
        """Keep the cache, unless it lacks a feature: samples are not there to find it from."""
        old, self._cache = self._cache, np.zeros((len(self._cache), self._width + 1))
        if here.size < self._map.dimension:
            self._progress[[loops.CACHED, loops.NEXT]] = 0.0
            return
        self._cache[:, here], self._cache[:, -1] = old[:, there], old[:, width]

    def _learn(self, X: Array, y: Array, out: Array, seen: Array = _NO_MARGINS) -> None:
        scale, form, turns, offsets, amplitudes, dimension, z, u = self._feature_arguments()
        # Of fields that are not needed the kernel sees nothing.
        if self._needed(X) is not X and not good_rows(X, y, self.ranks):
            raise self._refuse(X, y)
        learned = loops.learn_rows(
            self._needed(X), y, self._theta, scale, self._progress, self._vector,
            form, turns, offsets, amplitudes, dimension, self._cache, z, u, out, seen,
        )  # fmt: skip
        if not learned:
            raise self._refuse(X, y)

    def learn(self, X: Array, y: Array) -> None:
        """Step on each row of X (n, K) with its label y (n,), in order.

        Raises
        ------
        SampleError
            The shape is wrong, a value is not finite, a label is not a rank; nothing has
            changed then.
        """
        rows = self._rows(X)
        self._learn(rows, self._labels(y, len(rows)), _NO_RANKS)

    def predict_then_learn(self, X: Array, y: Array) -> Array:
        """Predict each row, then step on it; in one pass, (n,) int64.

        Raises
        ------
        SampleError
            As `learn`.
        """
        rows = self._rows(X)
        out = np.empty(len(rows), dtype=np.int64)
        self._learn(rows, self._labels(y, len(rows)), out)
        return out

    def predict_then_learn_margins(self, X: Array, y: Array) -> tuple[Array, Array]:
        """As `predict_then_learn`, with each row's margins before it was learned.

        Returns
        -------
        ranks (n,) int64, and margins (n, ranks - 1): those that `scores` would give

        Raises
        ------
        SampleError
            As `learn`.
        """
        rows = self._rows(X)
        out = np.empty(len(rows), dtype=np.int64)
        seen = np.empty((len(rows), self.ranks - 1))
        self._learn(rows, self._labels(y, len(rows)), out, seen)
        return out, seen

    def _after_combine(self, heard: Sequence[Heard], late: bool, settled: bool) -> None:
        """Let the served average follow the network where no row moves it."""
        progress = self._progress
        if late:
            progress[loops.CACHED] = progress[loops.NEXT] = 0.0
            self._serve_current(1.0)
        elif heard and progress[loops.STEPS] == progress[loops.HEARD]:
            progress[loops.ITERATES] += 1.0
            self._serve_current(max(1.0 / progress[loops.ITERATES], self.settings.averaging))
        progress[loops.HEARD] = progress[loops.STEPS]

    @property
    def reactions(self) -> tuple[str, ...]:
        """Larger steps; with a cache also steps on what of it is new."""
        return ("raise-step", "refit") if self.settings.cache > 1 else ("raise-step",)

    def react(self, policy: str, samples: int) -> None:
        """Take larger steps, which come down again as `decay` says, and average anew.

        "refit" fits what the cache has of the newest samples first.
        """
        progress = self._progress
        if policy == "refit":
            self._refit(samples)
        rested = progress[loops.STEPS] == progress[loops.HEARD]
        progress[loops.STEPS] = min(progress[loops.STEPS], self._raised)
        progress[loops.ITERATES] = 0.0
        progress[loops.HEARD] = progress[loops.STEPS] + (not rested)

    @property
    def _raised(self) -> float:
        """Rows after which a step is `_BOOST` times the floor; 0 where none is as large."""
        own = self.settings
        wanted = min(_BOOST * own.floor, own.step) or own.step
        return float(round((own.step / wanted - 1.0) / own.decay)) if own.decay else 0.0

    def _refit(self, samples: int) -> None:
        """Keep of the cache what came since the drift began, and fit that."""
        used, place = int(self._progress[loops.CACHED]), int(self._progress[loops.NEXT])
        kept = min(used, samples)
        if not kept:
            return
        size = len(self._cache)
        newest = np.arange(place - kept, place) % size
        self._cache[:kept] = self._cache[newest]
        self._progress[[loops.CACHED, loops.NEXT]] = kept, kept % size
        loops.refit(self._theta, self._width, self._cache, kept, kept, self._vector)

    def model(self) -> State:
        """Give what predicts and can go on learning; the cache stays out."""
        state = super().model()
        state["progress"][[loops.CACHED, loops.NEXT]] = 0.0
        return state

    def export(self) -> State:
        """Give the whole state, the cached samples' features included."""
        state = super().export()
        D, used = self._map.dimension, int(self._progress[loops.CACHED])
        state["progress"] = self._progress.copy()
        state["cache"] = np.delete(self._cache[:used], np.s_[D:-1], axis=1)
        return state

    def _load(self, state: State) -> None:
        super()._load(state)
        used, D = int(self._progress[loops.CACHED]), self._map.dimension
        if used > len(self._cache) or self._progress[loops.NEXT] >= max(1, len(self._cache)):
            raise ModelError(f"damaged state: {used} rows in a cache of {len(self._cache)}")
        if used:
            rows = saved_array(state, "cache", (used, D + 1))
            self._cache[:used, :D], self._cache[:used, -1] = rows[:, :D], rows[:, D]
