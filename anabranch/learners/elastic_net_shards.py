"""The elastic net of shards that are all at one place, as nodes and a server would find it."""

from collections.abc import Sequence

import numpy as np

from anabranch.features.frame import Frame
from anabranch.kernels.elastic import fill_problem
from anabranch.kernels.elastic_solve import factorise
from anabranch.kernels.elastic_star import run_star
from anabranch.learners.elastic_net_moments import CoMoments
from anabranch.learners.elastic_net_settings import ElasticNetSettings
from anabranch.learners.elastic_net_survey import merge_marginals
from anabranch.protocol import Array

__all__ = ["solve_shards"]


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
    A = np.empty((size, size))
    for i, shard in enumerate(shards):
        fill_problem(*shard.total(), frame.centre, frame.scale, moments[0], A, c[i])
        factorise(A, np.full(size, rho[i]), L[i])
    alpha, (l1, l2) = np.zeros(size), settings.penalty(frame)
    relative = settings.relative
    taken = run_star(L, c, rho, l1, l2, settings.relax, relative, rounds, alpha)
    return frame, alpha, taken
