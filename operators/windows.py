"""Windows over raw samples, between the source and the nodes: a stateful step a partition."""

from collections.abc import Iterable
from typing import Any

import bytewax.operators as op
from bytewax.dataflow import Stream, operator
from bytewax.operators import StatefulBatchLogic
from typing_extensions import override

from anabranch.signal import Windower, WindowPlan
from anabranch.stream import Block, End
from operators.routing import balanced_keys

__all__ = ["windows"]

Item = Block | End


@operator
def windows(
    step_id: str, up: Stream[Item], plan: WindowPlan, partitions: tuple[str, ...]
) -> Stream[Item]:
    """Turn each tick's raw samples into the windows that they complete, possibly none.

    Sensors without any window are told of at the end of their partition, by a block of tick -1
    with a dead letter for each.

    A snapshot holds what of a partition is in no whole window yet, so that a resumed job makes the
    windows of an uninterrupted one, bit for bit.

    Parameters
    ----------
    plan : how windows are cut and described
    partitions : all partitions, in the order of the source, to whose end further ones may be added
    """
    keys = balanced_keys(partitions)

    def keyed(items: list[Item]) -> list[tuple[str, Item]]:
        return [(keys[item.partition], item) for item in items]

    each = op.flat_map_batch("key", up, keyed)
    made = op.stateful_batch("cut", each, lambda state: _Windows(plan, state))
    return op.key_rm("unkey", made)


class _Windows(StatefulBatchLogic[Item, Item, dict[str | None, Any]]):
    """One partition's windows."""

    def __init__(self, plan: WindowPlan, state: dict[str | None, Any] | None) -> None:
        self._plan, self._state = plan, state
        self._windower: Windower | None = None

    @override
    def on_batch(self, values: list[Item]) -> tuple[Iterable[Item], bool]:
        return [made for item in values for made in self._made(item)], self.RETAIN

    def _made(self, item: Item) -> list[Item]:
        if self._windower is None:
            self._windower = Windower(self._plan, item.partition, self._state)
        if isinstance(item, Block):
            return [self._windower.take(item)]
        last = self._windower.end()
        return [item] if last is None else [last, item]

    @override
    def snapshot(self) -> dict[str | None, Any]:
        return (self._state or {}) if self._windower is None else self._windower.export()
