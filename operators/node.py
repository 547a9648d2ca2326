"""The node operator: samples and parcels in; parcels, scores, predictions, models out."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

import bytewax.operators as op
from bytewax.dataflow import Stream, operator
from bytewax.operators import KeyedStream, StatefulBatchLogic
from typing_extensions import override

from anabranch.drift import Change
from anabranch.protocol import NodeId
from anabranch.stream import DeadLetter, End, Predictions, Share
from operators.asynchronous import AsynchronousNode
from operators.hub import Hub
from operators.items import Ack, Done, Final, Hello, Outgoing, Parcel, Report, Told
from operators.node_core import Event
from operators.node_plan import COOPERATIVE, NodePlan
from operators.schema import upgraded
from operators.synchronous import SynchronousNode

__all__ = ["NodesOut", "nodes"]

log = logging.getLogger("anabranch.recovery")

T = TypeVar("T")


@dataclass(frozen=True)
class NodesOut:
    """Streams returned from `nodes`, by what they carry."""

    outgoing: Stream[Outgoing]
    acks: Stream[Ack]
    done: Stream[Done]
    reports: Stream[Report]
    finals: Stream[Final]
    predictions: Stream[Predictions]
    dead: Stream[DeadLetter]
    drift: Stream[Change | Told] | None = None


class _Named(StatefulBatchLogic[Any, Event, Any]):
    """Bytewax does not tell a logic its key: a hello, a share or an end says which node it is.

    Parcels that arrive before it wait.
    """

    def __init__(self, kind: type[Any], plan: NodePlan, hub: Hub, state: Any | None) -> None:
        self._kind = kind
        self._plan = plan
        self._hub = hub
        self._early: list[Any] = list(state["early"]) if state else []
        self._inner: Any = None
        self._parted = False
        if state and state["node"]:
            self._begin(state["node"], upgraded(state["inner"]))
            self._tell_resumed()

    def _tell_resumed(self) -> None:
        name, round = self._inner.core.node, self._inner.round
        # Nodes are a few rounds apart at most: one of a thousand is enough.
        first = name in self._hub.nodes and len(self._hub.nodes) == 1
        level = logging.INFO if first else logging.DEBUG
        text = "resumed from a snapshot taken in round %d"
        log.log(level, text, round, extra={"node": name, "round": round})

    def _begin(self, name: NodeId, state: dict[str, Any] | None) -> None:
        self._inner = self._kind(self._plan, name, state)
        if name not in self._plan.lone:
            self._hub.watch(name, self._inner)
            if self._inner.left:
                self._hub.unwatch(name)

    @override
    def on_batch(self, values: list[Any]) -> tuple[Iterable[Event], bool]:
        values = _opened(values)
        if self._inner is None:
            name = next((v.node for v in values if not isinstance(v, Parcel)), None)
            values = self._early + values
            if name is None:
                self._early = values
                return [], self.RETAIN
            self._early = []
            self._begin(name, None)
        core = self._inner.core
        before = core.rows
        result = self._inner.on_batch([v for v in values if type(v) is not Hello])
        self._hub.rows += core.rows - before if core.node not in self._plan.lone else 0
        if self._inner.left:
            self._hub.unwatch(core.node)
        return result  # type: ignore[no-any-return]

    @override
    def notify_at(self) -> datetime | None:
        return None if self._inner is None else self._inner.notify_at()

    @override
    def on_notify(self) -> tuple[Iterable[Event], bool]:
        result = self._inner.on_notify()
        if self._inner.left:
            self._hub.unwatch(self._inner.core.node)
        return result  # type: ignore[no-any-return]

    @override
    def on_eof(self) -> tuple[Iterable[Event], bool]:
        """Give the last words of a node whose job was told to stop, once."""
        node = self._inner
        if node is None or node.done or self._parted:
            return [], self.RETAIN
        self._parted = True
        return node.parting(), self.RETAIN

    @override
    def snapshot(self) -> dict[str, Any]:
        if self._inner is None:
            return {"node": None, "inner": None, "early": list(self._early)}
        return {"node": self._inner.core.node, "inner": self._inner.snapshot(), "early": []}


@operator
def nodes(
    step_id: str, up: KeyedStream[Share | End | list[Parcel | Hello]], plan: NodePlan, hub: Hub
) -> NodesOut:
    """Run one logical node a key.

    Parameters
    ----------
    plan : the settings all nodes share
    hub : counts the rows learned, for the status line

    Notes
    -----
    Exactly once: a node's state, the shares and parcels it waits for, and the position of
    the source belong to the same snapshot.
    """
    kind = AsynchronousNode if plan.mode == "asynchronous" else SynchronousNode
    events = op.stateful_batch("node", up, lambda state: _Named(kind, plan, hub, state))
    # Parcels are by far the most events: the rest is looked through on its own.
    rest = op.flat_map_batch("rest", events, _all_but_outgoing)
    return NodesOut(
        op.flat_map_batch("outgoing", events, _outgoing),
        _only("acks", rest, Ack),
        _only("done", rest, Done),
        op.flat_map_batch("reports", rest, _noting(hub)),
        _only("finals", rest, Final),
        _only("predictions", rest, Predictions),
        _only("dead", rest, DeadLetter),
        op.flat_map_batch("drift", rest, _of_drift) if plan.drift else None,
    )


def _opened(values: list[Any]) -> list[Any]:
    opened: list[Any] = []
    for value in values:
        if type(value) is list:
            opened.extend(value)
        else:
            opened.append(value)
    return opened


def _outgoing(items: list[tuple[str, Event]]) -> list[Outgoing]:
    return [event for _, event in items if type(event) is Outgoing]


def _all_but_outgoing(items: list[tuple[str, Event]]) -> list[Event]:
    return [event for _, event in items if type(event) is not Outgoing]


def _of_drift(items: list[Event]) -> list[Change | Told]:
    # In one stream: a mark stands for all that its node has told before it.
    return [event for event in items if type(event) is Change or type(event) is Told]


def _noting(hub: Hub) -> Callable[[list[Event]], list[Report]]:
    """Pick the reports out; the newest of each node is noted for whoever watches."""

    def select(items: list[Event]) -> list[Report]:
        reports = [event for event in items if type(event) is Report]
        for report in reports:
            if report.learner == COOPERATIVE and report.present:
                hub.reports[report.node] = replace(report, parameters=None)
                if report.measures is not None:
                    hub.measures[report.node] = report.measures
        return reports

    return select


def _only(step_id: str, up: Stream[Event], kind: type[T]) -> Stream[T]:
    def select(items: list[Event]) -> list[T]:
        return [event for event in items if type(event) is kind]

    return op.flat_map_batch(step_id, up, select)
