"""Where a row came from: topic and number, from the name of its partition."""

from typing import NamedTuple

__all__ = ["Place", "place_of"]


class Place(NamedTuple):
    """A topic, or whatever else was read, and the number of its partition."""

    topic: str
    number: int


def place_of(partition: str) -> Place:
    """Take a partition's name apart; one that is no "topic:number" is partition 0 of itself.

    >>> place_of("bearings:3"), place_of("bearings.csv")
    (Place(topic='bearings', number=3), Place(topic='bearings.csv', number=0))
    """
    topic, _, number = partition.rpartition(":")
    if topic and number.isascii() and number.isdigit():
        return Place(topic, int(number))
    return Place(partition, 0)
