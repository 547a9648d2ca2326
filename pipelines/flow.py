"""The dataflow of a job: source, nodes, and where everything they give goes."""

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

import bytewax.operators as op
from bytewax.dataflow import Dataflow

from anabranch.exchange import Policy
from anabranch.learners import LEARNERS, make
from anabranch.placement import Placement, PlacementRule
from anabranch.protocol import Learner, NodeId
from connectors import JsonLinesSink, encode_dead_letter, encode_plain, encode_predictions
from operators.hub import Hub
from operators.learn import LearnOut, learn_on_network, make_hub
from operators.node_plan import NodePlan
from pipelines.config import Job, build_weights
from pipelines.models import ModelSink
from pipelines.run_dir import RunDirectory
from pipelines.sources import JobSource, build_source

__all__ = ["Built", "build_flow", "build_plan"]


@dataclass(frozen=True)
class Built:
    """A job's dataflow and the hub that steers it from outside."""

    flow: Dataflow
    hub: Hub


def build_flow(job: Job, process: int = 0) -> Built:
    """Build the dataflow of a job as one process of `parallel.processes`.

    Raises
    ------
    ConfigurationError
        The source or the network cannot be used as configured.
    """
    source = build_source(job)
    plan = build_plan(job, source)
    pooled = "pooled" in job.evaluation.companions
    hub = make_hub(
        plan.placement,
        process=process,
        processes=job.parallel.processes,
        workers=job.parallel.workers,
        pooled=pooled,
    )
    flow = Dataflow("anabranch")
    out = learn_on_network(
        flow,
        source.blocks,
        plan,
        hub,
        pooled=pooled,
        ticks_ahead=job.exchange.ticks_ahead,
        stop_at_bad_input=job.output.on_bad_input == "stop",
    )
    _write(job, source, out)
    return Built(flow, hub)


def build_plan(job: Job, source: JobSource) -> NodePlan:
    """Give the settings that all nodes of a job share."""
    batch = job.job.kind == "batch"
    learner, exchange = job.learner, job.exchange
    warm_up = int(learner.options.get("warm_up", 0))
    return NodePlan(
        make=partial(_make, learner.kind, source, learner.ranks, dict(learner.options)),
        restore=LEARNERS[learner.kind].restore,
        weights=build_weights(job.network),
        placement=_placement(job, source),
        task=LEARNERS[learner.kind].task,
        ranks=learner.ranks,
        policy=Policy(exchange.policy, exchange.every, exchange.tolerance, warm_up),
        mode=exchange.mode,
        final_rounds=exchange.rounds if batch else exchange.final_rounds,
        window=job.evaluation.window,
        report_every=job.evaluation.every,
        local="local" in job.evaluation.companions,
        batch=batch,
        predictions=job.output.predictions is not None,
        stale_after=timedelta(seconds=exchange.stale_after),
        idle_every=timedelta(seconds=exchange.idle_every),
    )


def _make(
    kind: str, source: JobSource, ranks: int, options: dict[str, Any], node: NodeId
) -> Learner:
    # Random features are drawn by name, so that sites whose columns differ in order agree.
    if source.features and "names" in signature(LEARNERS[kind]).parameters:
        options = {**options, "names": source.features}
    return make(kind, source.width, ranks, **options)


def _placement(job: Job, source: JobSource) -> Placement:
    rule: PlacementRule = "key" if job.source.node.startswith("field:") else job.source.node  # type: ignore[assignment]
    return Placement(job.network.names, rule, source.partitions)


def _write(job: Job, source: JobSource, out: LearnOut) -> None:
    run_dir = RunDirectory(Path(job.job.run_dir))
    _json_lines("scores", out.rows, run_dir.scores, encode_plain)
    _json_lines("dead_letters", out.dead, Path(job.output.dead_letters), encode_dead_letter)
    if job.output.predictions is not None:
        path = Path(job.output.predictions)
        _json_lines("predictions", out.predictions, path, encode_predictions)
    if job.output.models:
        metadata = {"features": list(source.features), "label": job.source.label}
        sink = ModelSink(run_dir.models, job.learner.kind, metadata)
        op.output("models", out.finals, sink)


def _json_lines(step_id: str, stream: Any, path: Path, encode: Any) -> None:
    keyed = op.key_on(f"key_{step_id}", stream, lambda _: step_id)
    op.output(step_id, keyed, JsonLinesSink(path, encode))
