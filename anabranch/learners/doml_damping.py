"""The delay that DOML observes, which bounds its steps."""

from collections.abc import Sequence

import numpy as np

from anabranch.errors import ModelError
from anabranch.protocol import Array

__all__ = ["Delay"]

_RISE, _FALL = 0.2, 0.05
_MOST = 20.0
"""Delay beyond which a neighbour is taken to be quiet, not late."""
_SENT = 256
"""Messages a node remembers having sent."""


class Delay:
    """How late what a node steps on is, from the echoes of its own messages; no clock.

    Every message has a tag. A neighbour's message names the tags of the messages it was made
    from; the steps since a node sent the one it is named in are a round trip, which is 1
    where nothing is late. Half of what is beyond that is the delay of one way. Where messages
    are lost the last ones grow old, and count as late as they are.

    Attributes
    ----------
    delay : steps, a mean over the neighbours and over time that rises faster than it falls;
        negative until the first round trip

    Examples
    --------
    >>> delay = Delay()
    >>> delay.sent(7.0, step=0, version=1)
    >>> delay.observe(1, [[7.0]])  # used at once: in time
    >>> delay.eta
    1.0
    >>> delay.observe(7, [[7.0]])  # still the last one used: three steps late each way
    >>> round(delay.delay, 2), round(delay.eta, 2)
    (0.6, 0.62)
    """

    def __init__(self) -> None:
        self.delay = -1.0
        self._sent = np.zeros((3, 0))

    @property
    def eta(self) -> float:
        """Give the share of a step to make: 1/(1 + delay)."""
        return 1.0 / (1.0 + max(0.0, self.delay))

    def sent(self, tag: float, step: int, version: int) -> None:
        """Remember a message: its tag, the steps made before it, and its number."""
        row = np.array([[tag], [step], [version]], dtype=float)
        self._sent = np.hstack((self._sent, row))[:, -_SENT:]

    def confirmed(self, echo: Array) -> int:
        """Give the number of the newest own message that an echo names; 0 for none."""
        found = self._find(echo)
        return 0 if found is None else int(self._sent[2, found])

    def observe(self, step: int, echoes: Sequence[Array]) -> None:
        """Look for own tags in what neighbours were made from, before a step is made."""
        places = [found for tags in echoes if (found := self._find(tags)) is not None]
        trips = [step - float(self._sent[1, found]) for found in places]
        if not trips:
            return
        late = min(max(0.0, (sum(trips) / len(trips) - 1.0) / 2.0), _MOST)
        follow = _RISE if late > self.delay else _FALL
        self.delay = late if self.delay < 0.0 else self.delay + follow * (late - self.delay)

    def _find(self, tags: Array) -> int | None:
        hits = np.flatnonzero(np.isin(self._sent[0], tags))
        return int(hits[-1]) if len(hits) else None

    def export(self) -> Array:
        """Give the state as (3, n + 1): the delay, then what was sent."""
        return np.column_stack([[self.delay, 0.0, 0.0], self._sent])

    def restore(self, state: Array) -> None:
        """Take the state (3, n + 1) of `export`.

        Raises
        ------
        ModelError
            It is damaged.
        """
        if state.shape[1] < 1 or state[0, 0] < -1.0:
            raise ModelError("damaged state: delay is negative or missing")
        self.delay, self._sent = float(state[0, 0]), state[:, 1:].copy()
