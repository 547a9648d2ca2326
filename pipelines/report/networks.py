"""Which network a run has, read from what it left."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from anabranch.errors import AnabranchError
from anabranch.protocol import NodeId
from pipelines.config.build import build_job_graph
from pipelines.config.sections import Network

__all__ = ["Drawing", "read_network"]


@dataclass(frozen=True)
class Drawing:
    """Nodes, sorted, and edges as pairs of positions among them."""

    names: tuple[NodeId, ...]
    edges: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, nodes: Any, edges: Any) -> "Drawing":
        """Take names and pairs of names.

        >>> Drawing.of(["b", "a"], [["b", "a"]])
        Drawing(names=('a', 'b'), edges=((1, 0),))
        """
        names = tuple(sorted(nodes))
        at = {name: i for i, name in enumerate(names)}
        return cls(names, tuple((at[a], at[b]) for a, b in edges))


def read_network(networks: Path, section: Network | Mapping[str, Any]) -> Drawing | None:
    """Give the newest network of a job; None where it cannot be told.

    Parameters
    ----------
    networks : the file of the networks that the job has had; there only if they changed
    section : the job's [network]
    """
    try:
        newest = json.loads(networks.read_bytes())["eras"][-1]
        return Drawing.of(newest["nodes"], newest["edges"])
    except (OSError, ValueError, KeyError, IndexError, TypeError):
        pass
    try:
        if not isinstance(section, Network):
            section = msgspec.convert(section, Network)
        graph = build_job_graph(section)
    except (AnabranchError, msgspec.ValidationError):
        return None
    return Drawing.of(graph.nodes, graph.edges)
