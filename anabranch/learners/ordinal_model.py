"""A linear model of ranks over features: what it computes, and what of it counts."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from anabranch.errors import SampleError
from anabranch.features.maps import FeatureMap, make_map
from anabranch.features.standardiser import Standardiser
from anabranch.kernels import dsvor as loops
from anabranch.kernels.checks import bounded
from anabranch.kernels.lanes import padded
from anabranch.kernels.margins import margins, ranks
from anabranch.kernels.mixing import pruned
from anabranch.learners.columns import Columns
from anabranch.learners.inbox import Layout, sealed
from anabranch.learners.rows import checked_rows, shaped_column, shaped_rows, unbounded
from anabranch.learners.settings import Settings
from anabranch.protocol import Array, Task

__all__ = ["OrdinalModel"]


class OrdinalModel(ABC):
    """Thresholds b and weights w over the features of a kernel; rank 1 + #{q : w'z(x) > b_q}.

    The first row of `_theta` is the current iterate, the second the served average, the
    third room for a gradient; each is w, padding, b, with a weight for each feature that is
    computed.
    """

    kind: ClassVar[str]
    task: ClassVar[Task] = "ordinal"
    _SIZES: ClassVar[Mapping[str, int]] = {}
    """Arrays that messages carry besides w and b."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.features, self.ranks = settings.features, settings.ranks
        whole = make_map(
            settings.kernel,
            settings.names,
            settings.dimension,
            gamma=settings.gamma,
            seed=settings.seed,
            orthogonal=settings.orthogonal,
        )
        self._columns = Columns(whole, settings.drop)
        self._progress = np.zeros(8)
        warm_up = settings.warm_up if settings.scaling == "consensus" else 0
        self._scaler = Standardiser(self.features, warm_up, self._progress)
        self._vector = self._settings_vector()
        self._layout = Layout(
            {"w": whole.dimension, "b": self.ranks - 1, **self._SIZES}, self.features
        )
        self._make_room()
        self._prepare()

    def _make_room(self) -> None:
        """Make what depends on the number of features that are computed."""
        fields = self._map.fields
        self._width = padded(self._map.dimension)
        self._theta = np.zeros((3, self._width + self.ranks - 1))
        self._z = np.zeros(self._width)
        self._u = np.zeros(self.features if fields is None else len(fields))

    @property
    def _map(self) -> FeatureMap:
        return self._columns.map

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
        return self._signed(shaped_rows(X, self.features))

    def _finite_rows(self, X: Array) -> Array:
        return self._signed(checked_rows(X, self.features))

    def _signed(self, X: Array) -> Array:
        """Refuse negative values where the kernel has no place for them."""
        if self.settings.additive and (X < 0.0).any():
            row, column = np.argwhere(X < 0.0)[0]
            raise SampleError(
                f"negative: X[{row}, {column}]={X[row, column]} with "
                f"kernel={self.settings.kernel!r}; allowed: >= 0, as in counts and histograms"
            )
        return X

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
        scale, fields = self._scaler.scale, self._map.fields
        if not self._columns.all and fields is not None:
            scale = np.ascontiguousarray(scale[:, fields])
        return (scale, *self._map.arguments(), self._z, self._u)

    def _needed(self, X: Array) -> Array:
        """Give the fields of rows that the features in use are made of."""
        fields = self._map.fields
        return X if self._columns.all or fields is None else sealed(X.take(fields, axis=1))

    def scores(self, X: Array) -> Array:
        """Compute the margins w'z(x) - b_q, of shape (n, ranks - 1), from X of (n, K).

        Raises
        ------
        SampleError
            X has the wrong shape or a value that is not finite.
        """
        rows = self._finite_rows(X)
        scores: Array = margins(self._needed(rows), self._served(), *self._feature_arguments())
        return scores

    def predict(self, X: Array) -> Array:
        """Predict ranks, (n,) int64 in 1..ranks, from X of (n, K).

        Raises
        ------
        SampleError
            X has the wrong shape or a value that is not finite.
        """
        rows = self._finite_rows(X)
        predicted: Array = ranks(self._needed(rows), self._served(), *self._feature_arguments())
        return predicted

    # Features that are used

    def _told(self) -> Array:
        """Give the weights (D,) that are sent: those that are not small next to the largest.

        Where features may be given up, small in what is served: a single step moves all.
        """
        judged = self._served() if self._columns.patience else self._theta[0]
        return self._columns.spread(
            pruned(self._theta[0], judged, self._map.dimension, self.settings.prune)
        )

    def _move(self, before: Array) -> None:
        """Put the parameters in the places of the features that are computed now."""
        old, width = self._theta, self._width
        self._make_room()
        _, here, there = np.intersect1d(
            self._map.columns, before, assume_unique=True, return_indices=True
        )
        self._theta[:, here] = old[:, there]
        self._theta[:, self._width :] = old[:, width:]
        self._move_rows(here, there, width)

    @abstractmethod
    def _move_rows(self, here: Array, there: Array, width: int) -> None:
        """Put rows of features (n, width + 1), the label last, in their places, `there` to `here`.

        Features that are new need to be found.
        """

    # What it is

    def parameters(self) -> Array:
        """Give the current iterate (w, b) as one new vector (D + ranks - 1,)."""
        current = self._theta[0]
        w = self._columns.spread(current[: self._map.dimension])
        return np.concatenate([w, current[self._width :]])

    def measures(self) -> dict[str, float]:
        """Tell the share of weights that are sent as zeros, and of features not computed."""
        return {
            "zeros": float((self._told() == 0.0).mean()),
            "dropped": 1.0 - self._map.dimension / self._columns.whole.dimension,
        }
