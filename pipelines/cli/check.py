"""`anabranch check`: what a job would do, without doing it."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipelines.cli.guard import complain
from pipelines.cli.rows import field_names
from pipelines.config import Job, build_stream, build_weights, load_job
from pipelines.config.derive import ROWS_PER_NODE

if TYPE_CHECKING:
    from anabranch.network import Weights

__all__ = ["check"]

_SLOW_GAP = 0.01


def check(
    job: Annotated[
        Path | None, typer.Argument(help="Job file (TOML); without it, the built-in job.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Sets any key of the job file."),
    ] = None,
) -> None:
    """Check a job and print its network: size, degrees, spectral gap, traffic a round."""
    resolved = load_job(job, settings or [])
    weights = build_weights(resolved.network)
    for name, value in {**_graph_facts(weights), **_traffic(resolved, weights)}.items():
        typer.echo(f"{name:20}{value}")
    for warning in _warnings(resolved, weights):
        complain(f"warning: {warning}")


def _graph_facts(weights: "Weights") -> dict[str, str]:
    graph = weights.graph
    degrees = [graph.degree(node) for node in graph.nodes]
    return {
        "nodes": f"{len(graph.nodes)}",
        "edges": f"{len(graph.edges)}",
        "degree": f"min {min(degrees)}, mean {sum(degrees) / len(degrees):.3g}, max {max(degrees)}",
        "diameter": f"{graph.diameter}",
        "weights": weights.rule,
        "spectral radius": f"{weights.spectral_radius:.6f}",
        "spectral gap": f"{weights.spectral_gap:.6f}",
        "topology hash": graph.hash(),
    }


def _traffic(job: Job, weights: "Weights") -> dict[str, str]:
    messages = 2 * len(weights.graph.edges)
    size = _message_size(job)
    traffic = f"{messages * size:,} (at most, all of {size:,})" if size else "depends on features"
    return {"messages a round": f"{messages:,}", "bytes a round": traffic}


def _message_size(job: Job) -> int | None:
    features = _feature_count(job)
    if features is None:
        return None
    from anabranch.learners import make

    learner = make(job.learner.kind, features, job.learner.ranks, **job.learner.options)
    # Past any warm-up, whose messages carry moments too.
    late: Any = learner.messages(int(job.learner.options.get("warm_up") or 0) + 1)
    return max((sum(a.nbytes for a in message.arrays.values()) for message in late), default=0)


def _feature_count(job: Job) -> int | None:
    source = job.source
    if source.generated:
        return int(build_stream(source).features)
    if source.features is not None:
        return len(source.features)
    names = field_names(Path(source.paths[0]))
    others = {source.label, source.node.removeprefix("field:")}
    return len([name for name in names if name not in others]) or None


def _warnings(job: Job, weights: "Weights") -> Iterator[str]:
    nodes = len(weights.graph.nodes)
    if nodes > 1 and weights.spectral_gap < _SLOW_GAP:
        yield (
            f"the spectral gap is {weights.spectral_gap:.2g}: nodes take about "
            f"{1 / weights.spectral_gap:,.0f} rounds to agree; more edges make it wider"
        )
    partitions = job.source.partitions if job.source.generated else len(job.source.paths)
    rows = job.source.rows_per_tick * partitions / nodes
    if rows > ROWS_PER_NODE:
        yield (
            f"{rows:,.0f} rows a node between exchanges: fast, but nodes hear of each other "
            "less often and learn worse; see source.rows_per_tick"
        )
    if not job.source.bounded and job.recovery.dir is None:
        yield "the source is endless and recovery.dir is not set: a crash loses what was learned"
    if job.source.bounded and job.exchange.mode == "asynchronous":
        yield "exchange.mode is asynchronous: results vary from run to run"
    if job.job.kind == "batch" and job.source.split is None:
        yield "a batch job without source.split has no held-back rows to be scored on"
    if job.parallel.workers > 1:
        yield "workers of one process share the interpreter's lock; parallel.processes do not"
