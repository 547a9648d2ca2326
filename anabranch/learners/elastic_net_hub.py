"""The server of the elastic net: the node in the middle of a star."""

from collections.abc import Collection, Mapping, Sequence
from math import ceil, sqrt

import numpy as np

from anabranch.features.frame import Frame
from anabranch.kernels.elastic_star import sum_up
from anabranch.learners.elastic_net_gap import Certificate, answer_of
from anabranch.learners.elastic_net_half import Half, carry_pull
from anabranch.learners.elastic_net_moments import CoMoments
from anabranch.learners.elastic_net_node import (
    ACK,
    COUNT,
    EPOCH,
    LOSS,
    RESIDUAL,
    RHO,
    SEQUENCE,
    up_wire,
)
from anabranch.learners.elastic_net_part import (
    Part,
    restored_frame,
    saved_frame,
    saved_names,
)
from anabranch.learners.elastic_net_rows import NamedRows
from anabranch.learners.elastic_net_settings import ElasticNetSettings
from anabranch.learners.elastic_net_survey import Survey
from anabranch.learners.elastic_net_wire import Heard
from anabranch.learners.states import saved_array
from anabranch.protocol import Array, Message, NodeId, State, freeze

__all__ = ["StarHub"]

_ASK_EVERY = 10
"""Alphas from one question about the gap to the next."""


