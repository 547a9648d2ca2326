"""What a recovery directory holds, as one object for a person or a program."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pipelines.state.nodes import NodeState, node_states
from pipelines.state.snapshots import Epochs, Row, Snapshots

__all__ = ["Summary", "summarise"]


@dataclass(frozen=True)
class Summary:
    """A recovery directory at a glance.

    Attributes
    ----------
    epochs : from where a job would go on
    nodes : as their last snapshots have them
    steps : of every other step, its current snapshots
    size, live : bytes of the files, and of the snapshots that a job would go on from
    replaced : snapshots that later ones replace
    faults : what is wrong with the files, cannot be read, or not be gone on from
    complete : whether the run that left them is known to have come to its end
    """

    epochs: Epochs
    nodes: list[NodeState]
    steps: dict[str, list[Row]]
    size: int
    live: int
    replaced: int
    faults: list[str]
    complete: bool = False

    @property
    def multiple(self) -> float:
        """How many times the state the files take; 0 where there is none."""
        return self.size / self.live if self.live and self.nodes else 0.0

    @property
    def rounds(self) -> tuple[int, int]:
        """The lowest and the highest round that comes next at a node that has not done."""
        known = [node for node in self.nodes if not node.trouble]
        rounds = [node.round for node in known if not node.done] or [node.round for node in known]
        return min(rounds, default=0), max(rounds, default=0)

    def age(self, now: datetime | None = None) -> float:
        """Seconds since the last snapshot; 0 where there is none."""
        made = [node.made for node in self.nodes]
        made += [row.made for rows in self.steps.values() for row in rows]
        return ((now or datetime.now(UTC)) - max(made)).total_seconds() if made else 0.0

    def as_json(self) -> dict[str, Any]:
        """Give it as JSON values."""
        return {
            "complete": self.complete,
            "resume_epoch": self.epochs.resume,
            "starts": self.epochs.execution + 1,
            "workers": self.epochs.workers,
            "age_seconds": round(self.age(), 1),
            "bytes": self.size,
            "live_bytes": self.live,
            "multiple": round(self.multiple, 2) or None,
            "replaced_snapshots": self.replaced,
            "faults": self.faults,
            "nodes": [
                {
                    "node": node.node, "kind": node.kind, "round": node.round,
                    "samples": node.samples, "bytes": node.size, "epoch": node.epoch,
                    "made": node.made.isoformat(), "trouble": node.trouble or None,
                }
                for node in self.nodes
            ],
            "steps": {
                step: {"keys": len(rows), "bytes": sum(row.size or 0 for row in rows)}
                for step, rows in self.steps.items()
            },
        }  # fmt: skip


def summarise(snapshots: Snapshots, *, complete: bool = False) -> Summary:
    """Look a recovery directory through, as it is at one moment.

    Parameters
    ----------
    complete : whether its run is known to have come to its end

    Raises
    ------
    sqlite3.Error
        A file is too damaged to be read; `Snapshots.faults` says which.
    """
    with snapshots.held():
        return _summarised(snapshots, complete)


def _summarised(snapshots: Snapshots, complete: bool) -> Summary:
    nodes, current = node_states(snapshots), snapshots.current()
    steps: dict[str, list[Row]] = defaultdict(list)
    for row in current:
        if not row.step.startswith("anabranch.nodes."):
            steps[row.step.removeprefix("anabranch.")].append(row)
    keys = {(row.step, row.key, row.epoch) for row in current}
    resume = snapshots.epochs().resume
    older = [row for row in snapshots.rows() if row.epoch < resume]
    replaced = sum((row.step, row.key, row.epoch) not in keys and row.size is not None
                   for row in older)  # fmt: skip
    troubles = [f"node {node.node!r}: {node.trouble}" for node in nodes if node.damaged]
    live = sum(row.size or 0 for row in current)
    return Summary(
        snapshots.epochs(), nodes, dict(steps), snapshots.size, live, replaced,
        snapshots.faults() + troubles, complete,
    )  # fmt: skip
