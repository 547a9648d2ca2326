"""The coordinator: when every node has done its last round, every process halts."""

from collections.abc import Iterable
from typing import Any

from bytewax.operators import StatefulBatchLogic
from typing_extensions import override

from operators.items import Done
from operators.process_sink import HALT

__all__ = ["COORDINATOR", "Coordinator"]

COORDINATOR = "coordinator"


class Coordinator(StatefulBatchLogic[Done, None, frozenset[str]]):
    """Collect `Done` from all nodes, then emit one halt (and again for any later `Done`)."""

    def __init__(self, nodes: int, done: Any | None) -> None:
        self._nodes = nodes
        self._done: set[str] = set(done or ())

    @override
    def on_batch(self, values: list[Done]) -> tuple[Iterable[None], bool]:
        self._done.update(done.node for done in values)
        return ([HALT] if len(self._done) >= self._nodes else []), self.RETAIN

    @override
    def snapshot(self) -> frozenset[str]:
        return frozenset(self._done)
