"""What nodes left in a recovery store."""

from operators.boundary import first_free_round
from operators.schema import upgraded
from pipelines.state.snapshots import Snapshots
from pipelines.state.unpickle import read_snapshot


def node_snapshots(folder):
    """Give the snapshots of all nodes of a toy flow that it would go on from, by name."""
    store = Snapshots(folder)
    rows = (row for row in store.current() if row.step == "toy.nodes.node")
    states = (read_snapshot(store.read(row)) for row in rows)
    return {s["node"]: upgraded(s["inner"]) for s in states if s["inner"] is not None}


def next_change(folder, rounds_per_tick):
    """Give the first round in which the network of a stopped toy flow can be another."""
    return first_free_round(node_snapshots(folder).values(), rounds_per_tick)
