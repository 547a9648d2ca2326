"""dSVOR over nodes on an ordinal set: batch, online, and each node alone."""

from functools import lru_cache

import numpy as np

from anabranch.features.maps import feature_count, make_map
from anabranch.learners import make
from anabranch.network import Weights, build_graph, combination_weights, node_names
from anabranch.protocol import Array
from anabranch.reproduce.dsvor_network import by_solver
from anabranch.reproduce.ordinal_data import OrdinalSplit, dealt
from anabranch.simulate import Rows, simulate

__all__ = ["NODES", "ONLINE_ROUNDS", "ROUNDS", "batch", "online", "weights"]

NODES, ROUNDS, ONLINE_ROUNDS = 20, 2000, 500
LAM = 1e-3
"""1/(C N) with C = 1000/N."""


@lru_cache(maxsize=64)
def weights(nodes: int, seed: int, graph: str = "random") -> Weights:
    """Give the combination weights of a graph; a random one has 4 neighbours a node."""
    return combination_weights(build_graph(graph, node_names(nodes), seed=seed))


def batch(
    split: OrdinalSplit,
    seed: int,
    *,
    linear: bool = False,
    together: bool = True,
    nodes: int = NODES,
    rounds: int = ROUNDS,
) -> list[Array]:
    """Give each node's ranks of the rows to test, after batch rounds over the network.

    Parameters
    ----------
    linear : the fields as they are, without |w|_1: the few weights are all of use
    together : else nodes hear no other; one without a row says 1 throughout
    """
    kernel, alpha = ("linear", 0.0) if linear else ("gaussian", 0.9)
    used = weights(nodes, seed) if together else None
    parts, K = dealt(len(split.X), nodes, seed), split.X.shape[1]
    options = {"kernel": kernel, "alpha": alpha, "lam": LAM, "seed": seed}
    model, _ = by_solver(split, parts, used, [rounds], **options)[rounds]
    names, D = [str(i) for i in range(K)], feature_count(kernel, K, None)
    drawn = make_map(kernel, names, D, gamma=1.0 / K, seed=seed)
    return model.predict(drawn.transform(split.held))


def online(
    split: OrdinalSplit, seed: int, *, nodes: int = NODES, rounds: int | None = None
) -> list[Array]:
    """Give the same of online learners, a row a node a round.

    Each node's rows come once, or again and again for a number of rounds, each time in another
    random order.
    """
    used, parts = weights(nodes, seed), dealt(len(split.X), nodes, seed)
    options = {"scaling": "none", "lam": LAM, "seed": seed}
    learners = {
        node: make("dsvor", split.X.shape[1], split.ranks, **options) for node in used.graph.nodes
    }
    count = max(len(rows) for rows in parts) if rounds is None else rounds
    orders = [_order(rows, count, rounds is not None, seed + m) for m, rows in enumerate(parts)]
    ticks = [
        {
            node: _one(split, order[t])
            for node, order in zip(used.graph.nodes, orders, strict=True)
            if t < len(order)
        }
        for t in range(count)
    ]
    simulate(learners, used, ticks)
    return [learner.predict(split.held) for learner in learners.values()]


def _order(rows: Array, count: int, again: bool, seed: int) -> Array:
    """Give a node's row numbers in the order in which they come."""
    if not again or len(rows) == 0:
        return rows
    rng = np.random.default_rng(seed)
    passes = [rng.permutation(rows) for _ in range(-(-count // len(rows)))]
    return np.concatenate(passes)[:count]


def _one(split: OrdinalSplit, row: int) -> Rows:
    return split.X[row : row + 1], split.y[row : row + 1]
