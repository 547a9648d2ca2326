"""A node of the elastic net with a server."""

from collections.abc import Mapping, Sequence

import numpy as np

from anabranch.features.frame import Frame
from anabranch.kernels.elastic_star import owed
from anabranch.learners.elastic_net_gap import answer_of
from anabranch.learners.elastic_net_half import Half, carry_pull
from anabranch.learners.elastic_net_moments import CoMoments
from anabranch.learners.elastic_net_part import (
    PATIENCE,
    Part,
    frozen,
    restored_frame,
    saved_frame,
)
from anabranch.learners.elastic_net_settings import ElasticNetSettings
from anabranch.learners.elastic_net_wire import Heard, Wire
from anabranch.learners.states import saved_array
from anabranch.protocol import Array, Arrays, Message, NodeId, State, freeze

__all__ = [
    "COUNT",
    "EPOCH",
    "LOSS",
    "RESIDUAL",
    "RHO",
    "SEQUENCE",
    "StarNode",
    "down_wire",
    "up_wire",
]

COUNT, RHO, SEQUENCE, EPOCH, RESIDUAL, LOSS = range(6)
"""Places in the status that a node sends up."""

ANSWER, ACK, FRAME, TOTAL, ROOT = range(5)
"""Places in the status that the server sends down: its number, that of the node's message it
answers, the epoch, and the sums of n and sqrt(n)."""


def up_wire(size: int) -> Wire:
    """Lay out what nodes send: m and a status, marginal moments when samples came, answers."""
    groups = ({"mean": size, "variance": size}, {"answer": 2 * size + 1, "to": 1})
    return Wire({"m": size, "status": 6}, groups)


def down_wire(size: int) -> Wire:
    """Lay out what the server sends: alpha, a status, a frame that is not known, a question."""
    groups = ({"centre": size, "scale": size}, {"question": size, "number": 1})
    return Wire({"alpha": size, "status": 5}, groups)


