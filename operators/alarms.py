"""Alarms from predictions: a stateful step a node."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import bytewax.operators as op
from bytewax.dataflow import Stream, operator
from bytewax.operators import StatefulBatchLogic
from typing_extensions import override

from anabranch.alarms import AlarmRule, AlarmWatch
from anabranch.stream import Predictions
from operators.hub import Hub

__all__ = ["alarms"]


@operator
def alarms(
    step_id: str, up: Stream[Predictions], rule: AlarmRule, hub: Hub
) -> Stream[dict[str, Any]]:
    """Give the alarms of every node, as rows of plain values; see `anabranch.alarms`.

    What a node has been seen to predict is part of the snapshots. Those raised are counted at the
    hub.
    """

    def keyed(items: list[Predictions]) -> list[tuple[str, Predictions]]:
        return [(item.node, item) for item in items]

    each = op.flat_map_batch("key", up, keyed)
    told = op.stateful_batch("watch", each, lambda state: _Watched(rule, state))

    def counted(items: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
        alarms = [alarm for _, alarm in items]
        hub.raise_alarms(sum(alarm["kind"] == "raised" for alarm in alarms))
        return alarms

    return op.flat_map_batch("unkey", told, counted)


class _Watched(StatefulBatchLogic[Predictions, dict[str, Any], dict[str, Any] | None]):
    """One node's watch."""

    def __init__(self, rule: AlarmRule, state: dict[str, Any] | None) -> None:
        self._rule = rule
        self._watch = AlarmWatch.restore(rule, state) if state else None

    @override
    def on_batch(self, values: list[Predictions]) -> tuple[Iterable[dict[str, Any]], bool]:
        if self._watch is None:
            self._watch = AlarmWatch(self._rule, values[0].node)
        watch = self._watch
        return [asdict(alarm) for item in values for alarm in watch.take(item)], self.RETAIN

    @override
    def snapshot(self) -> dict[str, Any] | None:
        return None if self._watch is None else self._watch.export()
