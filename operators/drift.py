"""The network's verdict on drift: one stateful step over what befalls the nodes."""

import logging
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import bytewax.operators as op
from bytewax.dataflow import Stream, operator
from bytewax.operators import StatefulBatchLogic
from typing_extensions import override

from anabranch.drift import Change, Drift, DriftRule, Verdict
from operators.hub import Hub
from operators.node_plan import NodePlan

__all__ = ["drifts"]

log = logging.getLogger("anabranch.drift")

_KEY = "drift"
_SHOWN = 5
"""Names that a log line has at most."""


@operator
def drifts(
    step_id: str, up: Stream[Change], rule: DriftRule, plan: NodePlan, hub: Hub
) -> Stream[dict[str, Any]]:
    """Give how far drifts reach, as rows of plain values; see `anabranch.drift.Verdict`.

    It is about the nodes of this site. Rows follow the order in which nodes are heard, which
    several workers do not keep; what nodes do against drift does not depend on them.
    """
    keyed = op.key_on("key", up, lambda _: _KEY)
    told = op.stateful_batch("verdict", keyed, lambda state: _Judge(rule, plan, hub, state))
    return op.key_rm("unkey", told)


class _Judge(StatefulBatchLogic[Change, dict[str, Any], list[Any]]):
    """The verdict, and where it is told."""

    def __init__(self, rule: DriftRule, plan: NodePlan, hub: Hub, state: list[Any] | None) -> None:
        self._rule, self._plan, self._hub = rule, plan, hub
        self._verdict = Verdict(plan.neighbours, self._count, rule.most)
        if state is not None:
            self._verdict.restore(state)

    def _count(self, round: int) -> int:
        plan = self._plan
        if plan.eras is None or plan.mode == "asynchronous":
            return len(plan.placement.nodes)
        return len(plan.eras.at(round).graph.nodes)

    @override
    def on_batch(self, values: list[Change]) -> tuple[Iterable[dict[str, Any]], bool]:
        found = [drift for change in values for drift in self._verdict.take(change)]
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
    def snapshot(self) -> list[Any]:
        return self._verdict.export()


def _tell(drift: Drift) -> None:
    more = len(drift.nodes) - _SHOWN
    names = ", ".join(drift.nodes[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
    where = {"round": drift.round}
    if drift.kind == "end":
        log.info("drift of the %s is over: %s", drift.scope, names, extra=where)
    else:
        log.warning(
            "drift of the %s since round %d: %s; mean error %.3g, was %.3g",
            drift.scope, drift.since, names, drift.after, drift.before, extra=where,
        )  # fmt: skip
