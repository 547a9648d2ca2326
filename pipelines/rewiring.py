"""Whether a job's network may change, and from which round on the new one holds."""

from collections.abc import Callable, Collection
from inspect import signature
from pathlib import Path

from msgspec.structs import replace

from anabranch.errors import ConfigurationError
from anabranch.network import Weights
from pipelines.config import Job, build_weights
from pipelines.config.check_network import check_rewirable
from pipelines.config.learner import learner_class
from pipelines.control.lines import Position, end_of_lines
from pipelines.networks import Networks, Place, name_of, networks_of
from pipelines.run_dir import RunDirectory
from pipelines.state.reached import reached
from pipelines.state.snapshots import Snapshots

__all__ = ["check_change", "difference", "rewired", "settle_networks"]

_SHOWN = 5
_TAKEN = {"cooperative", "local", "pooled"}
"""Names in rows of scores; those of `operators.node_plan`, which takes a second to load."""


def settle_networks(
    job: Job,
    resumed: RunDirectory | None,
    partitions: Collection[str],
    say: Callable[[str], None],
    begun: Position | None = None,
) -> Networks:
    """Settle which networks a job has, and how far it was told of changes.

    The network that the job file states becomes the newest one where it is another than was
    stated when the job was started last; else those that the job has had stay, with all changes
    made while it ran. A new job hears of changes that are asked for since its command began.

    Parameters
    ----------
    resumed : the run that is continued, or None for a new one
    partitions : all partitions of the job
    say : told in what the network changes
    begun : where changes asked for ended when the command began; where they end now if not given

    Raises
    ------
    ConfigurationError
        The network may not change, or not any more.
    """
    stated = build_weights(job.network)
    if resumed is None:
        return Networks.begin(stated, _told(job, None, begun))
    known = networks_of(resumed.read_job(), resumed.networks)
    settled = replace(known, stated=name_of(stated), control=_told(job, known.control, begun))
    if name_of(stated) in (known.stated, name_of(known.newest)):
        return settled
    told = difference(known.newest, stated)
    try:
        check_change(job, known, stated)
        made = rewired(job, settled, stated, partitions)
    except ConfigurationError as error:
        raise ConfigurationError(
            f"--resume continues the same job, but its network has changed ({told}): {error}"
        ) from None
    say(f"network: {told}; from round {made.eras[-1].round:,} on")
    return made


def _told(job: Job, before: Place | None, begun: Position | None) -> Place | None:
    """Tell how far changes were taken: in another place than before, from its end on."""
    control = job.network.control
    if control is None or (before is not None and before.control == control):
        return before
    end = begun or end_of_lines(job)
    return before if end is None else Place(control, *end)


def check_change(job: Job, networks: Networks, new: Weights) -> None:
    """Tell whether a network may follow those that a job has had.

    Raises
    ------
    ConfigurationError
        The job's network may not change, or not so.
    """
    check_rewirable(job)
    old = set(networks.newest.graph.nodes)
    joined = sorted(set(new.graph.nodes) - old)
    left = sorted(old - set(new.graph.nodes))
    if job.source.node == "id" and (joined or left):
        raise ConfigurationError(
            f'source.node is "id", by which labels find the nodes of their samples, so that '
            f"{(joined + left)[0]!r} cannot join or leave; allowed: other links"
        )
    _check_hub(job, networks.eras[0].build(), new)
    again = sorted(set(joined) & set(networks.nodes))
    if again:
        raise ConfigurationError(
            f"node {again[0]!r} has left the network, and its last model was given; allowed: "
            "another name"
        )
    companion = sorted(_TAKEN.union(job.evaluation.companions).intersection(joined))
    if companion:
        raise ConfigurationError(
            f"node {companion[0]!r} has the name of a companion; allowed: any other"
        )


def _check_hub(job: Job, first: Weights, new: Weights) -> None:
    """Tell whether the hub stays, where there is one, and the network is a star if it must be.

    Whose units, counts or sums the others go by is settled by the first network.
    """
    if "role" not in signature(learner_class(job.learner.kind)).parameters:
        return
    from anabranch.learners.elastic_net_network import elastic_net_roles, hub_of

    shape = job.learner.options.get("shape", "server")
    hub = hub_of(first.graph)
    if hub not in new.graph.nodes:
        raise ConfigurationError(
            f"node {hub!r} is the hub, by which all others go, and cannot leave; allowed: any other"
        )
    elastic_net_roles(new.graph, shape, hub)


def rewired(job: Job, networks: Networks, new: Weights, partitions: Collection[str]) -> Networks:
    """Let a network hold from the first round that nothing in the snapshots has reached.

    Parameters
    ----------
    networks : those so far
    new : allowed by `check_change`
    partitions : all partitions of the job

    Raises
    ------
    ConfigurationError
        The job is at its end, or its snapshots cannot be read.
    """
    each = job.exchange.rounds_per_tick
    folder, present = Path(str(job.recovery.dir)), networks.newest.graph.nodes
    now = reached(Snapshots(folder), each, present)
    if now.done or (partitions and now.ended.issuperset(partitions)):
        raise ConfigurationError(
            "the network cannot change any more: all samples are placed, and what is left are the "
            "last rounds; allowed: while a partition goes on"
        )
    if now.round == 0:  # nothing has begun
        return networks.changed(0, new)
    # A network that is to come holds for a tick at least: its nodes may be in the snapshots.
    return networks.changed(max(now.round, networks.eras[-1].round + each), new)


def difference(old: Weights, new: Weights) -> str:
    """Say in what two networks differ.

    >>> from anabranch.network import combination_weights, path, ring
    >>> difference(combination_weights(path("abd")), combination_weights(ring("abc")))
    'c joins; d leaves; a - c and b - c linked; b - d cut'
    """
    nodes, edges = set(old.graph.nodes), set(old.graph.edges)
    joined, left = set(new.graph.nodes) - nodes, nodes - set(new.graph.nodes)
    made, cut = set(new.graph.edges) - edges, edges - set(new.graph.edges)
    words = [f"{_named(joined)} join{'s' * (len(joined) == 1)}"] if joined else []
    words += [f"{_named(left)} leave{'s' * (len(left) == 1)}"] if left else []
    for pairs, how in ((made, "linked"), (cut, "cut")):
        words += [f"{_named([f'{a} - {b}' for a, b in sorted(pairs)])} {how}"] if pairs else []
    words += [f"weights are {new.rule}"] if new.rule != old.rule else []
    return "; ".join(words)


def _named(nodes: Collection[str]) -> str:
    names = sorted(nodes)
    more = [f"{len(names) - _SHOWN:,} more"] if len(names) > _SHOWN else []
    return " and ".join((*names[:_SHOWN], *more))
