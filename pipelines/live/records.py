"""What a process tells of its nodes and edges, every second."""

from pathlib import Path

import msgspec
from msgspec import Struct

__all__ = ["EdgeNow", "Letter", "NodeNow", "Now", "read_now"]


class NodeNow(Struct, frozen=True, array_like=True):
    """A node as it is; its scores and measures are those of its newest report.

    Attributes
    ----------
    round, samples, messages, bytes : so far
    window : scores of its newest samples, by metric; empty before there are any
    measures : what its learner tells of itself
    heard : seconds since its process heard this report; -1 before there is one
    """

    round: int
    samples: int
    messages: int
    bytes: int
    window: dict[str, float]
    measures: dict[str, float] = {}
    heard: float = -1.0


class EdgeNow(Struct, frozen=True, array_like=True):
    """What a node heard over one edge.

    Attributes
    ----------
    sender, receiver : names of the nodes
    age : seconds since the last parcel; -1 where none has come yet
    messages, bytes : so far, since the process began; bytes as if all were as long as the newest
    """

    sender: str
    receiver: str
    age: float
    messages: int
    bytes: int


class Letter(Struct, frozen=True):
    """A dead letter, as an example of its reason."""

    detail: str
    topic: str
    partition: str
    offset: int


class Now(Struct, frozen=True):
    """Nodes, edges and dead letters of one process, `time` seconds since 1970."""

    process: int
    time: float
    nodes: dict[str, NodeNow] = {}
    edges: list[EdgeNow] = []
    reasons: dict[str, int] = {}
    examples: dict[str, list[Letter]] = {}
    drift: dict[str, int] = {}
    alarms: int = 0


def read_now(path: Path) -> Now | None:
    """Read what a process wrote last; None where there is nothing whole."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Now)
    except (OSError, msgspec.MsgspecError):
        return None
