"""The watch for divergence."""

from typing import Self

import numpy as np

from anabranch.errors import ModelError
from anabranch.protocol import Array

__all__ = ["Watch"]

_STEPS = 20
"""Steps after which growth is looked at."""
_GROWTH = 1.3
"""Factor of growth, twice in a row, that is one too many."""
_APART = 1e-2
"""Disagreement, relative to P, that is worth a thought."""
_RECOVERY = 1.06
"""Slow, or it would soon be back where it diverged."""
_LEAST = 1.0 / 64.0


class Watch:
    """Tells divergence by |beta| and the disagreement with neighbours growing together.

    Both may swing, so what counts is the largest in a span of steps. Samples make either grow
    for a while, but not both by a factor again and again: where nodes come to agree the
    disagreement falls. As long as they do, the share of a step that is made is halved; it
    recovers slowly when they do not.

    Attributes
    ----------
    diverging : whether they grew in the last two spans of steps
    share : factor of the step

    Examples
    --------
    >>> watch = Watch()
    >>> for step in range(100):
    ...     watch.observe(beta=1.1**step, apart=1.2**step, size=1.0)
    >>> watch.diverging, watch.share
    (True, 0.125)
    """

    def __init__(self) -> None:
        self.diverging = False
        self.share = 1.0
        self._count, self._spans = 0, 0
        self._before, self._most = np.full(2, np.inf), np.zeros(2)

    def observe(self, beta: float, apart: float, size: float) -> None:
        """Note |beta|, the largest |P - P_j| and |P| after a step."""
        self._count += 1
        self._most = np.fmax(self._most, [beta, apart])
        if self._count % _STEPS:
            return
        grown = bool((self._most > _GROWTH * self._before).all())
        bad = (grown and apart > _APART * size) or not np.isfinite(beta + apart)
        self._spans = self._spans + 1 if bad else 0
        self._before, self._most = self._most, np.zeros(2)
        self.diverging = self._spans >= 2
        factor = 0.5 if self.diverging else _RECOVERY
        self.share = min(1.0, max(_LEAST, factor * self.share))

    def alarm(self) -> None:
        """Note that the parameters cannot be told any more."""
        self.diverging, self._spans = True, 2
        self.share = max(_LEAST, 0.5 * self.share)

    def export(self) -> Array:
        """Give the state (8,); what is not finite is negative."""
        seen = np.concatenate((self._before, self._most))
        seen[~np.isfinite(seen)] = -1.0
        return np.array([self.diverging, self.share, self._count, self._spans, *seen], dtype=float)

    def restore(self, state: Array) -> Self:
        """Take the state of `export`.

        Raises
        ------
        ModelError
            It is damaged.
        """
        if not _LEAST <= state[1] <= 1.0 or (state[[2, 3]] < 0.0).any():
            raise ModelError(f"damaged state: watch={state}; allowed: counts and a share")
        self.diverging, self.share = bool(state[0]), float(state[1])
        self._count, self._spans = int(state[2]), int(state[3])
        seen = np.where(state[4:] < 0.0, np.inf, state[4:])
        self._before, self._most = seen[:2], seen[2:]
        return self
