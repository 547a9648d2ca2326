"""Batch dSVOR on all nodes of a network at once, in one process: for research and large M."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise, repeat
from typing import Any, Self

import numpy as np

from anabranch.errors import ConfigurationError, SampleError, UnknownNodeError
from anabranch.kernels.dsvor_network import network_rounds, send
from anabranch.learners.batch import BatchDSVOR
from anabranch.learners.options import check_choice, check_whole
from anabranch.network import Weights
from anabranch.protocol import Array, NodeId

__all__ = ["BatchNetwork"]

_DTYPES = ("float64", "float32", "float16")
_LINE = 64
"""Bytes that memory gives at a time: rows of features should not begin in the midst of them."""


class BatchNetwork:
    """The rounds of `simulate` with `BatchDSVOR`, on one matrix of all nodes' features.

    The warm-up of the standardisation is done by the learners themselves, round by round. From
    then on a round is one pass over the features, the network a sparse matrix. Parameters
    equal those of `simulate` but for rounding: to about 1e-12 with "float64" and 1e-4 with
    "float32". With "float16" it is coarse enough to send them elsewhere: the objective and the
    predictions are nearly the same, single parameters may differ as much as they are large.

    Parameters
    ----------
    learners : mapping of node to BatchDSVOR
        With their rows; `advance` changes them.
    weights : Weights, optional
        The graph and its combination weights; without them each node is alone.
    dtype : {"float64", "float32", "float16"}
        Of features and parameters; "float16" keeps features as halves, which memory gives
        twice as fast, and parameters as float32.
    threads : int
        Threads, each with nodes of its own; the results are the same for any number.

    Attributes
    ----------
    rounds : taken so far, after the warm-up
    warm_up_rounds : taken by the learners before

    Raises
    ------
    ConfigurationError
        A setting is not allowed, or there are features that dtype cannot hold.
    UnknownNodeError
        The learners are not those of the graph's nodes.

    Examples
    --------
    >>> from anabranch.network import combination_weights, ring
    >>> X = np.linspace(-1, 1, 300)[:, None]
    >>> y = np.digitize(X[:, 0], [-0.4, 0.4]) + 1
    >>> graph = ring(["a", "b", "c"])
    >>> shards = {node: (X[i::3], y[i::3]) for i, node in enumerate(graph.nodes)}
    >>> options = {"kernel": "gaussian", "dimension": 50, "seed": 1}
    >>> net = BatchNetwork.of(shards, 3, combination_weights(graph), dtype="float32", **options)
    >>> net.advance(300)
    >>> net.predict(X).shape, bool(np.abs(net.predict(X) - y).mean() < 0.02)
    ((3, 300), True)
    >>> alone = BatchNetwork.of(shards, 3, **options)
    >>> pooled = BatchNetwork.of({"all": (X, y)}, 3, **options)
    """

    def __init__(
        self,
        learners: Mapping[NodeId, BatchDSVOR],
        weights: Weights | None = None,
        *,
        dtype: str = "float64",
        threads: int = 1,
    ) -> None:
        check_choice("dtype", dtype, _DTYPES)
        check_whole("threads", threads, 1)
        self.nodes = tuple(sorted(learners))
        if weights is not None and self.nodes != tuple(sorted(weights.graph.nodes)):
            raise UnknownNodeError("not one learner a node; allowed: a learner for each of a graph")
        self._learners, self.threads = [learners[node] for node in self.nodes], threads
        self._check_settings()
        self._shares = [{} if weights is None else weights.of(node) for node in self.nodes]
        self.rounds, self.warm_up_rounds = 0, self._warm_up()
        self._told = True
        self._gather(np.dtype(dtype))
        self._connect()

    @classmethod
    def of(
        cls,
        shards: Mapping[NodeId, tuple[Array, Array]],
        ranks: int,
        weights: Weights | None = None,
        *,
        dtype: str = "float64",
        threads: int = 1,
        **options: Any,
    ) -> Self:
        """Make the learners, and give each node its rows X (n, K) and y (n,).

        Parameters
        ----------
        shards : node -> its rows; each node has an entry, if without rows
        ranks : Q
        weights, dtype, threads : as for the class
        options : as for `BatchDSVOR`

        Raises
        ------
        ConfigurationError, UnknownNodeError
            As the class.
        SampleError
            Rows or labels have the wrong shape, a value is not finite, a label is not a rank.
        """
        learners = {}
        for node, (X, y) in shards.items():
            if np.ndim(X) != 2:
                raise SampleError(
                    f"wrong shape: X of {node!r} has {np.shape(X)}; allowed: (n, features)"
                )
            learners[node] = BatchDSVOR(np.shape(X)[1], ranks, **options)
            learners[node].learn(X, y)
        return cls(learners, weights, dtype=dtype, threads=threads)

    def _check_settings(self) -> None:
        if not self._learners:
            raise ConfigurationError("no learner; allowed: one or more")
        first = self._learners[0].settings
        if any(learner.settings != first for learner in self._learners):
            raise ConfigurationError("learners differ in settings; allowed: the same for all")
        if first.drop:
            raise ConfigurationError(
                f"features would be given up node by node: drop={first.drop}; allowed: 0, as all "
                "nodes share a matrix"
            )

    def _warm_up(self) -> int:
        """Let the learners standardise, round by round; gives the number of these rounds."""
        learners = dict(zip(self.nodes, self._learners, strict=True))
        # In a graph no node is M rounds from another; one alone without rows never gets ready.
        away = len(learners) if any(self._shares) else 0
        most = max(learner.settings.warm_up for learner in self._learners) + away
        for t in range(most):
            if all(learner.settled for learner in self._learners):
                return t
            sent = {node: learner.messages(t)[0] for node, learner in learners.items()}
            for learner, share in zip(self._learners, self._shares, strict=True):
                learner.combine(t, {other: sent[other] for other in share}, share)
        return most

    def _gather(self, dtype: Any) -> None:
        """Put all nodes' rows into one matrix, their parameters into another."""
        kind = np.dtype(np.float32) if dtype == np.float16 else dtype
        shards = [learner.mapped_shard() for learner in self._learners]
        lengths = [len(ranks) for _, ranks in shards]
        self._starts = np.concatenate([[0], np.cumsum(lengths)])
        self._ranks = np.concatenate([ranks for _, ranks in shards]).astype(np.int32)
        Z = _aligned((len(self._ranks), shards[0][0].shape[1]), dtype)
        with np.errstate(over="ignore"):
            np.concatenate([rows for rows, _ in shards], out=Z, casting="same_kind")
        if not np.isfinite(Z).all():
            raise ConfigurationError(
                f"features too large: dtype={dtype.name!r}; allowed: a wider one of {_DTYPES}"
            )
        self._Z = Z.view(np.uint16) if dtype == np.float16 else Z
        found = [learner.iterate() for learner in self._learners]
        self._theta = np.array([theta for theta, _, _ in found], dtype=kind)
        self._sizes = np.tile([size for _, size, _ in found], (2, 1))
        live = [learner.settled for learner in self._learners]
        self._ahead = np.where(live, [steps for _, _, steps in found], -1)

    def _connect(self) -> None:
        """Put the weights into a sparse matrix; say what is heard first."""
        index = {node: m for m, node in enumerate(self.nodes)}
        self._own = np.array([1.0 - sum(share.values()) for share in self._shares])
        self._indptr = np.concatenate([[0], np.cumsum([len(share) for share in self._shares])])
        others = [index[other] for share in self._shares for other in sorted(share)]
        values = [share[other] for share in self._shares for other in sorted(share)]
        self._indices = np.array(others, dtype=np.int64)
        self._values = np.array(values, dtype=self._theta.dtype)
        self._sent = np.zeros((2, *self._theta.shape), self._theta.dtype)
        self._share = self._learners[0].settings.prune
        for theta, sent in zip(self._theta, self._sent[0], strict=True):
            send(theta, self._Z.shape[1], self._share, sent)

    def advance(self, rounds: int) -> None:
        """Perform so many rounds more.

        Raises
        ------
        ConfigurationError
            `rounds` is no whole number from 0 on.
        """
        check_whole("rounds", rounds, 0)
        first, last = self.rounds, self.rounds + rounds
        if self.threads == 1:
            self._perform(first, last, 0, len(self.nodes))
        else:
            self._share_out(first, last)
        self.rounds, self._told = last, False

    def _share_out(self, first: int, last: int) -> None:
        """Perform rounds on all threads, which wait for each other after each."""
        begins, ends = zip(*self._parts(), strict=True)
        with ThreadPoolExecutor(self.threads) as pool:
            for t in range(first, last):
                list(pool.map(self._perform, repeat(t), repeat(t + 1), begins, ends))

    def _perform(self, first: int, last: int, begin: int, end: int) -> None:
        network_rounds(
            self._Z, self._ranks, self._starts, self._ahead, self._theta, self._sent, self._sizes,
            self._own, self._indptr, self._indices, self._values, self._learners[0].vector,
            self._share, first, last, begin, end,
        )  # fmt: skip

    def _parts(self) -> list[tuple[int, int]]:
        """Deal the nodes to the threads, about as many rows to each."""
        wanted = np.linspace(0, self._starts[-1], self.threads + 1)[1:-1]
        ends = [0, *np.searchsorted(self._starts[1:], wanted).tolist(), len(self.nodes)]
        return list(pairwise(ends))

    def _up_to_date(self) -> list[BatchDSVOR]:
        """Tell the learners what became of them."""
        sizes = self._sizes[self.rounds % 2]
        for m, learner in enumerate(() if self._told else self._learners):
            if self._ahead[m] >= 0:
                steps = int(self._ahead[m]) + self.rounds
                learner.resume(self._theta[m], float(sizes[m]), steps)
        self._told = True
        return self._learners

    @property
    def learners(self) -> dict[NodeId, BatchDSVOR]:
        """The learners, as they are after the last round."""
        return dict(zip(self.nodes, self._up_to_date(), strict=True))

    def predict(self, X: Array) -> Array:
        """Predict the ranks of rows X (n, K) by each node: (M, n) int64, nodes in sorted order.

        Raises
        ------
        SampleError
            X has the wrong shape or a value that is not finite.
        """
        return np.array([learner.predict(X) for learner in self._up_to_date()])

    def parameters(self) -> Array:
        """Give the parameters (w, b) of each node, (M, D + Q - 1)."""
        return np.array([learner.parameters() for learner in self._up_to_date()])

    def zeros(self) -> float:
        """Give the share of weights that are zero in what the nodes send."""
        sent = self._sent[self.rounds % 2, :, : self._learners[0].dimension]
        return float((sent == 0.0).mean())


def _aligned(shape: tuple[int, int], dtype: Any) -> Array:
    """Give an empty array that begins with a line of memory."""
    size = shape[0] * shape[1] * dtype.itemsize
    room = np.empty(size + _LINE, dtype=np.uint8)
    start = -room.ctypes.data % _LINE
    array: Array = room[start : start + size].view(dtype).reshape(shape)
    return array
