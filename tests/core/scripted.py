"""A learner that does as it is told and remembers what was asked of it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from anabranch.protocol import Array, Message, NodeId, freeze


class Scripted:
    """w moves by the sum of y x; messages carry w unless `says` gives others.

    `log` collects (what, round) over all learners that share it.
    """

    kind = "scripted"
    task = "ordinal"

    def __init__(
        self,
        name: str = "",
        log: list[tuple[Any, ...]] | None = None,
        acts: Callable[[int], bool] = lambda t: True,
        says: Callable[[int, Array], Sequence[Message]] | None = None,
    ) -> None:
        self.name, self.w = name, np.zeros(2)
        self.log = [] if log is None else log
        self._acts, self._says = acts, says
        self.inboxes: list[dict[NodeId, float]] = []

    def predict(self, X: Array) -> Array:
        return X @ self.w

    def predict_then_learn(self, X: Array, y: Array) -> Array:
        self.log.append(("learn", self.name))
        predicted = self.predict(X)
        self.learn(X, y)
        return predicted

    def learn(self, X: Array, y: Array) -> None:
        for x, label in zip(X, y, strict=True):
            self.w = self.w + label * x

    def acts(self, round: int) -> bool:
        return self._acts(round)

    def messages(self, round: int) -> Sequence[Message]:
        self.log.append(("send", self.name))
        if self._says is not None:
            return self._says(round, self.w)
        return [Message({"w": freeze(self.w.copy())})]

    def check_message(self, message: Message) -> None:
        """Take anything."""

    def combine(
        self, round: int, inbox: Mapping[NodeId, Message], weights: Mapping[NodeId, float]
    ) -> None:
        self.log.append(("combine", self.name))
        assert list(inbox) == sorted(inbox)
        self.inboxes.append({name: float(inbox[name].arrays["w"][0]) for name in inbox})
        own = 1.0 - sum(weights[name] for name in inbox)
        w = own * self.w
        for name in sorted(inbox):
            w = w + weights[name] * inbox[name].arrays["w"]
        self.w = w

    def parameters(self) -> Array:
        return self.w

    def export(self) -> dict[str, Any]:
        return {"schema": 1, "kind": self.kind, "w": self.w.copy()}

    model = export

    @classmethod
    def restore(cls, state: dict[str, Any]) -> "Scripted":
        new = cls()
        new.w = state["w"].copy()
        return new
