"""The elastic net of shards that are all at one place, as nodes and a server would find it."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from anabranch.features.frame import Frame
from anabranch.kernels.elastic import fill_problem
from anabranch.kernels.elastic_solve import factorise
from anabranch.kernels.elastic_star import run_star
from anabranch.learners.elastic_net_moments import CoMoments
from anabranch.learners.elastic_net_settings import ElasticNetSettings
from anabranch.learners.elastic_net_survey import merge_marginals
from anabranch.protocol import Array

__all__ = ["fold_shards", "solve_shards"]

S = TypeVar("S")
T = TypeVar("T")

_WIDE = 64
"""Fields from which a shard is worth a thread."""


def fold_shards(features: int, shards: Sequence[tuple[Array, Array]]) -> list[CoMoments]:
    """Give the moments of the rows X (n, p) and targets y (n,) of each shard.

    Several shards at a time, each by one thread: the moments are the same, bit for bit,
    however many threads there are.

    Examples
    --------
    >>> X = np.array([[0.0], [2.0]])
    >>> [moments.count for moments in fold_shards(1, [(X, X[:, 0]), (X[:1], X[:1, 0])])]
    [2.0, 1.0]
    """

    def folded(shard: tuple[Array, Array]) -> CoMoments:
        moments = CoMoments(features)
        moments.fold(*shard)
        return moments

    return _each(folded, shards, features)


def _each(call: Callable[[S], T], shards: Sequence[S], features: int) -> list[T]:
    """Call for every shard; at the same time where that pays, since kernels hold no lock."""
    if features < _WIDE or len(shards) == 1:
        return [call(shard) for shard in shards]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(call, shards))


def solve_shards(
    settings: ElasticNetSettings, shards: Sequence[CoMoments], rounds: int
) -> tuple[Frame, Array, int]:
    """Run consensus ADMM over the moments of some shards, without messages.

    The algorithm of `BatchElasticNet` around a server, where nothing is lost; `settings.rho` is
    not looked at.

    Returns
    -------
    the frame, the parameters in it, and the rounds it took
    """
    moments = shards[0].marginal()
    for shard in shards[1:]:
        moments = merge_marginals(moments, shard.marginal())
    frame, size = Frame.of(1, *moments), settings.size
    roots = np.sqrt([shard.count for shard in shards])
    rho = settings.kappa * roots / roots.sum()
    L, c = np.zeros((len(shards), size, size)), np.zeros((len(shards), size))

    def prepare(i: int) -> None:
        A = np.empty((size, size))
        fill_problem(*shards[i].total(), frame.centre, frame.scale, moments[0], A, c[i])
        factorise(A, np.full(size, rho[i]), L[i])

    _each(prepare, range(len(shards)), settings.features)
    alpha, (l1, l2) = np.zeros(size), settings.penalty(frame)
    relative = settings.relative
    taken = run_star(L, c, rho, l1, l2, settings.relax, relative, rounds, alpha)
    return frame, alpha, taken
