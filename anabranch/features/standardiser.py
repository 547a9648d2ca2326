"""z-scores that a whole network agrees on without showing a sample."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from anabranch.kernels.checks import bounded
from anabranch.kernels.moments import CLOSED, COUNT, M2, MEAN, OWN, refresh
from anabranch.protocol import Array, Arrays, freeze

__all__ = ["Moments", "Standardiser"]

_MOST = 1e300
"""Largest M2 taken from a neighbour: averages of such numbers cannot overflow."""
_FEWEST = 3
"""Samples of which moments are told to neighbours."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Count, mean and centred sum of squares of some samples, feature by feature.

    `rounds` tells how many rounds of averaging they have been through.
    """

    count: float
    mean: Array
    m2: Array
    rounds: int = 0

    NAMES = ("n", "mean", "M2", "rounds")

    @classmethod
    def mix(cls, parts: Sequence[tuple[float, "Moments"]], rounds: int) -> "Moments":
        """Average (n, sum x, sum x^2) linearly with the given weights, in centred form.

        n = sum c n_j, mean = sum c n_j mean_j / n, M2 = sum c (M2_j + n_j (mean_j - mean)^2):
        the same numbers as averaging raw sums, without their cancellation.
        """
        count = sum(weight * part.count for weight, part in parts)
        mean, m2 = np.zeros_like(parts[0][1].mean), np.zeros_like(parts[0][1].m2)
        if count <= 0.0:
            return cls(0.0, mean, m2, rounds)
        for weight, part in parts:
            mean += (weight * part.count / count) * part.mean
        for weight, part in parts:
            m2 += weight * (part.m2 + part.count * (part.mean - mean) ** 2)
        return cls(count, mean, m2, rounds)

    def arrays(self) -> dict[str, Array]:
        """Give them as the frozen arrays of a message."""
        return {
            "n": freeze(np.array([self.count])),
            "mean": freeze(self.mean.copy()),
            "M2": freeze(self.m2.copy()),
            "rounds": freeze(np.array([float(self.rounds)])),
        }

    @classmethod
    def read(cls, arrays: Arrays, features: int) -> "Moments":
        """Read them from a message.

        Raises
        ------
        ValueError
            A part is missing, of wrong shape, not finite, or negative where it cannot be.
        """
        parts = [np.ascontiguousarray(arrays[name], dtype=np.float64) for name in cls.NAMES]
        for name, part, size in zip(cls.NAMES, parts, (1, features, features, 1), strict=True):
            if part.shape != (size,):
                raise ValueError(f"{name} has shape {part.shape}, not ({size},)")
            if not np.isfinite(part).all():
                raise ValueError(f"{name} is not finite")
            if name != "mean" and part.min() < 0.0:
                raise ValueError(f"{name} is negative")
        if not (bounded(parts[0]) and bounded(parts[1]) and parts[2].max() <= _MOST):
            raise ValueError("n, mean or M2 is too large to be averaged")
        return cls(float(parts[0][0]), parts[1], parts[2], int(parts[3][0]))


class Standardiser:
    """Moments that follow the samples, are averaged with neighbours, and then stand still.

    Parameters
    ----------
    features : number of features K
    rounds : rounds of averaging after which it is frozen; 0: it is the identity for ever

    Attributes
    ----------
    scale : (4, K) float64 for the kernels: mean, M2, centre, inverse deviation
    progress : float64 vector for the kernels; the count stands in it, and whether
        the moments are closed to new samples
    """

    def __init__(self, features: int, rounds: int, progress: Array) -> None:
        self.scale = np.zeros((4, features))
        self.progress = progress
        self.wanted = rounds
        self.rounds = 0
        self.asked = False
        """A neighbour that is still warming up was heard, so the next message helps it."""
        refresh(0.0, self.scale)
        self._close()

    @property
    def frozen(self) -> bool:
        """Whether the standardisation has stopped changing."""
        return self.rounds == self.wanted

    @property
    def closed(self) -> bool:
        """Whether samples no longer enter the moments."""
        return bool(self.progress[CLOSED])

    def _close(self) -> None:
        """Take no sample in the second half of the rounds.

        The last samples of each node would not get around any more, and nodes would
        freeze different scales.
        """
        self.progress[CLOSED] = float(2 * self.rounds >= self.wanted)

    @property
    def talks(self) -> bool:
        """Whether the next message carries moments."""
        return self.wanted > 0 and (not self.frozen or self.asked)

    def moments(self) -> Moments:
        """Give the moments as they stand (views of the working arrays)."""
        return Moments(float(self.progress[COUNT]), self.scale[MEAN], self.scale[M2], self.rounds)

    @property
    def hidden(self) -> bool:
        """Whether the moments would give a sample away: they hold one or two of the node's own.

        The mean of one sample is that sample; mean and M2 of two tell both values of a feature.
        """
        return bool(0.0 < self.progress[OWN] < _FEWEST)

    def shared(self) -> Moments:
        """Give what is told to neighbours: the moments, or while they are hidden nothing."""
        if not self.hidden:
            return self.moments()
        nothing = np.zeros_like(self.scale[MEAN])
        return Moments(0.0, nothing, nothing, self.rounds)

    def combine(self, heard: Sequence[tuple[float, Moments]], lonely: bool = True) -> bool:
        """Take in the moments of this round's messages, with their weights.

        Without `lonely` (the node has neighbours) a round does not count in which nobody is
        heard, since the node would freeze moments that are its own alone, or in which it hides
        its own: when it hides them for good, it takes over what the others have frozen.

        Returns True when they were taken over from neighbours that are frozen already: the
        node came late, and its parameters belong to coordinates nobody uses.
        """
        if self.wanted == 0:
            return False
        ready = [part for _, part in heard if part.rounds >= self.wanted]
        self.asked = len(ready) < len(heard)
        if self.frozen:
            return False
        if ready:
            mixed = Moments.mix([(1.0 / len(ready), part) for part in ready], self.wanted)
        else:
            own = 1.0 if self.hidden else 1.0 - sum(weight for weight, _ in heard)
            mixed = Moments.mix([(own, self.moments()), *heard], self.rounds)
        self._take(mixed, counts=lonely or (bool(heard) and not self.hidden))
        return bool(ready)

    def _take(self, mixed: Moments, counts: bool) -> None:
        """Make these moments its own; no round counts before a sample is known somewhere."""
        self.progress[COUNT] = mixed.count
        self.scale[MEAN], self.scale[M2] = mixed.mean, mixed.m2
        self.rounds = mixed.rounds
        if counts and mixed.count > 0.0:
            self.rounds = min(self.rounds + 1, self.wanted)
        self._close()
        refresh(mixed.count, self.scale)

    def restore(self, mean: Array, m2: Array, rounds: int, asked: bool) -> Self:
        """Set the state after `progress` has been set."""
        self.scale[MEAN], self.scale[M2] = mean, m2
        self.rounds, self.asked = rounds, asked
        refresh(float(self.progress[COUNT]), self.scale)
        return self
