"""Apache Kafka in KRaft mode, one node or several, from its jars."""

import base64
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from tests.brokers.jars import classpath
from tests.brokers.ports import free_ports, is_open
from tests.brokers.process import BrokerError, Process
from tests.brokers.properties import DATA, Node, server_properties

__all__ = ["Apache", "format_storage", "java"]

# Compiled the quick way, it starts in two thirds of the time.
_JAVA = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
_LOG = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
_START = 90
"""Seconds a broker may take to answer on a busy machine."""


def java(*options: str) -> list[str]:
    """Give the command that runs a class of Kafka's."""
    return [*_JAVA, _LOG, "-cp", classpath(), *options]


# A leading dash would be taken for an option.
_CLUSTER = "A" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:22]
_formatted: dict[tuple[int | str, ...], dict[str, bytes]] = {}
"""Files of a data folder just formatted, by its node's number and the users."""


def format_storage(config: Path, users: Sequence[str] = ()) -> None:
    """Make the data folder of a new broker ready.

    Parameters
    ----------
    config : its server.properties
    users : arguments of `kafka-storage format --add-scram`

    Raises
    ------
    BrokerError
        Kafka refuses.
    """
    command = java("kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(config))
    scram = [part for user in users for part in ("--add-scram", user)]
    done = subprocess.run([*command, *scram], capture_output=True, text=True, check=False)
    if done.returncode:
        raise BrokerError(f"its storage could not be formatted: {done.stderr}")


def _format(node: Node, config: Path, users: Sequence[str]) -> None:
    """Format a node's data folder, once by Java; the next of its number gets the same files."""
    key, folder = (node.number, *users), node.folder / DATA
    if key not in _formatted:
        format_storage(config, users)
        _formatted[key] = {file.name: file.read_bytes() for file in folder.iterdir()}
        return
    folder.mkdir()
    for name, content in _formatted[key].items():
        (folder / name).write_bytes(content)


class Apache:
    """Apache Kafka: a context manager that starts it and stops it.

    It keeps its ports and its data from `start` to `start`. Topics are not made by themselves.

    Parameters
    ----------
    folder : empty folder for its files
    nodes : brokers, each a controller too
    settings : further broker settings
    listeners : further listeners, each with its security protocol
    users : arguments of `kafka-storage format --add-scram`

    Raises
    ------
    ApacheMissingError
        It cannot run here.
    """

    kind = "apache"

    def __init__(
        self,
        folder: Path,
        nodes: int = 1,
        *,
        settings: Mapping[str, str] | None = None,
        listeners: Mapping[str, str] | None = None,
        users: Sequence[str] = (),
    ) -> None:
        names = ["PLAINTEXT", "CONTROLLER", *(listeners or {})]
        ports = iter(free_ports(nodes * len(names)))
        self.nodes = [
            Node(number, folder / f"node{number}", {name: next(ports) for name in names})
            for number in range(1, nodes + 1)
        ]
        self._running: dict[int, Process] = {}
        for node in self.nodes:
            node.folder.mkdir(parents=True)
            text = server_properties(node, self.nodes, settings or {}, listeners or {})
            self._config(node).write_text(text, encoding="utf-8")
            _format(node, self._config(node), users)

    def __enter__(self) -> "Apache":
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Nobody needs the data any more, and a tidy end takes seconds.
        self.kill()

    @property
    def brokers(self) -> list[str]:
        """Host and port of every node, plain text."""
        return self.addresses("PLAINTEXT")

    def addresses(self, listener: str) -> list[str]:
        """Host and port of every node's listener."""
        return [node.address(listener) for node in self.nodes]

    def start(self, node: int | None = None) -> None:
        """Start all nodes that are down, or one, and wait until they answer."""
        for number in self._chosen(node):
            if number not in self._running:
                place = self.nodes[number - 1]
                command = java("kafka.Kafka", str(self._config(place)))
                self._running[number] = Process(command, place.folder / "server.log")
        self._wait()

    def stop(self, node: int | None = None) -> None:
        """Stop all nodes, or one, in an orderly way."""
        for number in self._chosen(node):
            if number in self._running:
                self._running.pop(number).stop()

    def kill(self, node: int | None = None) -> None:
        """End all nodes, or one, as `kill -9` does."""
        for number in self._chosen(node):
            if number in self._running:
                self._running.pop(number).kill()

    def restart(self, node: int | None = None) -> None:
        """Stop and start again: same ports, same data."""
        self.stop(node)
        self.start(node)

    def freeze(self, node: int | None = None) -> None:
        """Let nodes answer nobody, their connections open, until `thaw`."""
        for number in self._chosen(node):
            self._running[number].freeze()

    def thaw(self, node: int | None = None) -> None:
        """Let frozen nodes go on."""
        for number in self._chosen(node):
            self._running[number].thaw()

    def _chosen(self, node: int | None) -> list[int]:
        return [n.number for n in self.nodes] if node is None else [node]

    def _config(self, node: Node) -> Path:
        return node.folder / "server.properties"

    def _wait(self) -> None:
        deadline = time.monotonic() + _START
        while not self._answers():
            for process in self._running.values():
                process.check()
            if time.monotonic() > deadline:
                raise BrokerError(f"the broker did not answer in {_START} s")
            time.sleep(0.1)

    def _answers(self) -> bool:
        """Whether every running node is known to every running node."""
        up = [node.address() for node in self.nodes if node.number in self._running]
        if not all(is_open(address) for address in up):
            return False
        try:
            for address in up:
                with KafkaAdminClient(bootstrap_servers=address, request_timeout_ms=5000) as admin:
                    if len(admin.describe_cluster()["brokers"]) < len(up):
                        return False
        except (KafkaError, OSError):
            return False
        return True
