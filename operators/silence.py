"""Neighbours that fall silent and are heard again, for the log."""

import logging
from collections.abc import Iterable

from anabranch.protocol import NodeId
from operators.ears import Ears

__all__ = ["Silence"]

log = logging.getLogger("anabranch.exchange")


class Silence:
    """Logs each change of who is silent towards a node.

    A neighbour that was never heard is not told of: it may be starting.

    Parameters
    ----------
    node : who listens
    ears : what it has heard

    Examples
    --------
    >>> ears = Ears.of(["n01", "n02"])
    >>> ears.hear("n01", None)
    >>> silence = Silence("n00", ears)
    >>> silence.note(live=[])
    >>> sorted(silence.silent)
    ['n01']
    """

    def __init__(self, node: NodeId, ears: Ears) -> None:
        self._node, self._ears = node, ears
        self.silent: frozenset[NodeId] = frozenset()

    def note(self, live: Iterable[NodeId]) -> None:
        """Take note of who is not silent."""
        heard = self._ears.heard
        silent = frozenset(heard).difference(live)
        if silent == self.silent:
            return
        silent = frozenset(name for name in silent if name in self.silent or heard[name].parcels)
        where = {"node": self._node}
        for name in sorted(silent - self.silent):
            log.warning("neighbour %r is silent and left out", name, extra=where)
        for name in sorted(self.silent - silent):
            log.info("neighbour %r is heard again", name, extra=where)
        self.silent = silent