class StarNode(Part):
    """Answer each alpha by a step, and the step by a message if it is worth one.

    A node speaks when samples came (`growth`), when alpha or its own multiplier has moved by
    more than the tolerance, or when the answer shows that its message was lost: then it goes
    on from its own m and sends that. An alpha that cannot know of its message yet it ignores:
    steps from the same alpha, taken twice, diverge.
    """

    def __init__(self, settings: ElasticNetSettings, moments: CoMoments) -> None:
        super().__init__(settings, moments)
        self.wire = down_wire(settings.size)
        self.half = Half(settings)
        self._sent = np.zeros(settings.size)
        """m as last sent."""
        self._sent_rho = 0.0
        self._sequence, self._answer = 0, 0
        self._sent_rows = self._surveyed = 0
        """Samples seen when a message was last sent, and when one was last answered."""
        self._waited = -1
        """Rounds since a message that was not answered; -1: none."""
        self._age = 0
        """Rounds since the last alpha."""
        self._moved = self._lost = False
        self._to, self._answered = 0, np.zeros(2 * settings.size + 1)
        """Number of the server's question, 0 for none, and what to say of it."""

    @property
    def served(self) -> Array:
        """The server's alpha."""
        return self.half.alpha

    @property
    def iterate(self) -> Array:
        """The node's theta."""
        return self.half.theta

    def acts(self) -> bool:
        """Tell whether a message is due."""
        if self._waited >= 0:
            return self._waited > PATIENCE
        if self._sequence == 0 or self._lost or self._moved or self._to or self._overdue:
            return True
        return self.grown(self._sent_rows)

    @property
    def _overdue(self) -> bool:
        """Whether the server would soon take this node's silence for an absence."""
        return 0 < self.settings.ttl <= 2 * (self._age + self.settings.timeout)

    def messages(self) -> Sequence[Message]:
        """Send m to the server, and count on its answer."""
        self._sequence += 1
        self._waited, self._moved, self._lost = 0, False, False
        half, epoch = self.half, self.frame.epoch if self.frame else 0
        count = self.moments.count
        arrays: dict[str, Array] = {
            "m": freeze(half.m.copy()),
            "status": frozen(count, half.rho, self._sequence, epoch, half.residual**2, half.loss),
        }
        if self._surveyed < self.moments.rows:
            count, mean, m2 = self.moments.marginal()
            arrays |= {"mean": freeze(mean), "variance": freeze(m2 / max(count, 1e-300))}
        if self._to:
            arrays |= {"answer": freeze(self._answered.copy()), "to": frozen(self._to)}
            self._to = 0
        self._sent, self._sent_rho, self._sent_rows = half.m, half.rho, self.moments.rows
        return (Message(arrays),)

    def combine(self, heard: Sequence[Heard], weights: Mapping[NodeId, float]) -> None:
        """Take the server's alpha, if it is a new one."""
        self._age += 1
        if self._waited >= 0:
            self._waited += 1
        for one in heard:
            status = one.arrays["status"].tolist()
            if int(status[ANSWER]) != self._answer and status[TOTAL] > 0.0 < status[ROOT]:
                self._answer = int(status[ANSWER])
                self._take(one.arrays, status)

    def _take(self, arrays: Arrays, status: Sequence[float]) -> None:
        epoch = int(status[FRAME])
        if "scale" in arrays and (self.frame is None or epoch != self.frame.epoch):
            self._carry(Frame(epoch, arrays["centre"], arrays["scale"]), arrays["alpha"])
        answered = int(status[ACK]) == self._sequence
        if not answered and self._waited == 1:
            return  # sent in this very round, the message could not be answered yet
        self._waited, self._lost = -1, not answered
        if answered:
            self._surveyed = self._sent_rows
        elif status[ACK] == 0.0:
            self._surveyed = 0  # the server has taken this node out
        if self.frame is None or epoch != self.frame.epoch:
            self._lost = True
        else:
            self._step(self.frame, arrays["alpha"], status[TOTAL], status[ROOT])
            if "question" in arrays:
                self._to = int(arrays["number"][0])
                self._answered = answer_of(self.half.system, arrays["question"])

    def _step(self, frame: Frame, alpha: Array, total: float, root: float) -> None:
        half = self.half
        relax = self.settings.relax if self._age <= PATIENCE else 1.0
        self._age = 0
        half.step(self.moments, frame, alpha, total, root, relax)
        due = 0.0
        if half.rho:
            pull = owed(half.m, half.rho, self._sent, self._sent_rho, alpha)
            due = pull / (self.settings.relax * half.rho)
        self._moved = not half.tolerated(max(due, half.moved))

    def _carry(self, new: Frame, alpha: Array) -> None:
        old = self.frame
        self.half.system.forget()
        if old is not None:
            alpha = new.carry(alpha, old)
            self._sent = carry_pull(self._sent, self._sent_rho, alpha, old, new)
            self.half.carry(old, new, alpha)
        self.frame = new

    def leave(self) -> None:
        """Give up the multipliers as well, at the next message."""
        self.half = Half(self.settings)
        self._moved = True
        self._waited = -1

    def measures(self) -> dict[str, float]:
        """Give |theta - alpha|, |alpha - the one before|, and the loss of the own samples."""
        half = self.half
        return {"primal": half.residual, "dual": half.rho * half.moved, "loss": half.loss}

    def export(self) -> State:
        """Give the state."""
        return {
            **saved_frame(self.frame),
            **self.half.export(),
            "sent": self._sent.copy(),
            "turns": np.array([
                self._sequence, self._answer, self._sent_rows, self._surveyed, self._waited,
                self._age, self._moved, self._lost, self._sent_rho, self._to,
            ], dtype=np.float64),
            "answer": self._answered.copy(),
        }  # fmt: skip

    def restore(self, state: State) -> None:
        """Take it back; raises ModelError."""
        size = self.settings.size
        self.frame = restored_frame(state, size)
        self.half.restore(state)
        self._sent = saved_array(state, "sent", (size,))
        turns = saved_array(state, "turns", (10,)).tolist()
        self._sequence, self._answer, self._sent_rows, self._surveyed = map(int, turns[:4])
        self._waited, self._age = map(int, turns[4:6])
        self._moved, self._lost = bool(turns[6]), bool(turns[7])
        self._sent_rho, self._to = turns[8], int(turns[9])
        self._answered = saved_array(state, "answer", (2 * size + 1,))
