"""What the brokers of the tests are told: small, quick to start, quick to notice a death."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["DATA", "Node", "server_properties"]

DATA = "data"
"""Name of a node's data folder, in its own."""


@dataclass(frozen=True)
class Node:
    """One broker, which is a controller too.

    Attributes
    ----------
    number : from 1
    folder : its configuration, data and log
    ports : by listener; at least PLAINTEXT and CONTROLLER
    """

    number: int
    folder: Path
    ports: Mapping[str, int] = field(default_factory=dict)

    def address(self, listener: str = "PLAINTEXT") -> str:
        """Give host and port of a listener."""
        return f"localhost:{self.ports[listener]}"


_SMALL = {
    "auto.create.topics.enable": "false",
    "background.threads": "2",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.backoff.ms": "500",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "log.initial.task.delay.ms": "500",
    "log.retention.check.interval.ms": "1000",
    # Tests write records of 1970; what is to expire is told by a topic's own retention.ms.
    "log.retention.ms": "-1",
    "num.io.threads": "2",
    "num.network.threads": "2",
    "offsets.topic.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}

_NOTICED_SOON = {
    "broker.heartbeat.interval.ms": "500",
    "broker.session.timeout.ms": "3000",
    "controller.quorum.fetch.timeout.ms": "2000",
    "controlled.shutdown.enable": "true",
}


def server_properties(
    node: Node,
    nodes: Sequence[Node],
    settings: Mapping[str, str],
    protocols: Mapping[str, str],
) -> str:
    """Write the server.properties of one node.

    Parameters
    ----------
    node, nodes : this one, and all of the cluster
    settings : further settings, which win
    protocols : security protocol by listener, for listeners not named after theirs
    """
    voters = ",".join(f"{n.number}@{n.address('CONTROLLER')}" for n in nodes)
    told = _copies(len(nodes)) | {
        "process.roles": "broker,controller",
        "node.id": str(node.number),
        "controller.quorum.voters": voters,
        "controller.listener.names": "CONTROLLER",
        "listeners": ",".join(f"{name}://{node.address(name)}" for name in node.ports),
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": _protocol_map(node, protocols),
        "log.dirs": str(node.folder / DATA),
    }
    told |= _SMALL | _NOTICED_SOON | dict(settings)
    return "".join(f"{key}={value}\n" for key, value in told.items())


def _copies(nodes: int) -> dict[str, str]:
    return {
        "default.replication.factor": str(nodes),
        "offsets.topic.replication.factor": str(nodes),
        "share.coordinator.state.topic.replication.factor": str(nodes),
        "share.coordinator.state.topic.min.isr": "1",
        "transaction.state.log.replication.factor": str(nodes),
        "transaction.state.log.min.isr": "1",
        "min.insync.replicas": "2" if nodes > 1 else "1",
    }


def _protocol_map(node: Node, protocols: Mapping[str, str]) -> str:
    known = {"CONTROLLER": "PLAINTEXT"} | dict(protocols)
    return ",".join(f"{name}:{known.get(name, name)}" for name in node.ports)
