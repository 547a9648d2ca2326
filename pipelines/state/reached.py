"""How far a job's snapshots have come: the first round that nothing in them has reached."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from anabranch.errors import ConfigurationError, ModelError
from operators.boundary import first_free_round
from operators.schema import upgraded
from pipelines.state.snapshots import Row, Snapshots
from pipelines.state.unpickle import DamagedStateError, StrangeStateError, read_snapshot

__all__ = ["Reached", "reached"]

_STEP = "anabranch.nodes.node"


@dataclass(frozen=True)
class Reached:
    """Where a resumed job stands.

    Attributes
    ----------
    round : the first that no node has begun and no placed share belongs to; 0 before any
    ended : partitions that are known to have ended
    done : whether a node that has not left the network has performed its last round
    """

    round: int = 0
    ended: frozenset[str] = frozenset()
    done: bool = False


def reached(snapshots: Snapshots, rounds_per_tick: int, present: Collection[str]) -> Reached:
    """Tell how far the snapshots have come that a job would go on from.

    Parameters
    ----------
    rounds_per_tick : rounds for each tick; the round given begins a tick
    present : the nodes that have not left

    Raises
    ------
    ConfigurationError
        A node's snapshot is damaged, or a newer version wrote it.
    """
    nodes = dict(_nodes(snapshots))
    ended = {part for node in nodes.values() for part in node["ends"]}
    done = any(_is_done(node) for name, node in nodes.items() if name in present)
    return Reached(first_free_round(nodes.values(), rounds_per_tick), frozenset(ended), done)


def _is_done(node: dict[str, Any]) -> bool:
    _, *middle, last = node["place"]
    return bool(last if "shares" in node else middle[0])  # synchronous, or asynchronous


def _nodes(snapshots: Snapshots) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give the names and snapshots of the nodes that have begun.

    Baselines of other libraries are not looked into: they get the same shares as the nodes.
    """
    for row in snapshots.current():
        if row.step == _STEP:
            inner = _inner(snapshots, row)
            if inner is not None:
                yield row.key.rpartition("~")[0], inner


def _inner(snapshots: Snapshots, row: Row) -> dict[str, Any] | None:
    try:
        inner = read_snapshot(snapshots.read(row))["inner"]
        return None if inner is None else upgraded(inner)
    except StrangeStateError:
        return None
    except (DamagedStateError, ModelError, KeyError, TypeError) as error:
        node = row.key.rpartition("~")[0]
        raise ConfigurationError(f"the snapshot of node {node!r} cannot be read: {error}") from None
