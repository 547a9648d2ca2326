"""Single nodes and edges, the worst of them: a network may have thousands."""

from collections.abc import Iterable, Iterator, Mapping
from heapq import nsmallest
from typing import NamedTuple

from prometheus_client.metrics_core import Metric

from pipelines.live.records import EdgeNow
from pipelines.metrics.families import gauge, gauge_by
from pipelines.metrics.seen import Seen

__all__ = ["Headline", "node_metrics"]


class Headline(NamedTuple):
    """The first score of a task, and whether high values are good."""

    metric: str
    bigger_is_better: bool


def node_metrics(seen: Seen, headline: Headline, worst: int) -> Iterator[Metric]:
    """Give the number of nodes and edges, and the `worst` of each one by one."""
    nodes = {name: node for now in seen.nows for name, node in now.nodes.items()}
    yield gauge("nodes", "Nodes that have begun.", len(nodes))
    scored = {
        name: node.window[headline.metric]
        for name, node in nodes.items()
        if headline.metric in node.window
    }
    yield gauge_by(
        "node_score",
        "Score of a node over its newest samples, of the worst nodes only.",
        ("node", "metric"),
        {(name, headline.metric): scored[name] for name in _worst(scored, headline, worst)},
    )
    yield from _edge_metrics(seen, worst)


def _worst(scored: Mapping[str, float], headline: Headline, count: int) -> list[str]:
    """Choose by two digits, then by name: noise would make new series without end."""
    sign = -1 if headline.bigger_is_better else 1
    return nsmallest(count, scored, lambda name: (-sign * float(f"{scored[name]:.1e}"), name))


def _edge_metrics(seen: Seen, worst: int) -> Iterator[Metric]:
    ages = dict(_ages(seen))
    heard = {edge: age for edge, age in ages.items() if age is not None}
    yield gauge("edges", "Edges between nodes, each way counted.", len(ages))
    yield gauge("unheard_edges", "Edges over which nothing has come yet.", len(ages) - len(heard))
    yield gauge(
        "edge_age_max_seconds",
        "Time since a node heard a neighbour, over the edge where it is longest.",
        max(heard.values(), default=None),
    )
    yield gauge_by(
        "edge_age_seconds",
        "Time since a node heard a neighbour, of the edges where it is longest only.",
        ("sender", "receiver"),
        {edge: heard[edge] for edge in _oldest(heard, worst)},
    )


def _ages(seen: Seen) -> Iterator[tuple[tuple[str, str], float | None]]:
    for now in seen.nows:
        # A process that is lost writes no more, and nothing comes over its edges.
        since = max(seen.time - now.time, 0.0)
        for edge in now.edges:
            yield (edge.sender, edge.receiver), _age(edge, since)


def _age(edge: EdgeNow, since: float) -> float | None:
    return None if edge.age < 0 else edge.age + since


def _oldest(ages: Mapping[tuple[str, str], float], count: int) -> Iterable[tuple[str, str]]:
    """Choose by one digit, then by name, and all alike that were heard just now."""

    def key(edge: tuple[str, str]) -> tuple[float, tuple[str, str]]:
        age = ages[edge]
        return (-float(f"{age:.0e}") if age >= _RECENT else 0.0, edge)

    return nsmallest(count, ages, key)


_RECENT = 10.0
"""Ages (s) up to which edges are all alike: nothing is wrong with any of them."""
