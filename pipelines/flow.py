"""The dataflow of a job: source, nodes, and where everything they give goes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from inspect import signature

from bytewax.dataflow import Dataflow
from msgspec.structs import replace

from anabranch.exchange import Policy
from anabranch.learners import LEARNERS, make
from anabranch.learners.elastic_net_network import elastic_net_roles
from anabranch.model_file import read
from anabranch.network import Weights
from anabranch.placement import Placement, PlacementRule
from anabranch.protocol import Learner, NodeId
from anabranch.warm_start import warm_started
from operators.hub import Hub
from operators.learn import learn_on_network, make_hub
from operators.node_plan import LOCAL, POOLED, Lone, NodePlan
from pipelines.config import Job, build_weights
from pipelines.config.baselines import baselines
from pipelines.config.learner import takes_labels
from pipelines.drift import drift_rule
from pipelines.gauges import Gauges
from pipelines.models import model_name
from pipelines.networks import Networks, networks_of
from pipelines.outputs import Outputs
from pipelines.run_dir import RunDirectory
from pipelines.signal import window_plan
from pipelines.sources import JobSource, build_source
from pipelines.topics import open_topics

__all__ = ["Built", "build_flow", "build_plan", "fresh_learner"]


@dataclass(frozen=True)
class Built:
    """A job's dataflow, the hub that steers it from outside, and what it tells of itself."""

    flow: Dataflow
    hub: Hub
    gauges: Gauges


def build_flow(job: Job, process: int = 0) -> Built:
    """Build the dataflow of a job as one process of `parallel.processes`.

    Raises
    ------
    ConfigurationError
        The source or the network cannot be used as configured.
    """
    networks = networks_of(job, RunDirectory.of(job).networks)
    job = _with_nodes_of(job, networks)
    topics = open_topics(job, process)
    source = build_source(job, topics)
    plan = build_plan(job, source, networks)
    hub = make_hub(
        plan.placement,
        process=process,
        processes=job.parallel.processes,
        workers=job.parallel.workers,
        lone=plan.lone,
    )
    flow = Dataflow("anabranch")
    out = learn_on_network(
        flow,
        source.blocks,
        plan,
        hub,
        ticks_ahead=job.exchange.ticks_ahead,
        stop_at_bad_input=job.output.on_bad_input == "stop",
        link=topics.link(plan, source),
        windows=window_plan(job),
    )
    Outputs(job, process, topics.sink, hub).connect(source, out)
    return Built(flow, hub, topics.gauges(hub))


def _with_nodes_of(job: Job, networks: Networks) -> Job:
    """Name all nodes that ever were, of any of which a record may be: the job file's may be others.

    They are even where there is one network only, if it took the first one's place in round 0.
    """
    if networks.nodes == job.network.names:
        return job
    return replace(job, network=replace(job.network, nodes=networks.nodes))


def build_plan(job: Job, source: JobSource, networks: Networks | None = None) -> NodePlan:
    """Give the settings that all nodes of a job share.

    Parameters
    ----------
    networks : those that the job has had; the one that its file states unless given
    """
    batch = job.job.kind == "batch"
    learner, exchange = job.learner, job.exchange
    weights = build_weights(job.network) if networks is None else networks.newest
    eras = None if networks is None else networks.in_time
    warm_up = int(learner.options.get("warm_up", 0))
    roles = _roles(job, weights if networks is None else networks.eras[0].build())
    own = Lone(partial(_make, job, source, roles), LEARNERS[learner.kind].restore)
    return NodePlan(
        make=own.make,
        restore=own.restore,
        weights=weights,
        placement=_placement(job, source, _placed(job, weights)),
        task=LEARNERS[learner.kind].task,
        ranks=learner.ranks,
        features=source.width,
        labels=job.source.label_names,
        policy=Policy(exchange.policy, exchange.every, exchange.tolerance, warm_up),
        mode=exchange.mode,
        rounds_per_tick=exchange.rounds_per_tick,
        final_rounds=exchange.rounds if batch else exchange.final_rounds,
        window=job.evaluation.window,
        report_every=job.evaluation.every,
        local="local" in job.evaluation.companions,
        lone=_lone(job, source, own),
        batch=batch,
        predictions=job.output.predictions is not None or job.alarm.rise is not None,
        margins=job.output.margins,
        late=_late(job),
        begins=source.begins,
        stale_after=timedelta(seconds=exchange.stale_after),
        idle_every=timedelta(seconds=exchange.idle_every),
        eras=eras,
        drift=drift_rule(job, len((weights if eras is None else eras.first).graph.nodes)),
    )


def _make(job: Job, source: JobSource, roles: Mapping[NodeId, str], node: NodeId) -> Learner:
    learner = fresh_learner(job, source, roles.get(node, "node") if roles else None)
    model = RunDirectory.of(job).start / model_name(node)
    return warm_started(learner, read(model).state) if model.exists() else learner


def fresh_learner(job: Job, source: JobSource, role: str | None = None) -> Learner:
    """Make a learner of a job's kind and settings that has learned nothing."""
    section, options = job.learner, dict(job.learner.options)
    # Random features are drawn by name, so that sites whose columns differ in order agree.
    if source.features and "names" in signature(LEARNERS[section.kind]).parameters:
        options["names"] = source.features
    if takes_labels(LEARNERS[section.kind]):
        options["labels"] = job.source.label_names
    if role is not None:
        options["role"] = role
    return make(section.kind, source.width, section.ranks, **options)


def _lone(job: Job, source: JobSource, pooled: Lone) -> Mapping[str, Lone]:
    """Give the companions without neighbours: the pooled one, and the baselines."""
    found = {}
    for name in job.evaluation.companions:
        if name == POOLED:
            found[name] = pooled
        elif name != LOCAL:
            baseline = baselines()[name]
            make = partial(_make_baseline, job, source, baseline)
            found[name] = Lone(make, baseline.restore, saved=False)
    return found


def _make_baseline(
    job: Job, source: JobSource, baseline: Callable[..., Learner], name: NodeId
) -> Learner:
    known = {"labels": job.source.label_names} if takes_labels(baseline) else {}
    options, shared = job.learner.options, getattr(baseline, "shares", ())
    known |= {name: options[name] for name in shared if name in options}
    return baseline(source.width, job.learner.ranks, **known)


def _roles(job: Job, first: Weights) -> Mapping[NodeId, str]:
    """Give each node's part in the first network, for learners whose nodes are not all alike."""
    section = job.learner
    if "role" not in signature(LEARNERS[section.kind]).parameters:
        return {}
    return elastic_net_roles(first.graph, section.options["shape"])


def _placed(job: Job, weights: Weights) -> tuple[NodeId, ...]:
    """Give the nodes that samples go to: those of its site, else all of the network."""
    return weights.graph.nodes if job.hosted == job.network.names else job.hosted


def _placement(job: Job, source: JobSource, nodes: tuple[NodeId, ...]) -> Placement:
    named = job.source.node == "key" or job.source.node_name is not None
    rule: PlacementRule = "key" if named else job.source.node  # type: ignore[assignment]
    return Placement(nodes, rule, source.partitions)


def _late(job: Job) -> tuple[int, int | None] | None:
    source = job.source
    if source.id is None:
        return None
    wait = source.label_wait
    return source.label_limit, None if wait is None else round(1000 * wait)
