"""A topic of changes that was deleted and made anew."""

from types import SimpleNamespace

import pytest

from anabranch.errors import ConfigurationError
from connectors.kafka import KafkaSettings
from connectors.records import SourceError
from pipelines.control import topic as topics
from pipelines.control.lines import Position
from pipelines.control.topic import TopicLines


class Log:
    """A topic's records; reading beyond their end is an error, as it is of a topic made anew."""

    def __init__(self, values: list[bytes]) -> None:
        self.values, self.away = values, False

    def ends(self) -> list[int]:
        if self.away:
            raise ConfigurationError("kafka.brokers do not answer")
        return [len(self.values)]


class FakeReader:
    """Reads such a topic."""

    def __init__(self, log: Log) -> None:
        self._log, self._at = log, 0

    def add(self, topic: str, partition: int, at: int) -> None:
        self._at = at

    def take(self, name: str, most: int) -> list[SimpleNamespace]:
        if self._at > len(self._log.values):
            raise SourceError(f"{name} ends before offset {self._at}")
        found = [
            SimpleNamespace(value=value, offset=number)
            for number, value in enumerate(self._log.values)
            if number >= self._at
        ]
        self._at = len(self._log.values)
        return found

    def close(self) -> None:
        pass


def test_it_is_read_from_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    log, said = Log([b"a", b"b", b"c"]), list[str]()
    monkeypatch.setattr(topics, "ensure_topics", lambda *_: None)
    monkeypatch.setattr(topics, "Reader", lambda *_, **__: FakeReader(log))
    monkeypatch.setattr(TopicLines, "_ends", lambda self: log.ends())
    lines = TopicLines(KafkaSettings(("localhost:1",)), "control", said.append)
    assert [line.text for line in lines.read(Position(1))] == [b"b", b"c"]

    log.values, log.away = [b"x"], True
    lines.close()
    assert lines.read(Position(3)) == []
    assert said.pop() == "network.control: control:0 ends before offset 3; opened again"
    log.away = False
    assert lines.read(Position(3)) == []
    assert said.pop() == (
        "network.control: topic control no longer has the 3 records that were read; it is read "
        "from its beginning"
    )
    (line,) = lines.read(Position(3))
    assert (line.text, line.after) == (b"x", Position(1))
    log.values.append(b"y")
    assert [line.text for line in lines.read(Position(1))] == [b"y"]
    assert said == []
