"""Batch dSVOR on a split of an ordinal set, by the project's own solver for whole networks."""

from collections.abc import Iterable, Sequence
from typing import Any

from anabranch.learners.batch_network import BatchNetwork
from anabranch.network import Weights, node_names
from anabranch.protocol import Array
from anabranch.reproduce.dsvor_plain import Model
from anabranch.reproduce.ordinal_data import OrdinalSplit

__all__ = ["by_solver"]


def by_solver(
    split: OrdinalSplit,
    parts: Sequence[Array],
    weights: Weights | None,
    rounds: Iterable[int],
    **options: Any,
) -> dict[int, tuple[Model, float]]:
    """Give all parameters after some numbers of rounds, and the share of zeros in messages.

    Parameters
    ----------
    parts : numbers of the rows of each node
    weights : of the network; None: nodes hear no other
    options : as for `BatchDSVOR`; the fields are z-scored already, so there is no warm-up
    """
    shards = {
        name: (split.X[rows], split.y[rows])
        for name, rows in zip(node_names(len(parts)), parts, strict=True)
    }
    network = BatchNetwork.of(
        shards, split.ranks, weights, dtype="float32", scaling="none", **options
    )
    found = {}
    for k in sorted(rounds):
        network.advance(k - network.rounds)
        theta, at = network.parameters(), 1 - split.ranks
        found[k] = Model(theta[:, :at], theta[:, at:]), network.zeros()
    return found
