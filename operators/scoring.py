"""Scores of nodes become rows of a report: per node, for the network, for companions."""

from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import UTC, datetime
from typing import Any

from bytewax.operators import StatefulBatchLogic
from typing_extensions import override

from anabranch.evaluation import add_totals, disagreement, per_label, scores
from anabranch.network import Eras
from anabranch.protocol import Array, NodeId, Task
from operators.departed import EVER, Departed
from operators.items import Report
from operators.measures import summed_up
from operators.node_plan import COOPERATIVE, LOCAL

__all__ = ["SCORES", "Scoring"]

SCORES = "scores"
FEW_NODES = 50
"""Up to so many nodes, every report has a row a node; beyond, only the final one."""

Row = dict[str, Any]
Pending = dict[tuple[Any, ...], dict[NodeId, Report]]
_KEY = ("learner", "round", "final", "drained")
"""What reports of a row have in common; the round is -1 where they need not share one."""


class Scoring(StatefulBatchLogic[Report, Row, Pending]):
    """Emit the rows of a round when all nodes have reported it.

    Synchronous nodes report the same rounds; asynchronous ones do not, so there the rows
    are made of each node's newest report whenever all have spoken since the last rows.

    Parameters
    ----------
    task : decides the metrics
    nodes : number of nodes that cooperate
    asynchronous : whether reports of different rounds are put together
    labels : names of the labels known from the beginning, where samples have sets of them
    eras : the networks in time, where the network changes; `nodes` is then of the newest

    Notes
    -----
    A node that leaves has a row of its own at once, its last. What it did stays in the network's
    sums: samples, messages, bytes, scores of the whole stream. Windows, held rows and disagreement
    are those of the nodes that are there. When the job is told to stop, all nodes that ever are
    must be accounted for: those that left, and those yet to come, too.
    """

    def __init__(
        self,
        task: Task,
        nodes: int,
        asynchronous: bool,
        state: Pending | None,
        labels: Sequence[str] = (),
        eras: Eras | None = None,
    ) -> None:
        self._task = task
        self._labels = labels
        self._nodes = nodes
        self._asynchronous = asynchronous
        self._eras = eras
        self._departed = Departed(eras, asynchronous, state or {})
        self._pending: Pending = {}
        for key, reports in (state or {}).items():
            if len(key) == len(_KEY):  # the others are those of nodes that left
                self._pending[key] = {n: r for n, r in reports.items() if not self._is_gone(r)}

    def _is_gone(self, report: Report) -> bool:
        """Tell whether a report that waits counts as one of a node that has left."""
        departed = self._departed.has_left(report)
        return departed or (report.drained and report.final and not report.present)

    @override
    def on_batch(self, values: list[Report]) -> tuple[Iterable[Row], bool]:
        rows: list[Row] = []
        for report in values:
            if self._departed.has_left(report):
                self._departed.keep([report])
                if not report.drained:
                    rows.append(self._node_row(report) | {"left": True})
                rows.extend(self._that_waited(report.learner))
                continue
            key = self._key(report)
            self._pending.setdefault(key, {})[report.node] = report
            rows.extend(self._complete(key))
        return rows, self.RETAIN

    def _that_waited(self, learner: str) -> list[Row]:
        """Give the rows that lacked nothing but the last report of a node that left."""
        if self._asynchronous:
            return []
        keys = sorted((key for key in self._pending if key[0] == learner), key=lambda k: k[:0:-1])
        return [row for key in keys for row in self._complete(key)]

    def _complete(self, key: tuple[Any, ...]) -> list[Row]:
        reports, (learner, round, final, drained) = self._pending[key], key
        until = EVER if drained or self._asynchronous else round if final else round - 1
        gone = self._departed.until(learner, until)
        one = next(iter(reports.values()), None)
        if one is None or not self._are_all(one, reports.keys(), gone.keys()):
            return []
        if not (drained or _is_lone(one) or self._departed.are_known(learner, until)):
            return []
        del self._pending[key]
        here = [reports[node] for node in sorted(reports.keys() - gone) if reports[node].present]
        self._departed.note(here)
        return self._rows(here, list(gone.values())) if here else []

    def _key(self, report: Report) -> tuple[Any, ...]:
        together = self._asynchronous or report.drained
        return report.learner, -1 if together else report.round, report.final, report.drained

    def _are_all(self, one: Report, told: Set[NodeId], gone: Set[NodeId]) -> bool:
        """Tell whether nothing of a kind is missing, by one of those that are there."""
        if one.drained and self._eras is not None and not (self._asynchronous or _is_lone(one)):
            return len(told | gone) == len(self._eras.nodes)
        return len(told) == self._wanted(one)

    def _wanted(self, report: Report) -> int:
        """Count the nodes that give a report of this kind."""
        if _is_lone(report):
            return 1
        if self._eras is None or self._asynchronous:
            return self._nodes
        nodes = set(self._eras.at(report.round).graph.nodes)
        if report.final:  # who leaves after the last round has left
            nodes &= set(self._eras.at(report.round + 1).graph.nodes)
        return len(nodes)

    def _rows(self, reports: list[Report], gone: list[Report]) -> list[Row]:
        network = self._network_row(reports, gone)
        if _is_lone(reports[0]):
            return [network]
        if len(reports) > FEW_NODES and not (reports[0].final or reports[0].drained):
            return [network]
        return [network, *(self._node_row(report) for report in reports)]

    def _network_row(self, reports: list[Report], gone: list[Report]) -> Row:
        ever = sorted([*reports, *gone], key=lambda report: report.node)
        totals = add_totals([r.totals for r in ever])
        held = [r.held for r in reports if r.held is not None]
        row = self._row(
            reports[0],
            totals,
            add_totals([r.window for r in reports]),
            add_totals(held) if held else None,
        )
        row["round"] = max(r.round for r in reports)
        row["samples"] = sum(r.samples for r in ever)
        row["messages"] = sum(r.messages for r in ever)
        row["bytes"] = sum(r.bytes for r in ever)
        row["disagreement"] = _spread(reports)
        row["measures"] = summed_up(r.measures for r in reports)
        confusion = totals if not held else add_totals(held)
        row["confusion"] = confusion["counts"].tolist() if "counts" in confusion else None
        if self._task == "multilabel" and (row["final"] or row["drained"]):
            each = per_label(confusion, self._labels)
            row["labels"] = {name: score._asdict() for name, score in each.items()}
        return row

    def _node_row(self, report: Report) -> Row:
        row = self._row(report, report.totals, report.window, report.held)
        return row | {"node": report.node, "measures": report.measures}

    def _row(
        self,
        report: Report,
        totals: Mapping[str, Array],
        window: Mapping[str, Array],
        held: Mapping[str, Array] | None,
    ) -> Row:
        return {
            "round": report.round,
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "learner": report.learner,
            "node": None,
            "samples": report.samples,
            "scores": scores(self._task, totals),
            "window": scores(self._task, window),
            "held": None if held is None else scores(self._task, held),
            "disagreement": None,
            "measures": None,
            "messages": report.messages,
            "bytes": report.bytes,
            "confusion": None,
            "final": report.final,
            "drained": report.drained,
        }

    @override
    def snapshot(self) -> Pending:
        pending = {key: dict(reports) for key, reports in self._pending.items()}
        return pending | self._departed.export()


def _is_lone(report: Report) -> bool:
    """Tell whether a report is the only one of its learner."""
    return report.learner not in (COOPERATIVE, LOCAL)


def _spread(reports: list[Report]) -> dict[str, float] | None:
    """Give the disagreement, but where nodes do not know the same labels yet."""
    vectors = [r.parameters for r in reports if r.parameters is not None]
    if not vectors or len({r.labels for r in reports}) > 1:
        return None
    spread = disagreement(vectors)
    return {"max": spread.max, "mean": spread.mean}