class StarHub(Part):
    """Sum the nodes' m, shrink, and answer: w = S(sum m_w, u1)/(sum rho + u2).

    What a silent node said last goes on counting, until it has been silent for `ttl` rounds.
    An alpha is made when a `quorum` of the neighbours has spoken, or `timeout` rounds after
    one has. Samples of the server's own are those of one more node, in the same place.
    """

    def __init__(self, settings: ElasticNetSettings, moments: CoMoments) -> None:
        super().__init__(settings, moments)
        self.wire = up_wire(settings.size)
        self.half = Half(settings)
        self._neighbours: list[NodeId] = []
        self._said = NamedRows(settings.size + 6)
        """m, then the node's status."""
        self._survey = Survey(settings.size)
        self._silent: dict[NodeId, int] = {}
        self._fresh: set[NodeId] = set()
        self._alpha = np.zeros(settings.size)
        self._total = self._root = 0.0
        self._own_rows = self._waited = self._sequence = 0
        self._told = True
        self._moved = self._price = 0.0
        self.certificate = Certificate(settings.size)

    @property
    def served(self) -> Array:
        """The last alpha."""
        return self._alpha

    iterate = served

    def acts(self) -> bool:
        """Tell whether an alpha is made that nobody was told."""
        return not self._told

    def messages(self) -> Sequence[Message]:
        """Send alpha, to each node with the number of its message that it answers."""
        self._told = True
        frame = self.frame
        if frame is None:
            return ()
        alpha, centre, scale = (freeze(a.copy()) for a in (self._alpha, frame.centre, frame.scale))
        answered = self._column(SEQUENCE)
        known = self._column(EPOCH)
        status = np.empty((len(self._neighbours), 5))
        status[:] = self._sequence, 0.0, frame.epoch, self._total, self._root
        status[:, ACK] = [answered.get(name, 0.0) for name in self._neighbours]
        letters = []
        for name, row in zip(self._neighbours, freeze(status), strict=True):
            arrays = {"alpha": alpha, "status": row}
            if known.get(name) != frame.epoch:
                arrays |= {"centre": centre, "scale": scale}
            if name in known:
                arrays |= self.certificate.question(name)
            letters.append(Message(arrays, to=name))
        return letters

    def _column(self, place: int) -> dict[NodeId, float]:
        """Give a number of each node's last status."""
        said = self._said
        return dict(zip(said.names, said.rows[:, -6 + place].tolist(), strict=True))

    def meet(self, neighbours: Collection[NodeId]) -> None:
        """Take up other neighbours; m, rho and samples go with who is none any more."""
        names = sorted(neighbours)
        if names == self._neighbours:
            return
        self._neighbours = names
        for name in [known for known in self._said.names if known not in neighbours]:
            self._take_out(name)

    def combine(self, heard: Sequence[Heard], weights: Mapping[NodeId, float]) -> None:
        """Take the nodes' messages; make an alpha when there are enough."""
        self.meet(weights)
        for one in heard:
            self._hear(one)
        self._give_up({one.sender for one in heard})
        if self.certificate.asked and self.frame is not None:
            self.certificate.conclude(self._said.names, *self.settings.penalty(self.frame))
        own, goes_on = self.grown(self._own_rows), self._goes_on()
        if not self._fresh and not own and not goes_on:
            return
        self._waited += 1
        enough = len(self._fresh) >= ceil(self.settings.quorum * len(weights))
        if enough or goes_on or self._waited > self.settings.timeout:
            self._answer()

    def _goes_on(self) -> bool:
        """Tell whether the own step was worth another, where only the server has samples.

        Nodes without any hear alpha, and say nothing that would ask for the next.
        """
        half = self.half
        if half.rho == 0.0 or any(self._column(COUNT).values()):
            return False
        return not half.tolerated(max(half.residual, half.moved))

    def _hear(self, one: Heard) -> None:
        status, known = one.arrays["status"], one.sender in self._said
        if status[COUNT] and not known and "mean" not in one.arrays:
            self._fresh.add(one.sender)  # taken out: the answer has it tell all anew
            return
        said = self._said.row(one.sender)
        self._silent[one.sender] = 0
        if known and said[-6 + SEQUENCE] == status[SEQUENCE]:
            return
        self._fresh.add(one.sender)
        if "mean" in one.arrays:
            self._survey.put(one.sender, one.arrays["mean"], one.arrays["variance"])
        if "answer" in one.arrays:
            self.certificate.hear(one.sender, int(one.arrays["to"][0]), one.arrays["answer"])
        rho = said[-6 + RHO]
        said[-6:] = status
        if status[EPOCH] == (self.frame.epoch if self.frame else 0):
            said[:-6] = one.arrays["m"]
        else:
            # In units of its own: what is known of it stays, only its status is news.
            said[-6 + RHO] = rho

    def _give_up(self, heard: set[NodeId]) -> None:
        """Take out nodes that have been silent for too long: m, rho and samples."""
        for name in [n for n in self._said.names if n not in heard]:
            self._silent[name] += 1
            if self.settings.ttl and self._silent[name] > self.settings.ttl:
                self._take_out(name)

    def _take_out(self, name: NodeId) -> None:
        del self._silent[name]
        self._said.drop(name)
        self._survey.drop(name)
        self._fresh.add(name)

    def _answer(self) -> None:
        counts = self._column(COUNT)
        own = self.moments.marginal()
        moments = self._survey.merged(counts, own)
        if moments[0] == 0.0:
            return
        self._total = moments[0]
        self._root = sum(sqrt(n) for n in counts.values()) + sqrt(own[0])
        self._shrink()
        self._change_frame(self.new_frame(*moments))
        self._fresh.clear()
        self._waited, self._told = 0, False
        self._sequence += 1
        self._own_rows = self.moments.rows
        self._own_step()
        if self._sequence % _ASK_EVERY == 0 and not self.certificate.asked:
            self._ask()

    def _ask(self) -> None:
        own = np.zeros(2 * self.settings.size + 1)
        if self.moments.count:
            own = answer_of(self.half.system, self._alpha)
        self.certificate.ask(self._sequence, self._alpha, own)

    def _change_frame(self, new: Frame | None) -> None:
        if new is None:
            return
        old, self.frame = self.frame, new
        self.half.system.forget()
        self.certificate.drop()
        if old is None:
            return
        for said in self._said.rows:
            said[:-6] = carry_pull(said[:-6], float(said[-6 + RHO]), self._alpha, old, new)
        self.half.carry(old, new, self._alpha)
        self._alpha = old.carry(self._alpha, new)

    def _shrink(self) -> None:
        rho = self.half.rho
        for one in self._column(RHO).values():
            rho += one
        if rho > 0.0 and self.frame is not None:
            l1, l2 = self.settings.penalty(self.frame)
            before, self._alpha = self._alpha, self._alpha.copy()
            self._price = float((l1 * abs(before) + 0.5 * l2 * before * before).sum())
            pulls = self._said.rows[:, :-6]
            self._moved = rho * sum_up(self.half.m, pulls, l1, rho + l2, self._alpha)

    def _own_step(self) -> None:
        if self.moments.count and self.frame is not None:
            relax = self.settings.relax
            self.half.step(self.moments, self.frame, self._alpha, self._total, self._root, relax)

    def leave(self) -> None:
        """Give up the server's own multipliers."""
        self.half = Half(self.settings)

    def measures(self) -> dict[str, float]:
        """Give the network's residuals, its objective by the alpha before the last, and its gap.

        The gap is that of the last alpha for which all nodes gave an answer (`Certificate`).
        """
        primal = sum(self._column(RESIDUAL).values()) + self.half.residual**2
        loss = sum(self._column(LOSS).values()) + self.half.loss
        told = {"primal": sqrt(primal), "dual": self._moved, "objective": loss + self._price}
        return told | self.certificate.measures()

    def export(self) -> State:
        """Give the state."""
        return {
            **saved_frame(self.frame),
            "peak": self.peak.copy(),
            **self.half.export(),
            **self._survey.export(),
            **self.certificate.export(),
            "neighbours": list(self._neighbours),
            "fresh": sorted(self._fresh),
            "names": list(self._said.names),
            "silent": [self._silent[name] for name in self._said.names],
            "said": self._said.rows.copy(),
            "alpha": self._alpha.copy(),
            "turns": np.array([
                self._total, self._root, self._own_rows, self._waited, self._sequence,
                self._told, self._moved, self._price,
            ], dtype=np.float64),
        }  # fmt: skip

    def restore(self, state: State) -> None:
        """Take it back; raises ModelError."""
        size = self.settings.size
        self.frame = restored_frame(state, size)
        self.peak = saved_array(state, "peak", (size,))
        self.half.restore(state)
        self._survey.restore(state)
        self.certificate.restore(state)
        self._neighbours = saved_names(state, "neighbours")
        self._fresh = set(saved_names(state, "fresh"))
        names = saved_names(state, "names")
        said = saved_array(state, "said", (len(names), size + 6))
        silent = saved_array(state, "silent", (len(names),)).astype(np.int64).tolist()
        self._said.fill(names, said)
        self._silent = dict(zip(names, silent, strict=True))
        self._alpha = saved_array(state, "alpha", (size,))
        turns = saved_array(state, "turns", (8,)).tolist()
        self._total, self._root = turns[:2]
        self._own_rows, self._waited, self._sequence = map(int, turns[2:5])
        self._told, self._moved, self._price = bool(turns[5]), turns[6], turns[7]
