"""What a learner is: the contract every algorithm here fulfils, and its message type."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, Self, runtime_checkable

from numpy.typing import NDArray

__all__ = [
    "Array",
    "Arrays",
    "Joining",
    "Labelled",
    "Learner",
    "Margins",
    "Measured",
    "Message",
    "NodeId",
    "Reactive",
    "Rewired",
    "State",
    "Task",
    "freeze",
    "takes_sparse",
]

NodeId = str
Array = NDArray[Any]
Arrays = Mapping[str, Array]
State = dict[str, Any]
"""Arrays and JSON values under string keys; always has "schema" (int) and "kind" (str)."""
Task = Literal["ordinal", "multilabel", "regression"]


def freeze(array: Array) -> Array:
    """Make an array read-only, so that whoever holds it may share it; returns it.

    >>> import numpy as np
    >>> freeze(np.zeros(2)).flags.writeable
    False
    """
    array.setflags(write=False)
    return array


def takes_sparse(learner: object) -> bool:
    """Tell whether a learner, or its class, takes `SparseRows` as well as arrays.

    >>> from anabranch.learners import LEARNERS
    >>> takes_sparse(LEARNERS["dsvor"])
    False
    """
    return bool(getattr(learner, "sparse", False))


@dataclass(frozen=True, slots=True)
class Message:
    """Parameters for one neighbour (`to`), or for every neighbour (`to=None`).

    The arrays are frozen and never aliased by the sender's working state. A neighbour gets one
    message a round: the one addressed to it, or else the first one to all.

    Attributes
    ----------
    arrays : name -> numbers of any shape; the learner's `check_message` knows which
    to : the name of a neighbour, or None
    """

    arrays: Arrays
    to: NodeId | None = None


@runtime_checkable
class Learner(Protocol):
    """One node's share of a distributed learner.

    In round t a node learns its share of tick t, sends `messages(t)`, and when its
    neighbours' messages of round t are there calls `combine(t, ...)`.

    A learner with `rewires = True` in its class takes other neighbours from one round to the next,
    as `weights` name them, and its network comes to the model of whoever is in it. What must be
    known before it speaks is told by `Rewired`.
    """

    kind: ClassVar[str]
    task: ClassVar[Task]

    def predict(self, X: Array) -> Array:
        """Predict (n,) or (n, q) from X of shape (n, d); works before any learning.

        A learner with `sparse = True` in its class takes `SparseRows`, too, here and below.
        """
        ...

    def learn(self, X: Array, y: Array) -> None:
        """Take per-row steps over a block. Refuses a non-finite sample, changing nothing.

        Raises
        ------
        SampleError
            The block's shape is wrong, a value is not finite, a label is not a rank.
        """
        ...

    def predict_then_learn(self, X: Array, y: Array) -> Array:
        """Predict each row, then learn it; equal to the loop over rows, bit for bit."""
        ...

    def acts(self, round: int) -> bool:
        """Tell whether this node sends in this round (ADMM's nodes and server alternate)."""
        ...

    def messages(self, round: int) -> Sequence[Message]:
        """Give what this node sends in this round; nothing if it is not fit to be sent."""
        ...

    def check_message(self, message: Message) -> None:
        """Refuse a message that `combine` could not take.

        Raises
        ------
        MessageError
            An array is missing, has another shape, or is not finite.
        """
        ...

    def combine(
        self, round: int, inbox: Mapping[NodeId, Message], weights: Mapping[NodeId, float]
    ) -> None:
        """Take in the neighbours' messages of this round, in sorted order of their names.

        `weights` has one entry per neighbour, heard or not; what becomes of a silent
        neighbour's weight is the learner's own affair.

        Raises
        ------
        MessageError
            A message cannot be taken; nothing has changed then.
        """
        ...

    def parameters(self) -> Array:
        """Give the current iterate as one flat vector, for the disagreement between nodes."""
        ...

    def export(self) -> State:
        """Give the whole state; `restore` of it continues bit for bit."""
        ...

    def model(self) -> State:
        """Give what `restore` needs to predict and to go on learning, without any sample."""
        ...

    @classmethod
    def restore(cls, state: State) -> Self:
        """Build a learner from `export` or `model`.

        Raises
        ------
        ModelError
            The schema is newer than this version reads, or the state is damaged.
        """
        ...


@runtime_checkable
class Margins(Protocol):
    """What a learner may do besides: say how sure it is, by a number for each threshold.

    Of `Learner`'s members it needs none, so that a learner is asked for both.
    """

    def scores(self, X: Array) -> Array:
        """Give the margins (n, q) of rows X (n, d); rank r means r - 1 of them are positive."""
        ...

    def predict_then_learn_margins(self, X: Array, y: Array) -> tuple[Array, Array]:
        """As `predict_then_learn`, and what `scores` would have given each row before it."""
        ...


@runtime_checkable
class Labelled(Protocol):
    """What a learner of sets of labels has besides: names for the columns of y.

    Its constructor takes `labels`: names, or a number. Those come first and keep their order;
    labels admitted later follow in sorted order of their names, so that nodes with the same
    set have the same columns. `learn` and `predict` are about these columns.
    """

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of y's columns, in order."""
        ...

    def admit(self, labels: Sequence[str]) -> None:
        """Take labels up that are new, with parameters of 0; known ones change nothing."""
        ...


@runtime_checkable
class Measured(Protocol):
    """What a learner may do besides: tell numbers about itself for scores and report."""

    def measures(self) -> Mapping[str, float]:
        """Give residuals, objective, damping, ...: name -> value, finite; cheap to ask."""
        ...


@runtime_checkable
class Reactive(Protocol):
    """What a learner may do besides: something against drift, at its own node alone.

    What it does follows from its state alone, and is part of it: jobs equal simulations.
    """

    @property
    def reactions(self) -> Collection[str]:
        """What it can do, as configured: some of "raise-step", "shrink-window" and "refit"."""
        ...

    def react(self, policy: str, samples: int) -> None:
        """Do so, its newest samples, so many, having come since the drift began."""
        ...


@runtime_checkable
class Rewired(Protocol):
    """What a learner that `rewires` may do besides: hear of neighbours before it speaks to them.

    For learners that say different things to each.
    """

    def meet(self, neighbours: Collection[NodeId]) -> None:
        """Take up these neighbours and no others; told at each change, again changes nothing."""
        ...


@runtime_checkable
class Joining(Protocol):
    """What a learner that `rewires` may do besides: hear that others were there before it."""

    def join(self, neighbours: Collection[NodeId]) -> None:
        """Take up these neighbours; told once, in place of the first `meet`."""
        ...
