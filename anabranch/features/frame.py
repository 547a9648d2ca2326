"""The units in which nodes compare their parameters, and the way from one to the next."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from anabranch.protocol import Array

__all__ = ["Frame"]

_FLAT = 1e-26
"""A variance below _FLAT mean^2 is rounding noise of a constant."""

_LEAST = 0.01
"""Least scale, as a share of the largest ever."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Centres and scales of the fields and, last, of the target.

    Parameters (w, b) in a frame predict y = my + sy (b + sum_j w_j (x_j - m_j)/s_j).

    Attributes
    ----------
    epoch : counts the frames of a job; 0 before the first
    centre, scale : (p + 1,)

    Examples
    --------
    >>> frame = Frame.of(1, 2.0, np.array([1.0, 3.0]), np.array([2.0, 8.0]))
    >>> frame.centre.tolist(), frame.scale.tolist()
    ([1.0, 3.0], [1.0, 2.0])
    >>> frame.raw(np.array([0.5, 0.0]))  # weights, and the level at the centre
    (array([1.]), 3.0)
    """

    epoch: int
    centre: Array
    scale: Array

    @classmethod
    def of(
        cls, epoch: int, count: float, mean: Array, m2: Array, peak: Array | None = None
    ) -> Self:
        """Give the frame of z-scores by moments; a constant gets scale 1.

        Where samples are forgotten, `peak` (p + 1,) keeps the largest scales so far, and no
        scale falls below a hundredth of them: a field that has stood still for a while would
        else get units in which its next move is astronomic. It is brought up to date.
        """
        variance = m2 / count if count > 0.0 else np.zeros_like(m2)
        found = np.sqrt(np.where(variance > _FLAT * mean * mean, variance, 0.0))
        if peak is not None:
            np.maximum(peak, found, out=peak)
            found = np.maximum(found, _LEAST * peak)
        return cls(epoch, mean.copy(), np.where(found > 0.0, found, 1.0))

    @classmethod
    def plain(cls, epoch: int, size: int) -> Self:
        """Give the frame of fields and target as they are."""
        return cls(epoch, np.zeros(size), np.ones(size))

    def far(self, other: "Frame", move: float, stretch: float) -> bool:
        """Tell whether another frame differs by more than `move` scales or `stretch` in ln s."""
        moved = np.abs(other.centre - self.centre) > move * self.scale
        stretched = np.abs(np.log(other.scale / self.scale)) > stretch
        return bool(moved.any() or stretched.any())

    def raw(self, theta: Array) -> tuple[Array, float]:
        """Give weights (p,) of the fields as they are, and the prediction at `centre`."""
        weights = theta[:-1] * (self.scale[-1] / self.scale[:-1])
        return weights, float(self.centre[-1] + self.scale[-1] * theta[-1])

    def carry(self, theta: Array, new: "Frame") -> Array:
        """Give the same function's parameters in a new frame."""
        weights, level = self.raw(theta)
        level += float(np.sum(weights * (new.centre[:-1] - self.centre[:-1])))
        out = np.empty_like(theta)
        out[:-1] = weights * (new.scale[:-1] / new.scale[-1])
        out[-1] = (level - new.centre[-1]) / new.scale[-1]
        return out

    def carry_slope(self, slope: Array, new: "Frame") -> Array:
        """Give the same objective's gradient (in parameters) in a new frame.

        The objective is counted in squared scales of the target.
        """
        target = self.scale[-1] / new.scale[-1]
        away = (new.centre[:-1] - self.centre[:-1]) / new.scale[:-1]
        out = np.empty_like(slope)
        out[:-1] = target * (self.scale[:-1] / new.scale[:-1] * slope[:-1] - away * slope[-1])
        out[-1] = target * slope[-1]
        return out
