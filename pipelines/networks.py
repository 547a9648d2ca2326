"""The networks that a job has had, and from which round each holds: networks.json."""

from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from anabranch.errors import ConfigurationError
from anabranch.network import Eras, Graph, Weights, combination_weights
from anabranch.protocol import NodeId
from pipelines.config import Job, build_weights

__all__ = ["SCHEMA", "Era", "Networks", "Place", "name_of", "networks_of", "read_networks"]

SCHEMA = 1
"""Of networks.json."""


class Era(Struct, frozen=True):
    """A network and the first round in which it holds.

    Attributes
    ----------
    round : 0 of the first
    nodes : names, sorted
    edges : pairs of names
    weights : rule of the combination weights
    """

    round: int
    nodes: tuple[NodeId, ...]
    edges: tuple[tuple[NodeId, NodeId], ...]
    weights: str

    @classmethod
    def of(cls, round: int, weights: Weights) -> "Era":
        """Write a network down."""
        return cls(round, weights.graph.nodes, weights.graph.edges, weights.rule)

    def build(self) -> Weights:
        """Give the network, which was checked when it was written down."""
        return combination_weights(Graph.of(self.nodes, self.edges), self.weights, check=False)


class Place(Struct, frozen=True):
    """How far a job has read what it is controlled by.

    Attributes
    ----------
    control : network.control
    at : the next byte of the file, or record of the topic
    checksum : of the file's bytes before it; older versions did not keep it
    """

    control: str
    at: int
    checksum: int | None = None


class Networks(Struct, frozen=True):
    """All networks of a job, and what of changes to them is settled.

    Attributes
    ----------
    eras : in order of their rounds
    stated : which network the job file named when it was read last; see `name_of`
    control : how far changes asked for while the job ran were taken
    schema : of the file

    Examples
    --------
    >>> from anabranch.network import combination_weights, path, ring
    >>> old, new = combination_weights(path("abc")), combination_weights(ring("abc"))
    >>> networks = Networks.begin(old).changed(40, new)
    >>> [(era.round, len(era.edges)) for era in networks.eras], networks.newest == new
    ([(0, 2), (40, 3)], True)
    """

    eras: tuple[Era, ...]
    stated: str = ""
    control: Place | None = None
    schema: int = SCHEMA

    @classmethod
    def begin(cls, weights: Weights, control: Place | None = None) -> "Networks":
        """Give the only network of a new job, as its file states it."""
        return cls((Era.of(0, weights),), name_of(weights), control)

    def changed(self, round: int, weights: Weights) -> "Networks":
        """Let another network hold from a round on; in place of all, where that is round 0."""
        kept = tuple(era for era in self.eras if era.round < round)
        return replace(self, eras=(*kept, Era.of(round, weights)))

    @property
    def newest(self) -> Weights:
        """The network that holds at last."""
        return self.eras[-1].build()

    @property
    def in_time(self) -> Eras | None:
        """All of them, where there is more than one."""
        if len(self.eras) == 1:
            return None
        return Eras(tuple((era.round, era.build()) for era in self.eras))

    @property
    def nodes(self) -> tuple[NodeId, ...]:
        """All nodes that ever were, sorted."""
        return tuple(sorted({node for era in self.eras for node in era.nodes}))

    def to_json(self) -> str:
        """Write them, for `read_networks`."""
        return msgspec.json.encode(self).decode()


def name_of(weights: Weights) -> str:
    """Name a network so that the same graph with the same rule has the same name only."""
    return f"{weights.rule} {weights.graph.hash()}"


def read_networks(file: Path) -> Networks | None:
    """Read a job's networks; None where none were written.

    Raises
    ------
    ConfigurationError
        The file is damaged, or a newer version wrote it.
    """
    try:
        found = msgspec.json.decode(file.read_bytes(), type=Networks)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise ConfigurationError(f"{file} cannot be read: {error}") from None
    if found.schema > SCHEMA:
        raise ConfigurationError(
            f"{file} has schema {found.schema}, which a newer version wrote; this one reads up to "
            f"{SCHEMA}"
        )
    if not found.eras or found.eras[0].round:
        raise ConfigurationError(f"{file} is damaged: it has no network from round 0 on")
    return found


def networks_of(job: Job, file: Path) -> Networks:
    """Give a job's networks: those written down, else the one that its file states."""
    return read_networks(file) or Networks.begin(build_weights(job.network))
