"""What the forms of dSVOR share: features, prediction, messages, states."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from anabranch.errors import ConfigurationError, ModelError, SampleError
from anabranch.features.fourier import FourierMap
from anabranch.features.standardiser import Standardiser
from anabranch.kernels import dsvor as loops
from anabranch.kernels.checks import bounded
from anabranch.kernels.lanes import padded
from anabranch.kernels.margins import margins, ranks
from anabranch.kernels.mixing import add, flush, pruned, scale
from anabranch.kernels.moments import M2, MEAN
from anabranch.kernels.ordinal import average, project
from anabranch.learners.inbox import Heard, Layout, read_inbox, read_message, sealed
from anabranch.learners.rows import checked_rows, shaped_column, shaped_rows, unbounded
from anabranch.learners.settings import Settings
from anabranch.learners.states import SCHEMA, check_header, saved_array, saved_value, saved_whole
from anabranch.protocol import Array, Message, NodeId, State, Task, freeze

__all__ = ["OrdinalLearner"]

_NONE = freeze(np.empty((0, 0)))
_NO_OFFSETS = freeze(np.empty(0))


class OrdinalLearner(ABC):
    """Thresholds b and weights w over random features; rank 1 + #{q : w'z(x) > b_q}.

    The first row of `_theta` is the current iterate, the second the served average, the
    third room for a gradient; each is w, padding, b.
    """

    kind: ClassVar[str]
    task: ClassVar[Task] = "ordinal"
    _SIZES: ClassVar[Mapping[str, int]] = {}
    """Arrays that messages carry besides w and b."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.features, self.ranks = settings.features, settings.ranks
        self._map = (
            FourierMap.draw(
                settings.names, settings.dimension, gamma=settings.gamma, seed=settings.seed
            )
            if settings.kernel == "gaussian"
            else FourierMap(_NONE, _NO_OFFSETS, settings.features)
        )
        self._width = padded(self._map.dimension)
        self._theta = np.zeros((3, self._width + self.ranks - 1))
        self._progress = np.zeros(8)
        warm_up = settings.warm_up if settings.scaling == "consensus" else 0
        self._scaler = Standardiser(self.features, warm_up, self._progress)
        self._vector = self._settings_vector()
        self._z, self._u = np.zeros(self._width), np.zeros(self.features)
        self._layout = Layout(
            {"w": self._map.dimension, "b": self.ranks - 1, **self._SIZES}, self.features
        )
        self._prepare()

    @abstractmethod
    def _prepare(self) -> None:
        """Make the rest of the working state."""

    def _settings_vector(self) -> Array:
        own, vector = self.settings, np.zeros(7)
        vector[[loops.FLOOR, loops.STEP, loops.DECAY]] = own.floor, own.step, own.decay
        vector[[loops.L2, loops.L1]] = own.lam * (1.0 - own.alpha), own.lam * own.alpha
        vector[loops.AVERAGING] = own.averaging
        vector[loops.SERVED] = float(own.serve == "average")
        return vector

    # Samples

    def _rows(self, X: Array) -> Array:
        return shaped_rows(X, self.features)

    def _finite_rows(self, X: Array) -> Array:
        return checked_rows(X, self.features)

    def _labels(self, y: Array, count: int) -> Array:
        return shaped_column(y, count)

    def _refuse(self, X: Array, y: Array) -> SampleError:
        """Say what is wrong with a block that the kernel refused."""
        if not bounded(X.reshape(-1)):
            return unbounded(X)
        bad = ~((y >= 1) & (y <= self.ranks) & (y == np.floor(y)))
        row = int(np.argmax(bad))
        return SampleError(
            f"not a rank: y[{row}]={y[row]}; allowed: whole numbers 1 to {self.ranks}"
        )

    # Prediction

    def _served(self) -> Array:
        served: Array = self._theta[int(self._vector[loops.SERVED])]
        return served

    def _feature_arguments(self) -> tuple[Any, ...]:
        drawn = self._map
        return (
            self._scaler.scale,
            drawn.turns,
            drawn.offsets,
            drawn.dimension,
            self._z,
            self._u,
        )

    def scores(self, X: Array) -> Array:
        """Compute the margins w'z(x) - b_q, of shape (n, ranks - 1), from X of (n, K).

        Raises
        ------
        SampleError
            X has the wrong shape or a value that is not finite.
        """
        rows = self._finite_rows(X)
        scores: Array = margins(rows, self._served(), *self._feature_arguments())
        return scores

    def predict(self, X: Array) -> Array:
        """Predict ranks, (n,) int64 in 1..ranks, from X of (n, K).

        Raises
        ------
        SampleError
            X has the wrong shape or a value that is not finite.
        """
        rows = self._finite_rows(X)
        predicted: Array = ranks(rows, self._served(), *self._feature_arguments())
        return predicted

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
        w = pruned(current, self._map.dimension, self.settings.prune)
        arrays = {"w": freeze(w), "b": freeze(current[self._width :].copy())}
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
        if late:
            ready = [h for h in heard if h.moments and h.moments.rounds >= self._scaler.wanted]
            self._mix(0.0, [(1.0 / len(ready), h) for h in ready])
        else:
            self._mix(1.0 - sum(h.weight for h in heard), [(h.weight, h) for h in heard])
        self._after_combine(heard, late, settled)

    def _mix(self, own: float, parts: Sequence[tuple[float, Heard]]) -> None:
        """theta = own theta + sum c theta_j, in the order given."""
        current = self._theta[0]
        if parts:
            scale(current, own)
        for weight, heard in parts:
            add(current, 0, weight, heard.arrays["w"])
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

    def parameters(self) -> Array:
        """Give the current iterate (w, b) as one new vector (D + ranks - 1,)."""
        current = self._theta[0]
        return np.concatenate([current[: self._map.dimension], current[self._width :]])

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
        }

    def export(self) -> State:
        """Give the whole state, bit for bit, also of a learner that diverged."""
        diverged = not np.isfinite(self._theta[:2]).all()
        return self.model() | {"diverged": bool(diverged)}

    @classmethod
    def restore(cls, state: State) -> Self:
        """Build a learner from `export` or `model`.

        Raises
        ------
        ModelError
            The schema is newer than this version reads, or the state is damaged.
        """
        check_header(state, cls.kind)
        learner = cls.__new__(cls)
        try:
            OrdinalLearner.__init__(learner, Settings.restore(saved_value(state, "config")))
        except (KeyError, TypeError, ValueError, ConfigurationError) as error:
            raise ModelError(f"damaged state: config; {error}") from error
        learner._load(state)
        return learner

    def _load(self, state: State) -> None:
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
