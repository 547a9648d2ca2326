"""dSVOR as a River classifier."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from river.base import Classifier

from anabranch.errors import ConfigurationError, SampleError
from anabranch.features.additive import ADDITIVE_KERNELS
from anabranch.kernels.checks import LIMIT
from anabranch.learners import DSVOR
from anabranch.protocol import Array
from anabranch.river_face.growth import grow_features, grow_ranks
from anabranch.river_face.names import name_of, number_of
from anabranch.river_face.scaling import PresentScaler

__all__ = ["DSVORClassifier"]

Sample = Mapping[Any, Any]


class DSVORClassifier(Classifier):
    """Support vector ordinal regression on one stream: `DSVOR` without a network.

    Labels are ranked in the order of `ranks`, or else in the order in which they are first
    seen. Features may appear and disappear: one that a sample lacks stands at its mean. A new
    feature's random frequencies are drawn by its name, so the order of arrival changes
    nothing. With all features in every sample and `ranks` given, each step equals the block
    face's `DSVOR(..., names=sorted(names))` bit for bit.

    Without `ranks` one threshold more than needed is always kept: it parks above all margins
    and becomes that of the next new label; the spare one after it starts one margin higher.

    There is no `predict_proba_one`: margins are not probabilities.

    Parameters
    ----------
    ranks : labels from lowest to highest; any other label is refused then
    kernel : as in `DSVOR`; those of values that are not negative need `standardise=False`
    gamma : of exp(-gamma |x - y|^2); by default 1/K, K the features of the first sample
        learned, and never changed later
    dimension : as in `DSVOR`, by the features of the first sample learned
    alpha, lam, step, decay, floor, cache, averaging, serve, seed : as in `DSVOR`
    standardise : use running z-scores; False where a scaler stands before it in a pipeline

    Examples
    --------
    >>> model = DSVORClassifier(ranks=["cold", "mild", "hot"], kernel="linear", seed=1)
    >>> for i in range(300):
    ...     t = (i * 37) % 31
    ...     model.learn_one({"t": t}, "cold" if t < 10 else "mild" if t < 20 else "hot")
    >>> [model.predict_one({"t": t}) for t in (2, 15, 28)]
    ['cold', 'mild', 'hot']
    """

    def __init__(
        self,
        ranks: Sequence[Hashable] | None = None,
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
        standardise: bool = True,
        seed: int = 0,
    ) -> None:
        self.ranks = ranks
        self.kernel = kernel
        self.gamma = gamma
        self.dimension = dimension
        self.alpha = alpha
        self.lam = lam
        self.step = step
        self.decay = decay
        self.floor = floor
        self.cache = cache
        self.averaging = averaging
        self.serve = serve
        self.standardise = standardise
        self.seed = seed
        self._labels: list[Hashable] = [] if ranks is None else list(ranks)
        self._rank_of = {label: i + 1 for i, label in enumerate(self._labels)}
        if ranks is not None and not 2 <= len(self._rank_of) == len(self._labels):
            raise ConfigurationError(
                f"ranks = {self._labels!r} is no order; allowed: two or more different labels"
            )
        if standardise and kernel in ADDITIVE_KERNELS:
            raise ConfigurationError(
                f"values would be negative: kernel={kernel!r} with standardise=True; "
                "allowed: standardise=False"
            )
        self._column: dict[Any, int] = {}
        self._names: list[str] = []
        self._scaler = PresentScaler(0)
        self._learner: DSVOR | None = None
        self._make(["any"])  # settings that are wrong are refused now, not at the first sample

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: Sample, y: Hashable) -> None:
        """Take one step.

        Parameters
        ----------
        x : feature -> number; bool counts as 0 or 1
        y : the label

        Raises
        ------
        SampleError
            A value is not a finite number, or the label is not among `ranks`; nothing has
            changed then.
        """
        values = {feature: number_of(f"feature {feature!r}", value) for feature, value in x.items()}
        rank = self._rank(y)
        self._make_room(values)
        if self._learner is None:
            return
        row, present = self._row(values)
        if self.standardise:
            self._scaler.add(row, present)
            row = self._scaler.transform(row, present)
        self._learner.learn(row[None, :], np.array([float(rank)]))

    def predict_one(self, x: Sample, **kwargs: Any) -> Any:
        """Predict a label; None before any is known. Features never learned are ignored.

        Raises
        ------
        SampleError
            A value is not a finite number.
        """
        values = {feature: number_of(f"feature {feature!r}", value) for feature, value in x.items()}
        if self._learner is None:
            return self._labels[0] if self._labels else None
        row, present = self._row(values)
        if self.standardise:
            # z-scores of a sample far outside everything seen may leave the learner's range
            row = np.clip(self._scaler.transform(row, present), -LIMIT, LIMIT)
        rank = int(self._learner.predict(row[None, :])[0])
        return self._labels[min(rank, len(self._labels)) - 1]

    def _rank(self, y: Hashable) -> int:
        """Give the rank of a label, making it the next one where `ranks` is not given."""
        known = self._rank_of.get(y)
        if known is not None:
            return known
        if self.ranks is not None:
            raise SampleError(f"label {y!r} is not a rank; allowed: {self._labels!r}")
        if y != y:
            raise SampleError(f"label {y!r} is not equal to itself; allowed: any other label")
        self._labels.append(y)
        self._rank_of[y] = len(self._labels)
        if self._learner is not None and len(self._labels) + 1 > self._learner.ranks:
            self._learner = grow_ranks(self._learner, len(self._labels) + 1)
        return len(self._labels)

    def _make_room(self, values: Mapping[Any, float]) -> None:
        """Know the features of a sample, in sorted order of their names."""
        new = {f: name_of(f) for f in values if f not in self._column}
        if not new:
            return
        names = {f: self._names[i] for f, i in self._column.items()} | new
        ordered = sorted(names, key=names.__getitem__)
        column = {feature: i for i, feature in enumerate(ordered)}
        places = np.array([column[feature] for feature in self._column], dtype=np.int64)
        self._column, self._names = column, [names[feature] for feature in ordered]
        self._scaler = self._scaler.grown(len(ordered), places)
        if self._learner is None:
            self._learner = self._make(self._names)
        else:
            self._learner = grow_features(self._learner, self._names, places)

    def _row(self, values: Mapping[Any, float]) -> tuple[Array, Array]:
        """Give the values (K,) of the known features, and which of them are there."""
        row = np.zeros(len(self._names))
        present = np.zeros(len(self._names), dtype=np.bool_)
        for feature, value in values.items():
            place = self._column.get(feature)
            if place is not None:
                row[place] = value
                present[place] = True
        return row, present

    def _make(self, names: Sequence[str]) -> DSVOR:
        return DSVOR(
            len(names),
            len(self._labels) if self.ranks is not None else max(2, len(self._labels) + 1),
            kernel=self.kernel,
            gamma=self.gamma,
            dimension=self.dimension,
            alpha=self.alpha,
            lam=self.lam,
            step=self.step,
            decay=self.decay,
            floor=self.floor,
            cache=self.cache,
            averaging=self.averaging,
            serve=self.serve,
            scaling="none",
            seed=self.seed,
            names=names,
        )
