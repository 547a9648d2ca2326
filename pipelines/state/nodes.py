"""What the snapshots say of each node: round, samples, sizes; and the models in them."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from anabranch import save
from anabranch.errors import AnabranchError, ConfigurationError, ModelError
from anabranch.learners import LEARNERS
from anabranch.protocol import Learner
from operators.node_plan import COOPERATIVE, POOLED
from operators.schema import SCHEMA, upgraded
from pipelines.config.wording import show
from pipelines.models import model_name
from pipelines.state.snapshots import Row, Snapshots
from pipelines.state.unpickle import DamagedStateError, StrangeStateError, read_snapshot

__all__ = ["Exported", "NodeState", "check_schema", "export_models", "node_states"]

_STEP = "anabranch.nodes.node"
_NOT_BEGUN = "it has not begun yet"


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
    trouble : why it was not read; then kind, round and samples are unknown. Or why a job could
        not go on from it
    damaged : whether that is a fault
    learner : the learner's state
    done : whether it has performed its last round: it left, or the job is complete
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
    learner: dict[str, Any] | None = field(default=None, repr=False)
    done: bool = False


@dataclass(frozen=True)
class Exported:
    """What became of a node's model.

    Attributes
    ----------
    node : its name
    path : of the file; "" where there is none
    trouble : why there is none
    wrong : whether there should be one, and nothing else tells that
    """

    node: str
    path: str = ""
    trouble: str = ""
    wrong: bool = False


def node_states(snapshots: Snapshots) -> list[NodeState]:
    """Give every node's state, sorted by name."""
    rows = [row for row in snapshots.current() if row.step == _STEP]
    return sorted((_state(snapshots, row) for row in rows), key=lambda state: state.node)


def check_schema(snapshots: Snapshots) -> None:
    """Refuse snapshots that a newer version wrote; of those that cannot be read a job tells itself.

    Raises
    ------
    ConfigurationError
        Says which schema they have, and which are read.
    """
    rows = [row for row in snapshots.current() if row.step == _STEP]
    for row in sorted(rows, key=lambda row: -row.epoch):
        try:
            schema = (read_snapshot(snapshots.read(row))["inner"] or {}).get("schema")
        except (StrangeStateError, DamagedStateError, KeyError, TypeError, AttributeError):
            continue
        if schema is not None:
            break
    else:
        return
    if schema > SCHEMA:
        raise ConfigurationError(
            f"recovery.dir is {show(str(snapshots.folder))}, whose snapshots have schema {schema}, "
            f"which a newer version wrote; this one reads up to {SCHEMA}"
        )


def _state(snapshots: Snapshots, row: Row) -> NodeState:
    node, size = row.key.rpartition("~")[0], row.size or 0
    unknown = NodeState(node, "?", 0, 0, row.epoch, row.made, size)
    try:
        state = read_snapshot(snapshots.read(row))
        inner = state["inner"]
        if inner is None:
            return replace(unknown, trouble=_NOT_BEGUN)
        inner = upgraded(inner)
        core, place = inner["core"], inner["place"]
        kind, samples = str(core["learner"]["kind"]), int(core["counts"][0])
        trouble = _unfit(core["learner"]) or _unfit(core.get("local"), "local companion")
    except StrangeStateError as error:
        return replace(unknown, trouble=str(error))
    except (DamagedStateError, ModelError, KeyError, TypeError, IndexError) as error:
        return replace(unknown, trouble=f"{error}", damaged=True)
    return replace(
        unknown, kind=kind, round=int(place[0]), samples=samples, trouble=trouble,
        damaged=bool(trouble), learner=core["learner"], done=_done(inner),
    )  # fmt: skip


def _done(inner: dict[str, Any]) -> bool:
    """Tell whether a node has performed its last round; nodes of either time say it elsewhere."""
    synchronous = "inbox" in inner
    return bool(inner["place"][2 if synchronous else 1])


def _unfit(state: dict[str, Any] | None, whose: str = "learner") -> str:
    """Say why a learner of a known kind cannot be restored; "" where it can."""
    try:
        if state is not None and state["kind"] in LEARNERS:
            LEARNERS[state["kind"]].restore(state)
    except AnabranchError as error:
        return f"its {whose} cannot be restored: {error}"
    return ""


def export_models(
    states: list[NodeState], folder: Path, metadata: dict[str, Any]
) -> Iterator[Exported]:
    """Write each node's model to a file of its own, as the job itself would.

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
        if state.trouble:
            wrong = state.trouble == _NOT_BEGUN
            yield Exported(state.node, trouble=state.trouble, wrong=wrong)
        elif state.kind not in LEARNERS:
            yield Exported(state.node, trouble=f"a {state.kind} leaves no model")
        else:
            yield _export(state, folder / model_name(state.node), metadata)


def _export(state: NodeState, path: Path, metadata: dict[str, Any]) -> Exported:
    label = state.node if state.node == POOLED else COOPERATIVE
    try:
        save(_learner(state), path, {**metadata, "node": state.node, "learner": label})
    except (ModelError, OSError) as error:
        return Exported(state.node, trouble=str(error), wrong=True)
    return Exported(state.node, path=str(path))


def _learner(state: NodeState) -> Learner:
    kind = LEARNERS[state.kind]
    return kind.restore(kind.restore(state.learner or {}).model())
