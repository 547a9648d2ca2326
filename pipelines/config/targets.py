"""Where an output goes: a file, or a Kafka topic."""

from dataclasses import dataclass
from pathlib import Path

__all__ = ["OUTPUTS", "Target"]

OUTPUTS = ("predictions", "scores", "alarms", "dead_letters")
"""Keys of [output] that name a place."""

_TOPIC = "kafka:"


@dataclass(frozen=True)
class Target:
    """A place for an output.

    Attributes
    ----------
    name : path of the file, or name of the topic
    topic : whether it is a topic

    >>> Target.of("kafka:scores"), Target.of("out.jsonl").topic
    (Target(name='scores', topic=True), False)
    """

    name: str
    topic: bool

    @classmethod
    def of(cls, text: str) -> "Target":
        """Read it as a job file has it."""
        topic = text.startswith(_TOPIC)
        return cls(text.removeprefix(_TOPIC) if topic else text, topic)

    @property
    def path(self) -> Path | None:
        """The file; None of a topic."""
        return None if self.topic else Path(self.name)

    def same_as(self, others: "tuple[Target, ...]") -> bool:
        """Tell whether one of the others is the same place."""
        return any(self._place() == other._place() for other in others)

    def _place(self) -> tuple[str, bool]:
        return (self.name if self.topic else str(Path(self.name).resolve())), self.topic
