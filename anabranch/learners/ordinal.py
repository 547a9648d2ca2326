"""What the forms of dSVOR share: messages, averaging with neighbours, states."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from anabranch.errors import ModelError
from anabranch.kernels.checks import bounded
from anabranch.kernels.mixing import add, add_some, flush, scale
from anabranch.kernels.moments import M2, MEAN
from anabranch.kernels.ordinal import average, project
from anabranch.learners.inbox import Heard, read_inbox, read_message, sealed
from anabranch.learners.ordinal_model import OrdinalModel
from anabranch.learners.settings import Settings
from anabranch.learners.states import (
    SCHEMA,
    from_config,
    saved_array,
    saved_value,
    saved_whole,
)
from anabranch.protocol import Array, Message, NodeId, State, freeze

__all__ = ["OrdinalLearner"]


class OrdinalLearner(OrdinalModel):
    """A model of ranks that averages itself with those of its neighbours."""

    # Exchange

    def acts(self, round: int) -> bool:
        """Send in every round."""
        return True

    def _extra_arrays(self) -> dict[str, Array]:
        return {}

    def messages(self, round: int) -> Sequence[Message]:
        """Send the last iterate to all neighbours; weights below prune max|w| go as zeros.

        While standardisation is warming up the moments travel too. Parameters that are
        not finite are never sent: the neighbours then take this node as silent.
        """
        current = self._theta[0]
        if not bounded(sealed(current)):
            return ()
        arrays = {"w": freeze(self._told()), "b": freeze(current[self._width :].copy())}
        arrays |= self._extra_arrays()
        if self._scaler.talks:
            arrays |= self._scaler.shared().arrays()
        return (Message(arrays),)

    def check_message(self, message: Message) -> None:
        """Tell whether `combine` would accept a message.

        Raises
        ------
        MessageError
            An array is missing, unknown, of wrong shape, or not finite.
        """
        read_message(message, self._layout)

    def combine(
        self, round: int, inbox: Mapping[NodeId, Message], weights: Mapping[NodeId, float]
    ) -> None:
        """Average with the neighbours heard; a silent neighbour's weight goes to the node.

        Raises
        ------
        MessageError
            A message cannot be accepted; nothing has changed then.
        """
        heard = read_inbox(inbox, weights, self._layout)
        settled = self._scaler.frozen
        moments = [(h.weight, h.moments) for h in heard if h.moments]
        late = self._scaler.combine(moments, lonely=not weights)
        if self._columns.patience and settled and (heard or not weights):
            self._note_use(heard)
        if late:
            ready = [h for h in heard if h.moments and h.moments.rounds >= self._scaler.wanted]
            self._mix(0.0, [(1.0 / len(ready), h) for h in ready])
        else:
            self._mix(1.0 - sum(h.weight for h in heard), [(h.weight, h) for h in heard])
        self._after_combine(heard, late, settled)

    def _note_use(self, heard: Sequence[Heard]) -> None:
        """Give up features that nobody uses, take up such as a neighbour does."""
        before = self._map.columns
        if self._columns.note([self._told(), *(one.arrays["w"] for one in heard)]):
            self._move(before)

    def _mix(self, own: float, parts: Sequence[tuple[float, Heard]]) -> None:
        """theta = own theta + sum c theta_j, in the order given."""
        current = self._theta[0]
        if parts:
            scale(current, own)
        for weight, heard in parts:
            if self._columns.all:
                add(current, 0, weight, heard.arrays["w"])
            else:
                add_some(current, weight, heard.arrays["w"], self._map.columns)
            add(current, self._width, weight, heard.arrays["b"])
        project(current, self._width)

    @abstractmethod
    def _after_combine(self, heard: Sequence[Heard], late: bool, settled: bool) -> None:
        """Do what follows the averaging.

        `late`: everything was taken over from the neighbours; `settled`: standardisation
        had been frozen before this round.
        """

    def _serve_current(self, weight: float) -> None:
        average(self._theta[1], self._theta[0], 0, weight)
        flush(self._theta[1])

    # States

    def model(self) -> State:
        """Give what predicts and can go on learning; it holds no sample."""
        D = self._map.dimension
        return {
            "schema": SCHEMA,
            "kind": self.kind,
            "config": self.settings.as_dict(),
            "w": self._theta[:2, :D].copy(),
            "b": self._theta[:2, self._width :].copy(),
            "mean": self._scaler.scale[MEAN].copy(),
            "M2": self._scaler.scale[M2].copy(),
            "progress": self._progress.copy(),
            "warm_up_rounds": self._scaler.rounds,
            "helps_late_nodes": self._scaler.asked,
            **({"columns": self._map.columns.copy()} if self._columns.patience else {}),
        }

    def export(self) -> State:
        """Give the whole state, bit for bit, also of a learner that diverged."""
        diverged = not np.isfinite(self._theta[:2]).all()
        idle = {"idle": self._columns.idle.copy()} if self._columns.patience else {}
        return self.model() | {"diverged": bool(diverged)} | idle

    @classmethod
    def restore(cls, state: State) -> Self:
        """Build a learner from `export` or `model`.

        Raises
        ------
        ModelError
            The schema is newer than this version reads, or the state is damaged.
        """
        learner = cls.__new__(cls)
        from_config(
            state,
            cls.kind,
            lambda config: OrdinalLearner.__init__(learner, Settings.restore(config)),
        )
        learner._load(state)
        return learner

    def _load_columns(self, state: State) -> None:
        D = self._columns.whole.dimension
        columns = saved_array(state, "columns", (-1,))
        if not (
            columns.size and (np.diff(columns) > 0).all() and 0 <= columns[0] <= columns[-1] < D
        ):
            raise ModelError(f"damaged state: columns are no features; allowed: of 0 to {D - 1}")
        self._columns.take(columns.astype(np.int64))
        if "idle" in state:
            self._columns.idle[:] = saved_array(state, "idle", (D,))
        self._make_room()
        self._prepare()

    def _load(self, state: State) -> None:
        if self._columns.patience:
            self._load_columns(state)
        D = self._map.dimension
        # A job goes on with a node that diverged; a model of it is of no use to anyone.
        finite = not state.get("diverged", False)
        self._theta[:2, :D] = saved_array(state, "w", (2, D), finite=finite)
        b = saved_array(state, "b", (2, self.ranks - 1), finite=finite)
        self._theta[:2, self._width :] = b
        progress = saved_array(state, "progress", self._progress.shape)
        if (progress < 0.0).any():
            raise ModelError("damaged state: progress is negative")
        self._progress[:] = progress
        self._scaler.restore(
            saved_array(state, "mean", (self.features,)),
            saved_array(state, "M2", (self.features,)),
            saved_whole(state, "warm_up_rounds", self._scaler.wanted),
            bool(saved_value(state, "helps_late_nodes")),
        )
