"""Place samples on nodes: every node gets its share of every tick, empty or not."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import bytewax.operators as op
from bytewax.dataflow import Stream, operator
from bytewax.operators import KeyedStream

from anabranch.placement import known_rows, strangers, whole
from anabranch.reasons import NO_BAD_RECORD
from anabranch.stream import Block, DeadLetter, End, Share
from operators.hub import Hub
from operators.node_plan import NodePlan

__all__ = ["BadInputError", "PlaceOut", "place"]


class BadInputError(RuntimeError):
    """A bad record came while the job is set to stop at bad input."""


@dataclass(frozen=True)
class PlaceOut:
    """Streams returned from `place`."""

    shares: KeyedStream[Share | End]
    dead: Stream[DeadLetter]


@operator
def place(
    step_id: str,
    up: Stream[Block | End],
    plan: NodePlan,
    keys: dict[str, str],
    hub: Hub,
    stop_at_bad_input: bool,
) -> PlaceOut:
    """Cut blocks into one share a node, and bring the bad records out.

    Parameters
    ----------
    plan : which node a row belongs to, and the lone companions, which get all rows
    keys : routing key of each node and companion
    stop_at_bad_input : raise at the first bad record

    Raises
    ------
    BadInputError
        A record is bad and the job is set to stop; the hub says which.
    """
    cut = _cutter(plan, keys)
    watch = _watcher(plan, hub, stop_at_bad_input)
    shares = op.flat_map_batch("cut", up, cut)
    dead = op.flat_map_batch("dead", up, watch)
    return PlaceOut(shares, dead)


Keyed = tuple[str, Share | End]


def _cutter(plan: NodePlan, keys: dict[str, str]) -> Callable[[list[Block | End]], Iterable[Keyed]]:
    named = plan.eras is not None and plan.placement.rule == "key"

    def cut(items: list[Block | End]) -> list[Keyed]:
        placed: list[Keyed] = []
        for item in items:
            if isinstance(item, End):
                placed.extend((key, replace(item, node=node)) for node, key in keys.items())
                continue
            if item.tick < 0:  # a file without records: nothing but its dead letter
                continue
            placement = plan.placements.at(item.tick)
            shares = placement.shares(known_rows(item, placement) if named else item)
            placed.extend((keys[node], share) for node, share in shares.items())
            placed.extend((keys[name], whole(item, name)) for name in plan.lone)
        return placed

    return cut


def _watcher(
    plan: NodePlan, hub: Hub, stop: bool
) -> Callable[[list[Block | End]], Iterable[DeadLetter]]:
    named = plan.eras is not None and plan.placement.rule == "key"

    def watch(items: list[Block | End]) -> list[DeadLetter]:
        blocks = [item for item in items if isinstance(item, Block)]
        dead = [letter for block in blocks for letter in block.dead]
        if named:
            ever = plan.eras.nodes if plan.eras is not None else ()
            at = plan.placements.at
            dead += [one for b in blocks for one in strangers(b, at(b.tick), ever)]
        first = next((one for one in dead if one.reason not in NO_BAD_RECORD), None)
        if first is not None and stop:
            hub.bad_input = f"{first.source}, record {first.position}: {first.detail}"
            raise BadInputError(hub.bad_input)
        return dead

    return watch
