"""What the online and the batch elastic net share: samples, prediction, roles, states."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from math import inf, isfinite
from typing import ClassVar, Self

import numpy as np

from anabranch.features.frame import Frame
from anabranch.kernels.checks import bounded
from anabranch.kernels.elastic import predict_rows
from anabranch.learners.elastic_net_alone import solve_alone
from anabranch.learners.elastic_net_gap import relative_gap
from anabranch.learners.elastic_net_graph import GraphNode
from anabranch.learners.elastic_net_hub import StarHub
from anabranch.learners.elastic_net_moments import CoMoments
from anabranch.learners.elastic_net_node import StarNode
from anabranch.learners.elastic_net_part import Part, raw_weights, restored_frame, saved_frame
from anabranch.learners.elastic_net_settings import ElasticNetSettings
from anabranch.learners.inbox import sealed
from anabranch.learners.rows import checked_column, checked_rows
from anabranch.learners.states import SCHEMA, from_config, saved_array
from anabranch.protocol import Array, Message, NodeId, Rewired, State, Task

__all__ = ["ElasticNetLearner"]

_PARTS: dict[tuple[str, str], type[Part]] = {
    ("server", "node"): StarNode,
    ("server", "hub"): StarHub,
    ("graph", "node"): GraphNode,
    ("graph", "hub"): GraphNode,
}

_UNKNOWN = -1.0
"""Stands for an infinite gap in a state."""


class ElasticNetLearner(ABC):
    """min (1/2M) sum (y - w'x - b)^2 + u1 |w|_1 + (u2/2) |w|^2 over all nodes' samples.

    Samples become moments; rounds find the optimum for the moments of all nodes together. A
    node that has no neighbours solves for its own.
    """

    kind: ClassVar[str]
    task: ClassVar[Task] = "regression"

    def __init__(self, settings: ElasticNetSettings) -> None:
        self.settings = settings
        self.features = settings.features
        self._order = np.argsort(np.array(settings.names), kind="stable")
        self._ordered = bool((self._order == np.arange(self.features)).all())
        self.moments = CoMoments(self.features, settings.decay, settings.window, settings.panes)
        self.part = _PARTS[settings.shape, settings.role](settings, self.moments)
        self._known: tuple[Frame, Array, Array, float, Array] | None = None
        """What predicted last: frame and theta, never changed in place, and what follows."""
        self._alone = False
        self._frame: Frame | None = None
        self._theta, self._peak = np.zeros(settings.size), np.zeros(settings.size)
        self._objective = self._gap = 0.0
        self._solved_rows = 0
        self._level = 0.0
        """What is predicted before any parameters are known: the mean target."""

    # Samples

    def _rows(self, X: Array) -> Array:
        rows = checked_rows(X, self.features)
        return rows if self._ordered else sealed(np.ascontiguousarray(rows[:, self._order]))

    def learn(self, X: Array, y: Array) -> None:
        """Take rows X (n, p) with targets y (n,) in; no parameter changes before `combine`.

        Raises
        ------
        SampleError
            The shape is wrong, or a value is not finite; nothing has changed then.
        """
        rows = self._rows(X)
        self._take(rows, checked_column(y, len(rows)))

    @abstractmethod
    def _take(self, X: Array, y: Array) -> None:
        """Take checked rows in, fields in sorted order of their names."""

    def predict(self, X: Array) -> Array:
        """Predict (n,) from X of (n, p).

        Raises
        ------
        SampleError
            X has the wrong shape or a value that is not finite.
        """
        return self._predicted(self._rows(X))

    def _predicted(self, rows: Array) -> Array:
        out = np.empty(len(rows))
        frame, theta = self._serving()
        if frame is None:
            out[:] = self._level
            return out
        if self._known is None or self._known[0] is not frame or self._known[1] is not theta:
            self._known = (frame, theta, *frame.raw(theta), frame.centre[:-1])
        _, _, weights, level, centre = self._known
        predict_rows(rows, weights, centre, level, out)
        return out

    def predict_then_learn(self, X: Array, y: Array) -> Array:
        """Predict the rows, then take them in.

        Raises
        ------
        SampleError
            As `learn`.
        """
        rows = self._rows(X)
        targets = checked_column(y, len(rows))
        predicted = self._predicted(rows)
        self._take(rows, targets)
        return predicted

    def _serving(self) -> tuple[Frame | None, Array]:
        if self._alone or self.part.frame is None:
            return self._frame, self._theta
        return self.part.frame, self.part.served

    # Exchange

    def meet(self, neighbours: Collection[NodeId]) -> None:
        """Take up the neighbours of another network; again changes nothing."""
        if isinstance(self.part, Rewired):
            self.part.meet(neighbours)

    def acts(self, round: int) -> bool:
        """Tell whether there is something to say: nodes and server alternate by themselves."""
        self._settle()
        return not self._alone and self.part.acts()

    def messages(self, round: int) -> Sequence[Message]:
        """Give what there is to say; nothing while it is not finite."""
        self._settle()
        letters = self.part.messages()
        arrays = {id(array): array for one in letters for array in one.arrays.values()}
        return letters if all(map(bounded, arrays.values())) else ()

    def check_message(self, message: Message) -> None:
        """Tell whether `combine` would accept a message.

        Raises
        ------
        MessageError
            An array is missing, unknown, of wrong shape, not finite or out of range.
        """
        self.part.wire.read(message)

    def combine(
        self, round: int, inbox: Mapping[NodeId, Message], weights: Mapping[NodeId, float]
    ) -> None:
        """Perform this role's step on what was heard; alone, solve for the own samples.

        The values of `weights` play no part.

        Raises
        ------
        MessageError
            A message cannot be accepted; nothing has changed then.
        """
        heard = self.part.wire.read_all(inbox, weights)
        self._settle()
        self._alone = not weights
        if weights:
            self.part.combine(heard, weights)
        elif self.part.grown(self._solved_rows):
            self._solve()
        if self._serving()[0] is None:
            self._level = float(self.moments.total()[1][-1])

    def _settle(self) -> None:  # noqa: B027 - the online form has nothing to do here
        """Bring the moments up to date with the samples."""

    def _solve(self) -> None:
        found = solve_alone(self.settings, self.moments, self._frame, self._theta, self._peak)
        self._frame, self._theta, self._objective, self._gap = found
        self._solved_rows = self.moments.rows

    def leave(self) -> None:
        """Take this node's samples out of the consensus; the others then find their own optimum.

        Said in the next message; new samples bring the node back.
        """
        self._settle()
        self.moments.clear()
        self.part.leave()

    @property
    def reactions(self) -> tuple[str, ...]:
        """Old samples can lose their weight."""
        return ("shrink-window",)

    def react(self, policy: str, samples: int) -> None:
        """Let what was learned weigh no more than the newest samples, so many, of which it is."""
        self._settle()
        self.moments.shrink(samples)

    def parameters(self) -> Array:
        """Give weights (p,) of the fields as they are, in sorted order, and the intercept."""
        frame, theta = self.part.frame, self.part.iterate
        if self._alone:
            frame, theta = self._frame, self._theta
        return raw_weights(frame, theta)

    @property
    def coefficients(self) -> Array:
        """Weights (p,) that predict, in the order of the columns."""
        weights = np.empty(self.features)
        weights[self._order] = raw_weights(*self._serving())[:-1]
        return weights

    @property
    def intercept(self) -> float:
        """What is predicted where all fields are 0."""
        return float(raw_weights(*self._serving())[-1]) if self._serving()[0] else self._level

    def measures(self) -> dict[str, float]:
        """Give residuals, loss, objective and gap, as far as this role knows them.

        "primal" and "dual" residuals in z-scores; the "loss" of a node's own samples; the
        "objective" of the network (told by the hub), or of a node alone; and the "gap", the
        share of it by which it exceeds the least possible, at most, for the parameters that the
        hub last asked all nodes about: a duality gap, which needs no pooled companion. Losses and
        objective are in squared standard deviations of the target, without scaling in the
        target's own squared units.
        """
        told = self.part.measures()
        if self._alone:
            told = {"objective": self._objective, **relative_gap(self._objective, self._gap)}
        frame = self._serving()[0]
        if self.settings.scaling == "none" and frame is not None:
            square = float(frame.scale[-1]) ** 2
            told |= {key: square * told[key] for key in ("objective", "loss") if key in told}
        return told

    def begin_from(self, other: Self) -> None:
        """Take over another's samples, as moments, and what it predicts by.

        These are served until the network has found parameters. Role and shape may differ.
        """
        other._settle()
        self.moments.restore(other.moments.export())
        self._frame, self._theta = other._serving()
        self._level = other._level

    # States

    def export(self) -> State:
        """Give the whole state."""
        gap = self._gap if isfinite(self._gap) else _UNKNOWN
        return {
            "schema": SCHEMA,
            "kind": self.kind,
            "config": self.settings.as_dict(),
            **self.moments.export(),
            **self.part.export(),
            **saved_frame(self._frame, "own_"),
            "own_theta": np.stack([self._theta, self._peak]),
            "own": np.array([self._alone, self._solved_rows, self._objective, self._level, gap]),
        }

    def model(self) -> State:
        """Give the same; there is no sample in it, but the samples' second moments."""
        return self.export()

    @classmethod
    def restore(cls, state: State) -> Self:
        """Build a learner from `export` or `model`.

        Raises
        ------
        ModelError
            The schema is newer than this version reads, or the state is damaged.
        """
        learner = cls.__new__(cls)
        settings = from_config(state, cls.kind, ElasticNetSettings.restore)
        ElasticNetLearner.__init__(learner, settings)
        learner._load(state)
        return learner

    def _load(self, state: State) -> None:
        self.moments.restore(state)
        self.part.restore(state)
        self._frame = restored_frame(state, self.settings.size, "own_")
        self._theta, self._peak = saved_array(state, "own_theta", (2, self.settings.size))
        own = saved_array(state, "own", (5,)).tolist()
        self._alone, self._solved_rows = bool(own[0]), int(own[1])
        self._objective, self._level = own[2:4]
        self._gap = inf if own[4] == _UNKNOWN else own[4]
