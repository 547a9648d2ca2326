"""From keys to the things they name: the weighted network, the generator's stream."""

from typing import TYPE_CHECKING, Any, Protocol

from anabranch.protocol import Array
from pipelines.config.edges import read_edges
from pipelines.config.sections import Network, Source

if TYPE_CHECKING:
    from anabranch.network import Graph, Weights

__all__ = ["Stream", "build_job_graph", "build_stream", "build_weights"]


class Stream(Protocol):
    """A generator's samples, by position."""

    @property
    def features(self) -> int:
        """Number of features."""
        ...

    @property
    def ranks(self) -> int:
        """Number of ranks; 0 where samples have sets of labels."""
        ...

    def block(self, start: int, count: int) -> tuple[Any, Array]:
        """Give `count` samples from a position: X (n, d) and y (n,) or (n, q)."""
        ...


def build_stream(source: Source) -> Stream:
    """Build the stream of a generator; `source.kind` must be one."""
    from anabranch.features.hashing import TextHasher
    from anabranch.synthetic import make_stream
    from anabranch.synthetic_labels import labelled
    from anabranch.synthetic_reviews import ReviewStream

    if source.kind == "reviews":
        return ReviewStream(TextHasher(source.text_bits, source.ngrams), source.seed)
    if source.kind == "labelled":
        count = len(source.label_names)
        return labelled(source.width, count, noise=source.noise, seed=source.seed)
    options: dict[str, object] = {"seed": source.seed}
    if source.kind == "wide":
        options |= {"features": source.width, "noise": source.noise}
    if source.kind == "drifting":
        options |= {
            "kind": source.drift,
            "period": source.drift_every,
            "ramp": source.drift_over,
            "shift": source.drift_shift,
            "sites": source.drift_sites,
        }
    return make_stream(source.kind, **options)


def build_weights(network: Network) -> "Weights":
    """Build the graph and its combination weights, both checked.

    Raises
    ------
    ConfigurationError, NetworkError
        The graph cannot be built, is not connected, or does not lead to consensus.
    """
    from anabranch.network import combination_weights

    return combination_weights(build_job_graph(network), network.weights)


def build_job_graph(network: Network) -> "Graph":
    """Build the graph of a job.

    Raises
    ------
    ConfigurationError, NetworkError
        It cannot be built, or is not connected.
    """
    from anabranch.network import build_graph

    edges = None if network.edges is None else read_edges(network.edges)
    return build_graph(
        network.graph,
        # The order given matters to a star, a ring and a path.
        network.nodes if isinstance(network.nodes, tuple) else network.names,
        degree=network.degree,
        connectivity=network.connectivity,
        seed=network.seed,
        edges=edges,
    )
