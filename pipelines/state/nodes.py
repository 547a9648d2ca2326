"""What the snapshots say of each node: round, samples, sizes; and the models in them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from anabranch import save
from anabranch.errors import ConfigurationError, ModelError
from anabranch.learners import LEARNERS
from anabranch.protocol import Learner
from operators.node_plan import COOPERATIVE, POOLED
from pipelines.models import model_name
from pipelines.state.snapshots import Row, Snapshots
from pipelines.state.unpickle import DamagedStateError, StrangeStateError, read_snapshot

__all__ = ["NodeState", "export_models", "node_states"]

_STEP = "anabranch.nodes.node"


@dataclass(frozen=True)
class NodeState:
    """A node as its last snapshot has it.

    Attributes
    ----------
    node : its name
    kind : of its learner
    round : that comes next
    samples : learned
    epoch, made, size : of the snapshot
    trouble : why it was not read; then kind, round and samples are unknown
    damaged : whether that is a fault
    learner : the learner's state
    """

    node: str
    kind: str
    round: int
    samples: int
    epoch: int
    made: datetime
    size: int
    trouble: str = ""
    damaged: bool = False
    learner: dict[str, Any] | None = None


def node_states(snapshots: Snapshots) -> list[NodeState]:
    """Give every node's state, sorted by name."""
    rows = [row for row in snapshots.current() if row.step == _STEP]
    return sorted((_state(snapshots, row) for row in rows), key=lambda state: state.node)


def _state(snapshots: Snapshots, row: Row) -> NodeState:
    node, size = row.key.rpartition("~")[0], row.size or 0
    unknown = NodeState(node, "?", 0, 0, row.epoch, row.made, size)
    try:
        state = read_snapshot(snapshots.read(row))
        inner = state["inner"]
        if inner is None:
            return replace(unknown, trouble="it has not begun yet")
        core, place = inner["core"], inner["place"]
        kind, samples = str(core["learner"]["kind"]), int(core["counts"][0])
    except StrangeStateError as error:
        return replace(unknown, trouble=str(error))
    except (DamagedStateError, KeyError, TypeError, IndexError) as error:
        return replace(unknown, trouble=f"{error}", damaged=True)
    return replace(
        unknown, kind=kind, round=int(place[0]), samples=samples, learner=core["learner"]
    )


def export_models(
    states: list[NodeState], folder: Path, metadata: dict[str, Any]
) -> Iterator[tuple[str, str]]:
    """Write each node's model to a file of its own, as the job itself would.

    Yields
    ------
    node and file; or node and, in brackets, why there is none

    Raises
    ------
    ConfigurationError
        The folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"{folder} cannot be written: {error.strerror}") from None
    for state in states:
        try:
            learner = _learner(state)
        except ModelError as error:
            yield state.node, f"({error})"
            continue
        path = folder / model_name(state.node)
        label = state.node if state.node == POOLED else COOPERATIVE
        save(learner, path, {**metadata, "node": state.node, "learner": label})
        yield state.node, str(path)


def _learner(state: NodeState) -> Learner:
    if state.learner is None:
        raise ModelError(state.trouble)
    if state.kind not in LEARNERS:
        raise ModelError(f"a {state.kind} leaves no model")
    kind = LEARNERS[state.kind]
    return kind.restore(kind.restore(state.learner).model())
