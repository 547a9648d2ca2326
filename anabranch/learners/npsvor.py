"""Online NPSVOR: ordinal regression from sparse streams, on a network that exchanges changes."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from anabranch.learners.inbox import read_each
from anabranch.learners.npsvor_online_node import Node
from anabranch.learners.npsvor_online_settings import NpsvorSettings
from anabranch.learners.npsvor_online_table import Table
from anabranch.learners.npsvor_online_wire import read
from anabranch.learners.sparse_samples import checked_ranks, checked_sparse
from anabranch.learners.states import SCHEMA, from_config
from anabranch.protocol import Array, Message, NodeId, State, Task
from anabranch.sparse import SparseRows

__all__ = ["NPSVOR"]

_NO_RANKS = np.empty(0, np.int64)
_NO_MARGINS = np.empty((0, 0))
_SOFTER = 1.0 / 16.0
_TIMES, _MOST = 2.0, 0.7
"""For larger steps gradients must be so many times the usual, and of such a share of the nodes:
when a gradual drift of a quarter of them is found, it is up to .68."""


class NPSVOR:
    """Nonparallel support vector ordinal regression, a step a sample in the planes of all ranks.

    Plane k lies close to the samples of rank k and apart from the others: per row and plane,
    z = w'x + b and d = -2 sgn(z) (|z| - epsilon)+ for its own rank, else 2 s (1 - s z)+, where
    s = 1 for samples of higher ranks and -1 for lower ones. Then, per weight,
    h += (d x)^2 and w += step d x/sqrt(h + 1e-8). The rank is
    1 + #{k < p : f_k(x) + f_{k+1}(x) > 0}.

    "L2-loss linear nonparallel support vector ordinal regression" has the planes and the
    decision; the steps and the network are not in it. Nodes send what their samples changed, of
    the features touched only, and add w_j += n_j^-1/2 sum dw_j, h_j += sum dh_j, h being told as
    its mean over the planes. n_j counts the nodes that touched j at the same logical time (one
    more than the largest heard of). On a complete graph all nodes then hold the same bits. On
    other graphs changes are passed on, each once and only to whom it is news as far as
    neighbours' neighbours tell; one that comes later changes its group's n_j afterwards.

    Messages may come late, twice, in any order, or not at all: what was lost is noticed by later
    ones and told again. Only what comes more than 64 logical times late is left out, and a
    change whose group is no longer known, after twice the longest delay yet, counts as if all
    nodes had touched its features. In asynchronous time the last changes need a few final rounds.
    A node that starts again from an older state does not hear its own later changes again.
    Where the network changes, neighbours compare what they know, and tell what the other lacks:
    changes, or else their whole table, from which also a node that joins begins.

    Privacy: the message of one sample names its features and their values, exactly. From one of
    ten, who knows the planes can still tell features of different samples apart (with hashed
    text 95 of 100 pairs that seem to belong to one sample do; of fifty samples, 70): it takes
    `batch_rows` samples to make a message, ten between sites unless set otherwise, but that
    is no protection against a neighbour who wants to know.

    Parameters
    ----------
    features : int
        Fields of a sample; 2**18 of hashed text.
    ranks : int
        Ranks p, labels 1..p.
    step : float
        Size of the steps.
    epsilon : float
        Distance from its plane within which a sample costs nothing.
    bias : bool
        Whether planes have an intercept, as a further feature of 1.
    batch_rows : int
        Samples that changed something, at least, of which a message is made; what fewer changed
        waits.
    wire : {"single", "half", "double"}
        Numbers in messages: float32, float16 or float64. The node's own are float64 with
        "double", else float32.
    names : sequence of str, optional
        Names of the fields; nodes agree on fields by their sorted order. Without, by the columns.

    Raises
    ------
    ConfigurationError
        A setting is out of its range.

    Examples
    --------
    >>> node = NPSVOR(features=1, ranks=3)
    >>> X = np.linspace(-1, 1, 300)[:, None]
    >>> y = np.digitize(X[:, 0], [-0.4, 0.4]) + 1
    >>> order = np.random.default_rng(0).permutation(300)
    >>> _ = node.predict_then_learn(X[order], y[order])
    >>> node.predict(np.array([[-1.0], [0.0], [1.0]]))
    array([1, 2, 3])
    """

    kind: ClassVar[str] = "npsvor"
    task: ClassVar[Task] = "ordinal"
    sparse: ClassVar[bool] = True
    rewires: ClassVar[bool] = True
    once: ClassVar[bool] = True
    """A drift that lasts is reacted to once: h divided twice would be divided by 256."""

    def __init__(
        self,
        features: int,
        ranks: int,
        *,
        step: float = 0.2,
        epsilon: float = 0.1,
        bias: bool = True,
        batch_rows: int = 1,
        wire: str = "single",
        names: Sequence[str] | None = None,
    ) -> None:
        self._setup(
            NpsvorSettings.of(
                features=features, ranks=ranks, step=step, epsilon=epsilon, bias=bias,
                batch_rows=batch_rows, wire=wire, names=names,
            )
        )  # fmt: skip

    def _setup(self, settings: NpsvorSettings) -> None:
        self.settings = settings
        self.features, self.ranks = settings.features, settings.ranks
        self._order = settings.order
        self._table = Table(settings)
        self._node = Node(settings, self._table)

    def _rows(self, X: Any) -> SparseRows:
        rows = checked_sparse(X, self.features)
        if self._order is None:
            return rows
        return checked_sparse(SparseRows.of(rows.matrix()[:, self._order]), self.features)

    def predict(self, X: Any) -> Array:
        """Predict ranks, (n,) int64, from X of (n, features).

        Raises
        ------
        SampleError
            X has the wrong shape or a value that is not finite.
        """
        rows = self._rows(X)
        out = np.empty(len(rows), np.int64)
        self._table.margins(rows, out, _NO_MARGINS)
        return out

    def scores(self, X: Any) -> Array:
        """Give the margins f_k(x) + f_{k+1}(x), (n, ranks - 1), of X of (n, features).

        Raises
        ------
        SampleError
            As `predict`.
        """
        rows = self._rows(X)
        seen = np.empty((len(rows), self.ranks - 1))
        self._table.margins(rows, _NO_RANKS, seen)
        return seen

    def learn(self, X: Any, y: Array) -> None:
        """Step on each row of X (n, features) with its label y (n,), in order.

        Raises
        ------
        SampleError
            The shape is wrong, a value is not finite, a label no rank; nothing has changed then.
        """
        rows = self._rows(X)
        self._table.learn(rows, checked_ranks(y, len(rows), self.ranks), _NO_RANKS, _NO_MARGINS)

    def predict_then_learn(self, X: Any, y: Array) -> Array:
        """Predict each row, then step on it; in one pass, (n,) int64.

        Raises
        ------
        SampleError
            As `learn`.
        """
        rows = self._rows(X)
        out = np.empty(len(rows), np.int64)
        self._table.learn(rows, checked_ranks(y, len(rows), self.ranks), out, _NO_MARGINS)
        return out

    def predict_then_learn_margins(self, X: Any, y: Array) -> tuple[Array, Array]:
        """As `predict_then_learn`, with the margins (n, ranks - 1) before each row was learned.

        Raises
        ------
        SampleError
            As `learn`.
        """
        rows = self._rows(X)
        out = np.empty(len(rows), np.int64)
        seen = np.empty((len(rows), self.ranks - 1))
        self._table.learn(rows, checked_ranks(y, len(rows), self.ranks), out, seen)
        return out, seen

    # Exchange

    def acts(self, round: int) -> bool:
        """Send where there is something to tell, or to ask."""
        return self._node.acts

    def messages(self, round: int) -> Sequence[Message]:
        """Tell the neighbours what samples changed, and what others told.

        The first message of a node that never combined tells nothing: who its neighbours are,
        if any, is not known yet.
        """
        return self._node.messages()

    def check_message(self, message: Message) -> None:
        """Raise `MessageError` if `combine` could not take a message."""
        read(message, self.settings)

    def combine(
        self, round: int, inbox: Mapping[NodeId, Message], weights: Mapping[NodeId, float]
    ) -> None:
        """Add the changes that are new; `weights` only say who the neighbours are.

        Raises
        ------
        MessageError
            A message cannot be accepted; nothing has changed then.
        """
        told = read_each(inbox, weights, lambda message: read(message, self.settings))
        if weights:
            self._node.combine(told, weights)
        else:
            self._node.be_alone()

    def join(self, neighbours: Collection[NodeId]) -> None:
        """Take over the model of those who were there before; own samples are told of later."""
        self._node.join(neighbours)

    def meet(self, neighbours: Collection[NodeId]) -> None:
        """Take up other neighbours, and compare with them what changes are known."""
        self._node.meet(neighbours)

    @property
    def reactions(self) -> tuple[str, ...]:
        """Larger steps."""
        return ("raise-step",)

    def react(self, policy: str, samples: int) -> None:
        """Take steps four times as large, which get smaller as before: h is divided by 16.

        Only where squared gradients have risen, and not those of a few nodes: all have one model,
        of which larger steps of a few would make theirs.
        """
        if self._node.log.risen(_TIMES, _MOST):
            self._node.soften(_SOFTER)

    def parameters(self) -> Array:
        """Give the weights (features + 1, ranks) as one vector.

        Beyond 4096 numbers it is a sketch of that length, of sums with fixed signs, in which
        distances between nodes are what they are on average over all sketches.
        """
        return self._table.parameters()

    def measures(self) -> dict[str, float]:
        """Give numbers about the exchange.

        "rows_waiting" of which no message was made yet, "reach" the longest way of a change in
        logical time, "repeats" changes that came more than once, "unconfirmed" messages.
        """
        return self._node.measures()

    def model(self) -> State:
        """Give what predicts and can go on learning."""
        config = self.settings.as_dict()
        return {"schema": SCHEMA, "kind": self.kind, "config": config, **self._table.model()}

    def export(self) -> State:
        """Give the whole state."""
        return {**self.model(), **self._table.export(), **self._node.export()}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the rows that are all zero."""
        return type(self).restore, (self.export(),)

    @classmethod
    def restore(cls, state: State) -> Self:
        """Build a learner from `export` or `model`.

        Raises
        ------
        ModelError
            The schema is newer than this version reads, or the state is damaged.
        """
        learner = cls.__new__(cls)
        from_config(state, cls.kind, lambda config: learner._setup(NpsvorSettings.restore(config)))
        learner._table.restore(state)
        if "clock" in state:
            learner._node.restore(state)
        return learner
