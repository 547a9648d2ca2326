"""The elastic net of one node that has no neighbours: the centralised problem."""

import numpy as np

from anabranch.features.frame import Frame
from anabranch.kernels.elastic_solve import descend, polish
from anabranch.learners.elastic_net_gap import answer_of, duality_gap
from anabranch.learners.elastic_net_moments import CoMoments
from anabranch.learners.elastic_net_settings import ElasticNetSettings
from anabranch.learners.elastic_net_system import System
from anabranch.protocol import Array

__all__ = ["solve_alone"]

_ROUNDS = 40
_SWEEPS = 100


def solve_alone(
    settings: ElasticNetSettings,
    moments: CoMoments,
    old: Frame | None,
    theta: Array,
    peak: Array | None = None,
) -> tuple[Frame, Array, float, float]:
    """Solve for all of a node's samples by coordinate descent, from `theta` in the frame `old`.

    After each hundred sweeps the coordinates that are not zero are solved for exactly; where
    that is optimal, it is the answer to rounding. `peak` is that of `Frame.of`.

    Returns
    -------
    the frame, the parameters in it, and objective and gap as from `duality_gap`
    """
    count, mean, m2 = moments.marginal()
    epoch = old.epoch + 1 if old else 1
    frame = Frame.of(epoch, count, mean, m2, peak if settings.forgets else None)
    theta = old.carry(theta, frame) if old else np.zeros(settings.size)
    system = System(settings.size)
    system.update(moments, frame, count)
    l1, l2 = settings.penalty(frame)
    tolerance = 1e-15 if settings.growth == 0.0 else 1e-8
    for _ in range(_ROUNDS):
        moved = descend(system.A, system.c, l1, l2, theta, tolerance, _SWEEPS)
        if polish(system.A, system.c, l1, l2, theta) or moved <= tolerance:
            break
    return frame, theta, *duality_gap(theta, answer_of(system, theta), l1, l2)
