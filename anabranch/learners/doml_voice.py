"""What a DOML node says."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from anabranch.learners.doml_damping import Delay
from anabranch.learners.doml_labels import Labels
from anabranch.learners.doml_level import Level
from anabranch.learners.doml_mailbox import Mailbox
from anabranch.learners.doml_scaling import Scaling
from anabranch.learners.doml_settings import DomlSettings
from anabranch.learners.doml_solver import Solver
from anabranch.learners.doml_teller import Teller
from anabranch.learners.doml_wire import FRAME, LABELS, RANK, READY, ROWS, digest_of
from anabranch.learners.states import saved_array
from anabranch.protocol import Array, State

__all__ = ["Voice"]

_ASLEEP = 50
"""Steps without a word after which a neighbour is not waited for."""


class Voice:
    """The arrays of a node's messages, and its memory of what it said.

    Coordinates and names of labels are only told as long as some neighbour has others.
    """

    def __init__(
        self, settings: DomlSettings, solver: Solver, scaling: Scaling, labels: Labels, level: Level
    ) -> None:
        self._solver, self._scaling, self._labels, self._level = solver, scaling, labels, level
        self.teller = Teller(settings, solver.P.shape, solver.dtype)
        self.delay = Delay()

    def message(self, mailbox: Mailbox, steps: int) -> dict[str, Array]:
        """Give the arrays told to all neighbours; none if the parameters are not fit for it."""
        if not self._solver.fit:
            return {}
        arrays: dict[str, Array] = self._scaling.arrays()
        parts, base = self._parts(mailbox), 0
        if parts & READY:
            confirmed = self._confirmed(mailbox, steps)
            delay = max(0.0, self.delay.delay)
            pair, form, base = self.teller.tell(self._solver.pair, confirmed, delay)
            arrays, parts = arrays | pair, parts | form
        if parts & FRAME:
            arrays["frame"] = self._scaling.frame_array()
        if parts & LABELS:
            arrays["labels"] = self._labels.array
        echo = np.array([near.tag for near, _ in mailbox.usable])
        if echo.size:
            arrays["echo"] = echo
        numbers = self._numbers(arrays, parts, base)
        tag = self._tag([steps, *numbers], mailbox)
        self.delay.sent(tag, steps, self.teller.version)
        arrays["state"] = np.array([tag, *numbers])
        return arrays

    def _parts(self, mailbox: Mailbox) -> int:
        if not self._scaling.fixed:
            return 0
        near, key, parts = mailbox.known.values(), self._scaling.frame.key, READY
        if self._scaling.consensus and (mailbox.silent or any(one.key != key for one in near)):
            parts |= FRAME
        digest = self._labels.digest
        if self._labels.grown and (
            mailbox.silent or any(one.state["names"] != digest for one in near)
        ):
            parts |= LABELS
        return parts

    def _confirmed(self, mailbox: Mailbox, steps: int) -> list[int]:
        """Give the newest own message that each neighbour has, where it is awake."""
        near = mailbox.known.values()
        return [self.delay.confirmed(one.echo) for one in near if steps - one.at <= _ASLEEP]

    def _numbers(self, arrays: Mapping[str, Array], parts: int, base: int) -> list[float]:
        """Give the message's state but for its tag; from now on this scale counts for edges."""
        level = self._level
        level.told = level.scale
        count, digest = self._scaling.frame.key if parts & READY else (0.0, 0)
        rows = len(arrays["rows"]) if parts & ROWS else 0
        rows = len(arrays["right"]) if parts & RANK else rows
        return [
            self.teller.version, base, level.level, level.scale, len(self._labels.names),
            len(arrays.get("echo", ())), rows, count, digest, self._labels.digest, parts,
        ]  # fmt: skip

    def _tag(self, numbers: list[float], mailbox: Mailbox) -> float:
        """Give a number that no other node's message has, nor another of this node's.

        Nodes do not know their own names, but those of their neighbours.
        """
        sums: list[Any] = [self._solver.P.sum(), self._solver.beta.sum()]
        names = "\n".join(mailbox.known).encode()
        return float(digest_of(np.array([*numbers, *sums], dtype=float).tobytes() + names))

    def export(self) -> State:
        """Give the state."""
        return {**self.teller.export(), "delay": self.delay.export()}

    def restore(self, state: State) -> Self:
        """Take the state of `export`.

        Raises
        ------
        ModelError
            It is damaged.
        """
        self.teller.restore(state)
        self.delay.restore(saved_array(state, "delay", (3, -1)))
        return self
