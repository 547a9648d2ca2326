"""What the containers of compose.yaml run, run here, with their paths and names translated."""

import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from tests.brokers.apache import format_storage, java
from tests.brokers.ports import free_ports, is_open
from tests.brokers.process import Process
from tests.docker.files import DOCKER, load_compose, mounts_of, read_stages

__all__ = ["Stack"]

_PROGRAMS = Path(sys.executable).parent


@dataclass
class Stack:
    """The services of compose.yaml as processes of this machine.

    Volumes are folders below `folder`, files are those of docker/, and every port inside is
    another one here.
    """

    folder: Path
    services: dict[str, Any] = field(default_factory=lambda: load_compose()["services"])
    ports: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, port in (("kafka", 9092), ("kafka", 29092), ("kafka", 9093), ("job", 8080)):
            self.ports[f"{name}:{port}"] = free_ports(1)[0]

    def address(self, inside: str) -> str:
        """Give where a service's port is here."""
        return f"localhost:{self.ports[inside]}"

    def translate(self, text: str, service: str) -> str:
        """Give a text of a container as it must read here."""
        for inside, outside in mounts_of(self.services[service]).items():
            text = text.replace(inside, str(self._outside(outside)))
        for name, port in self.ports.items():
            number = name.partition(":")[2]
            # Nothing of ours may listen, or be looked for, beyond this machine.
            text = re.sub(rf"\b{name}\b", f"localhost:{port}", text)
            text = re.sub(
                rf"\b(0\.0\.0\.0|127\.0\.0\.1|localhost):{number}\b", f"localhost:{port}", text
            )
            text = text.replace(f"://:{number}", f"://localhost:{port}")
        return text

    def _outside(self, outside: str) -> Path:
        if not outside.startswith("."):
            path = self.folder / outside
            path.mkdir(exist_ok=True)
            return path
        original = DOCKER / outside
        if original.suffix != ".toml":
            return original
        # A file that names services is translated too.
        copy = self.folder / original.name
        if not copy.exists():
            copy.write_text(self.translate(original.read_text("utf-8"), "producer"), "utf-8")
        return copy

    def command(self, service: str) -> list[str]:
        """Give the command of a service of our own image."""
        stage = read_stages((DOCKER / "Dockerfile").read_text(encoding="utf-8"))[-1]
        program, *arguments = stage.words("ENTRYPOINT")
        words = [*arguments, *self.services[service]["command"]]
        return [str(_PROGRAMS / program), *(self.translate(word, service) for word in words)]

    def healthcheck(self) -> list[str]:
        """Give the image's healthcheck."""
        stage = read_stages((DOCKER / "Dockerfile").read_text(encoding="utf-8"))[-1]
        words = json.loads(stage.one("HEALTHCHECK").partition("CMD ")[2])
        return [sys.executable, *(self.translate(word, "job") for word in words[1:])]

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment in which `anabranch` is found by its name."""
        return {**os.environ, "PATH": f"{_PROGRAMS}{os.pathsep}{os.environ['PATH']}"}

    def start_broker(self) -> Process:
        """Start Kafka by the settings in its service's environment, as its image does."""
        config = self.folder / "server.properties"
        told = self.services["kafka"]["environment"].items()
        config.write_text(
            "".join(
                f"{key.removeprefix('KAFKA_').lower().replace('_', '.')}="
                f"{self.translate(value, 'kafka')}\n"
                for key, value in told
            ),
            encoding="utf-8",
        )
        format_storage(config)
        return Process(java("kafka.Kafka", str(config)), self.folder / "kafka.log")

    def broker_answers(self) -> bool:
        """Tell whether the broker can be used from inside and from outside."""
        for address in (self.address("kafka:9092"), self.address("kafka:29092")):
            if not is_open(address):
                return False
            try:
                with KafkaAdminClient(bootstrap_servers=address) as admin:
                    if not admin.describe_cluster()["brokers"]:
                        return False
            except (KafkaError, OSError):
                return False
        return True
