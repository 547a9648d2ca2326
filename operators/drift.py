"""The network's verdict on drift: one stateful step over what befalls the nodes."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import astuple
from datetime import UTC, datetime
from math import inf
from typing import Any

import bytewax.operators as op
from bytewax.dataflow import Stream, operator
from bytewax.operators import StatefulBatchLogic
from typing_extensions import override

from anabranch.drift import Change, Drift, DriftRule, Verdict
from anabranch.protocol import NodeId
from operators.hub import Hub
from operators.items import Told
from operators.node_plan import NodePlan

__all__ = ["Judge", "Waiting", "drifts"]

log = logging.getLogger("anabranch.drift")

_KEY = "drift"
_SHOWN = 5
"""Names that a log line has at most."""


@operator
def drifts(
    step_id: str, up: Stream[Change | Told], rule: DriftRule, plan: NodePlan, hub: Hub
) -> Stream[dict[str, Any]]:
    """Give how far drifts reach, as rows of plain values; see `anabranch.drift.Verdict`.

    It is about the nodes of this site. In synchronous time rows are those of
    `anabranch.simulate`: a round is judged when all its nodes have told all up to it, so a row
    comes some rounds late. In asynchronous time nodes are judged as they are heard.
    """
    keyed = op.key_on("key", up, lambda _: _KEY)
    told = op.stateful_batch("verdict", keyed, lambda state: Judge(rule, plan, hub, state))
    return op.key_rm("unkey", told)


class Waiting:
    """What befell nodes in rounds that others of them have not passed yet.

    Parameters
    ----------
    plan : tells which nodes there are in a round
    told : node -> the round up to which it has told all
    changes : what waits, as plain values
    """

    def __init__(
        self, plan: NodePlan, told: Mapping[NodeId, int], changes: Iterable[tuple[Any, ...]]
    ) -> None:
        self._stays = _stays(plan)
        self._told = dict(told)
        self._changes = [Change(*values) for values in changes]

    def take(self, values: Iterable[Change | Told]) -> list[Change]:
        """Take what nodes tell; give what all that precedes is known of, in order."""
        for value in values:
            if isinstance(value, Change):
                self._changes.append(value)
            else:
                self._told[value.node] = max(value.round, self._told.get(value.node, -1))
        if not self._changes:
            return []
        passed = self._passed()
        ready = [change for change in self._changes if change.round <= passed]
        self._changes = [change for change in self._changes if change.round > passed]
        # As the reference loop: who leaves does so when the round is over for all. What befell one
        # node in one round stays in its order.
        return sorted(ready, key=lambda change: (change.round, change.left, change.node))

    def _passed(self) -> float:
        """Give the round up to which all have told all that were there."""
        told = self._told
        open_ = (max(told.get(node, -1), first - 1) for node, (first, last) in self._stays.items()
                 if last is None or told.get(node, -1) < last)  # fmt: skip
        return min(open_, default=inf)

    def export(self) -> dict[str, Any]:
        """Give the state as plain values; nothing in it changes afterwards."""
        return {"told": dict(self._told), "changes": [astuple(c) for c in self._changes]}


def _stays(plan: NodePlan) -> dict[NodeId, tuple[int, int | None]]:
    """Give the first and the last round of each node, None where it stays."""
    eras = plan.eras
    if eras is None:
        return dict.fromkeys(plan.placement.nodes, (0, None))
    return {node: (eras.first_round(node), eras.last_round(node)) for node in eras.nodes}


class Judge(StatefulBatchLogic[Change | Told, dict[str, Any], dict[str, Any]]):
    """The verdict, what waits for it, and where it is told.

    An older version's snapshot is what the verdict exports, alone: nothing waited then.
    """

    def __init__(self, rule: DriftRule, plan: NodePlan, hub: Hub, state: Any | None) -> None:
        self._rule, self._plan, self._hub = rule, plan, hub
        self._verdict = Verdict(plan.neighbours, self._count, rule.most)
        if not isinstance(state, dict):
            state = {"verdict": state or []}
        self._verdict.restore(state["verdict"])
        told, changes = state.get("told", {}), state.get("changes", ())
        self._waiting = None if plan.mode == "asynchronous" else Waiting(plan, told, changes)

    def _count(self, round: int) -> int:
        plan = self._plan
        if plan.eras is None or plan.mode == "asynchronous":
            return len(plan.placement.nodes)
        return len(plan.eras.at(round).graph.nodes)

    @override
    def on_batch(self, values: list[Change | Told]) -> tuple[Iterable[dict[str, Any]], bool]:
        if self._waiting is None:
            changes = [value for value in values if isinstance(value, Change)]
        else:
            changes = self._waiting.take(values)
        found = [drift for change in changes for drift in self._verdict.take(change)]
        for drift in found:
            if drift.farther:
                self._hub.drift[drift.scope] += 1
            _tell(drift)
        return [self._row(drift) for drift in found], self.RETAIN

    def _row(self, drift: Drift) -> dict[str, Any]:
        return {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "round": drift.round,
            "since": drift.since,
            "scope": drift.scope,
            "nodes": list(drift.nodes),
            "kind": drift.kind,
            "detector": self._rule.detector,
            "policy": self._rule.policy,
            "before": drift.before,
            "after": drift.after,
        }

    @override
    def snapshot(self) -> dict[str, Any]:
        waiting = {} if self._waiting is None else self._waiting.export()
        return {"verdict": self._verdict.export(), **waiting}


def _tell(drift: Drift) -> None:
    more = len(drift.nodes) - _SHOWN
    names = ", ".join(drift.nodes[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
    where = {"round": drift.round}
    if drift.kind == "end":
        log.info(
            "drift of the %s is over: %s; mean error %.3g, was %.3g before",
            drift.scope, names, drift.after, drift.before, extra=where,
        )  # fmt: skip
    else:
        log.warning(
            "drift of the %s since round %d: %s; mean error %.3g, was %.3g",
            drift.scope, drift.since, names, drift.after, drift.before, extra=where,
        )  # fmt: skip
