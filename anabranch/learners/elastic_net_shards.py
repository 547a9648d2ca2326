"""The elastic net of shards that are all at one place, as nodes and a server would find it."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import reduce
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from anabranch.features.frame import Frame
from anabranch.kernels.elastic import fill_lower
from anabranch.kernels.elastic_solve import factorise, length
from anabranch.kernels.elastic_star import answer_nodes, sum_up
from anabranch.learners.elastic_net_moments import CoMoments
from anabranch.learners.elastic_net_settings import ElasticNetSettings
from anabranch.learners.elastic_net_survey import merge_marginals
from anabranch.protocol import Array

__all__ = ["fold_shards", "solve_shards"]

_WIDE = 64
"""Fields from which a shard is worth a thread."""

_WIDEST = 256
"""Fields from which one product of the whole shard beats that of its tiles."""

Each = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]


def fold_shards(
    features: int, shards: Sequence[tuple[Array, Array]], threads: int | None = None
) -> list[CoMoments]:
    """Give the moments of the rows X (n, p) and targets y (n,) of each shard.

    Several shards at a time, each by one thread: the moments are the same, bit for bit,
    however many threads there are.

    Parameters
    ----------
    threads : by default as many as there are cores, if there are many fields

    Examples
    --------
    >>> X = np.array([[0.0], [2.0]])
    >>> [moments.count for moments in fold_shards(1, [(X, X[:, 0]), (X[:1], X[:1, 0])])]
    [2.0, 1.0]
    """

    def folded(shard: tuple[Array, Array]) -> CoMoments:
        moments = CoMoments(features)
        (moments.fold if features < _WIDEST else moments.begin)(*shard)
        return moments

    with _each(_threads(features, len(shards), threads)) as each:
        if features < _WIDEST:
            return list(each(folded, shards))
        with threadpool_limits(1, "blas"):
            return list(each(folded, shards))


def _threads(features: int, shards: int, wanted: int | None) -> int:
    if wanted is None:
        wanted = (os.cpu_count() or 1) if features >= _WIDE else 1
    return max(1, min(wanted, shards))


@contextmanager
def _each(threads: int) -> Iterator[Each]:
    """Give a `map` that calls at the same time where there are threads: kernels hold no lock."""
    if threads == 1:
        yield map
        return
    with ThreadPoolExecutor(threads) as pool:
        yield pool.map


def solve_shards(
    settings: ElasticNetSettings,
    shards: Sequence[CoMoments],
    rounds: int,
    threads: int | None = None,
) -> tuple[Frame, Array, int]:
    """Run consensus ADMM over the moments of some shards, without messages.

    The algorithm of `BatchElasticNet` around a server, where nothing is lost; `settings.rho` is
    not looked at. `threads` as for `fold_shards`.

    Returns
    -------
    the frame, the parameters in it, and the rounds it took
    """
    moments = reduce(merge_marginals, (shard.marginal() for shard in shards))
    frame = Frame.of(1, *moments)
    roots = np.sqrt([shard.count for shard in shards])
    rho = settings.kappa * roots / roots.sum()
    threads = _threads(settings.features, len(shards), threads)
    with _each(threads) as each:
        L, c = _factors(each, shards, frame, moments[0], rho)
        return frame, *_take_turns(each, threads, settings, frame, L, c, rho, rounds)


def _factors(
    each: Each, shards: Sequence[CoMoments], frame: Frame, total: float, rho: Array
) -> tuple[Array, Array]:
    """Give the factors of A_i + rho_i, and c_i, of every shard."""
    nodes, size = len(shards), frame.scale.size
    L, c = np.zeros((nodes, size, size)), np.zeros((nodes, size))

    def factor(i: int) -> None:
        fill_lower(*shards[i].total(), frame.centre, frame.scale, total, L[i], c[i])
        factorise(L[i], np.full(size, rho[i]), L[i])

    list(each(factor, range(nodes)))
    return L, c


def _take_turns(
    each: Each,
    threads: int,
    settings: ElasticNetSettings,
    frame: Frame,
    L: Array,
    c: Array,
    rho: Array,
    rounds: int,
) -> tuple[Array, int]:
    """Give alpha and the rounds it took, until neither it nor any theta_i - alpha is long."""
    m, alpha, (l1, l2) = np.zeros_like(c), np.zeros(settings.size), settings.penalty(frame)
    edges = np.linspace(0, len(c), threads + 1).astype(int).tolist()
    curvature = rho.sum() + l2

    def answered(k: int) -> float:
        return answer_nodes(L, c, rho, settings.relax, alpha, m, edges[k], edges[k + 1])

    for round in range(rounds):
        moved = sum_up(m, l1, curvature, alpha)
        away = max(moved, *each(answered, range(threads)))
        if round > 0 and away <= settings.relative * length(alpha):
            return alpha, round + 1
    return alpha, rounds
