"""The whole loop as one operator: blocks in; scores, models, predictions, dead letters out."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import bytewax.operators as op
from bytewax.dataflow import Dataflow, Stream
from bytewax.inputs import FixedPartitionedSource

from anabranch.errors import ConfigurationError
from anabranch.placement import Placement
from anabranch.protocol import NodeId
from anabranch.signal import WindowPlan
from anabranch.stream import Block, DeadLetter, End, Predictions
from operators.coordinator import COORDINATOR, Coordinator
from operators.drift import drifts
from operators.feedback import FeedbackSink, FeedbackSource
from operators.hub import PARAMETERS, Hub
from operators.items import Ack, Final
from operators.node import NodesOut, nodes
from operators.node_plan import COOPERATIVE, LOCAL, POOLED, NodePlan
from operators.paced_source import PacedSource
from operators.place import place
from operators.post import deliver
from operators.process_sink import ProcessSink, process_key
from operators.routing import balanced_keys, worker_of
from operators.scoring import SCORES, Scoring
from operators.sites import ParameterLink, letters_in, letters_out
from operators.windows import windows as cut_windows

__all__ = ["LearnOut", "learn_on_network", "make_hub"]

_ACKS = 4
"""Acknowledgements a node sends while a partition runs `ticks_ahead` ticks."""


@dataclass(frozen=True)
class LearnOut:
    """Streams returned from `learn_on_network`."""

    rows: Stream[dict[str, Any]]
    finals: Stream[Final]
    predictions: Stream[Predictions]
    dead: Stream[DeadLetter]
    drifts: Stream[dict[str, Any]] | None = None
    """Where the plan has a rule of drift."""


def learn_on_network(
    flow: Dataflow,
    source: FixedPartitionedSource[Block | End, Any],
    plan: NodePlan,
    hub: Hub,
    *,
    ticks_ahead: int = 16,
    stop_at_bad_input: bool = False,
    link: ParameterLink | None = None,
    windows: WindowPlan | None = None,
) -> LearnOut:
    """Add nodes that learn from a source and exchange parameters to a dataflow.

    Parameters
    ----------
    source : blocks in ticks; wrapped here with flow control and graceful stop
    plan : which node a row belongs to, what nodes do, and which lone companions there are
    hub : this process's own, which knows the same companions; `hub.drain` ends the flow with a
        final snapshot
    ticks_ahead : ticks a partition may run beyond the slowest node
    link : the way to nodes that other sites host; the plan's placement then names the nodes
        of this site, and its weights those of all
    windows : how raw samples are cut into windows, where these are what nodes learn

    Raises
    ------
    ConfigurationError
        A node has the name of a companion, or the link does not fit the plan, or the network
        changes and there is a link.

    Notes
    -----
    In synchronous mode the learners end bit for bit as `anabranch.simulate` leaves them,
    whatever the number of workers, processes and sites, and across crash and resume. The
    flow ends when the sources of all sites do.
    """
    plan = _prepared(plan, link, hub, ticks_ahead)
    placement = plan.placement
    keys = balanced_keys(plan.members)
    homes = {part: _home(plan, part, hub) for part in placement.partitions}
    at_once = plan.eras is not None and plan.mode == "asynchronous"
    blocks = op.input("source", flow, PacedSource(source, hub, ticks_ahead, homes, at_once))
    if windows is not None:
        blocks = cut_windows("windows", blocks, windows, placement.partitions)
    placed = place("place", blocks, plan, keys, hub, stop_at_bad_input)
    parcels = deliver("post", op.input("feedback", flow, FeedbackSource(hub, keys)), keys)
    mail = [letters_in(flow, link, plan, keys, hub, ticks_ahead)] if link else []
    inbox = op.merge("inbox", placed.shares, parcels, *(m.parcels for m in mail))
    out = nodes("nodes", inbox, plan, hub)
    stay = letters_out(out.outgoing, link, plan, hub) if link else out.outgoing
    op.output("exchange", stay, FeedbackSink(hub))
    _tell_processes(out, len(plan.members), hub)
    dead = op.merge("all_dead", placed.dead, out.dead, *(m.dead for m in mail))
    return LearnOut(
        _scored(out, plan, len(placement.nodes)),
        out.finals,
        out.predictions,
        op.flat_map_batch("count_dead", dead, _counter(hub)),
        drifts("drifts", out.drift, plan.drift, plan, hub) if out.drift and plan.drift else None,
    )


def _prepared(plan: NodePlan, link: ParameterLink | None, hub: Hub, ticks_ahead: int) -> NodePlan:
    _check_names(plan)
    if link is not None and plan.eras is not None:
        raise ConfigurationError(
            f"the network changes {len(plan.eras.steps) - 1} times, and its nodes are of several "
            "sites; allowed: changes where all nodes are of one site"
        )
    plan = link.spread(plan) if link else plan
    hub.take_turns(plan.turns)
    for part in plan.begins:
        hub.begin(part, plan.before(part))
    # A node must acknowledge before a partition has run out of ticks to emit.
    return replace(plan, ack_every=max(1, ticks_ahead // _ACKS))


def _check_names(plan: NodePlan) -> None:
    taken = sorted({*plan.placement.nodes, *plan.joiners} & {POOLED, *plan.lone})
    if taken:
        raise ConfigurationError(
            f"network.nodes names {taken[0]!r}, which is a companion's name; allowed: any other"
        )
    wrong = sorted(plan.lone.keys() & {COOPERATIVE, LOCAL})
    if wrong:
        raise ConfigurationError(
            f"a companion without neighbours is named {wrong[0]!r}; allowed: any name but "
            f"{COOPERATIVE!r} and {LOCAL!r}"
        )


def make_hub(
    placement: Placement,
    *,
    process: int = 0,
    processes: int = 1,
    workers: int = 1,
    lone: Iterable[NodeId] = (),
) -> Hub:
    """Make a process's hub for `learn_on_network`; the numbers as Bytewax is started with.

    Parameters
    ----------
    lone : names of the plan's companions without neighbours
    """
    extra = tuple(lone)
    fed = {part: (*placement.fed_by(part), *extra) for part in placement.partitions}
    return Hub(process, processes, workers, fed | {PARAMETERS: placement.nodes})


def _home(plan: NodePlan, partition: str, hub: Hub) -> int:
    """Give the process that reads a partition: where its node is, if it feeds one alone."""
    place = plan.placement.partitions.index(partition)
    fed = plan.placement.fed_by(partition)
    if len(fed) == 1:
        place = plan.members.index(fed[0])
    return worker_of(place, hub.processes * hub.workers) // hub.workers


def _tell_processes(out: NodesOut, members: int, hub: Hub) -> None:
    done = op.key_on("key_done", out.done, lambda _: COORDINATOR)
    halts = op.stateful_batch("coordinator", done, lambda state: Coordinator(members, state))
    everyone = [process_key(process) for process in range(hub.processes)]

    def to_all(items: Iterable[Ack]) -> list[tuple[str, Ack | None]]:
        return [(process, item) for item in items for process in everyone]

    def halt_all(items: Iterable[tuple[str, None]]) -> list[tuple[str, Ack | None]]:
        return [(process, item) for _, item in items for process in everyone]

    acks = op.flat_map_batch("acks_to_all", out.acks, to_all)
    stops = op.flat_map_batch("halt_to_all", halts, halt_all)
    op.output("processes", op.merge("signals", acks, stops), ProcessSink(hub))


def _counter(hub: Hub) -> Callable[[list[DeadLetter]], list[DeadLetter]]:
    def count(items: list[DeadLetter]) -> list[DeadLetter]:
        for letter in items:
            hub.set_aside(letter)
        return items

    return count


def _scored(out: NodesOut, plan: NodePlan, count: int) -> Stream[dict[str, Any]]:
    asynchronous = plan.mode == "asynchronous"
    reports = op.key_on("key_reports", out.reports, lambda _: SCORES)
    rows = op.stateful_batch(
        "scoring",
        reports,
        lambda state: Scoring(plan.task, count, asynchronous, state, plan.labels, plan.eras),
    )
    return op.key_rm("score_rows", rows)
