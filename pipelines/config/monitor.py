"""The section [monitor]: how a running job is watched."""

from typing import Annotated

from msgspec import Meta, Struct

from pipelines.config.durations import Duration
from pipelines.config.source import Whole

__all__ = ["Monitor"]


class Monitor(Struct, frozen=True, forbid_unknown_fields=True):
    """What a running job tells of itself, and how often."""

    worst: Annotated[
        Whole,
        Meta(
            description="Nodes, worst by windowed score, and edges, longest silent, that "
            "/metrics tells one by one; bounds its series, however large the network is."
        ),
    ] = 10
    interval: Annotated[
        Duration, Meta(description="Time between two words of a process; 100ms to 5s.")
    ] = Duration(1)
