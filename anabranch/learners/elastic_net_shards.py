"""The elastic net of shards that are all at one place, as nodes and a server would find it."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import reduce

import numpy as np
from threadpoolctl import threadpool_limits

from anabranch.features.frame import Frame
from anabranch.kernels.elastic_solve import length
from anabranch.kernels.elastic_star import answer_nodes, sum_up
from anabranch.learners.elastic_net_factors import WIDEST, Each, Factors
from anabranch.learners.elastic_net_moments import CoMoments
from anabranch.learners.elastic_net_settings import ElasticNetSettings
from anabranch.learners.elastic_net_survey import merge_marginals
from anabranch.protocol import Array

__all__ = ["fold_shards", "solve_shards"]

_WIDE = 64
"""Fields from which a shard is worth a thread."""

_STAYED = 2
"""Rounds in which one sees that nothing has moved."""

_CORRECTIONS = 4
"""Times that rough factors are corrected; the last one puts exact ones in their place."""


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
        (moments.fold if features < WIDEST else moments.begin)(*shard)
        return moments

    with _each(_threads(features, len(shards), threads)) as each, _own_thread(features):
        return list(each(folded, shards))


def _threads(features: int, shards: int, wanted: int | None) -> int:
    if wanted is None:
        wanted = (os.cpu_count() or 1) if features >= _WIDE else 1
    return max(1, min(wanted, shards))


def _own_thread(features: int) -> AbstractContextManager[object]:
    """Keep BLAS, which works on wide shards, to the thread that calls it."""
    return nullcontext() if features < WIDEST else threadpool_limits(1, "blas")


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
    with _each(threads) as each, _own_thread(settings.features):
        factors = Factors.of(each, shards, frame, moments[0], rho)
        # A round of narrow shards is over before a second thread has begun.
        together = (each, threads) if settings.features >= WIDEST else (map, 1)
        return frame, *_take_turns(*together, settings, factors, rounds)


def _take_turns(
    each: Each, threads: int, settings: ElasticNetSettings, factors: Factors, rounds: int
) -> tuple[Array, int]:
    """Give alpha and the rounds it took, until it stays though rough factors are corrected."""
    m, alpha = np.zeros_like(factors.c), np.zeros(settings.size)
    taken = _settle(each, threads, settings, factors, m, alpha, rounds)
    for attempt in range(_CORRECTIONS if factors.rough else 0):
        if attempt < _CORRECTIONS - 1:
            factors.correct(each, alpha)
        else:
            factors = factors.exact(each)
        more = _settle(each, threads, settings, factors, m, alpha, rounds - taken)
        taken += more
        if more <= _STAYED:
            break
    return alpha, taken


def _settle(
    each: Each,
    threads: int,
    settings: ElasticNetSettings,
    factors: Factors,
    m: Array,
    alpha: Array,
    rounds: int,
) -> int:
    """Take rounds until neither alpha nor any theta_i - alpha is long; give how many."""
    L, c, rho = factors.L, factors.c, factors.rho
    l1, l2 = settings.penalty(factors.frame)
    edges = np.linspace(0, len(c), threads + 1).astype(int).tolist()
    none, curvature = np.zeros(settings.size), rho.sum() + l2

    def answered(k: int) -> float:
        return answer_nodes(L, c, rho, settings.relax, alpha, m, edges[k], edges[k + 1])

    for round in range(rounds):
        moved = sum_up(none, m, l1, curvature, alpha)
        away = max(moved, *each(answered, range(threads)))
        if round > 0 and away <= settings.relative * length(alpha):
            return round + 1
    return rounds
