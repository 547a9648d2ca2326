"""What may run beside the network to compare with, imported when a job names it, not before."""

from collections.abc import Mapping

from anabranch.protocol import Learner

__all__ = ["baselines"]


def baselines() -> Mapping[str, type[Learner]]:
    """Give all baselines by name: other libraries' models, and our learner that is for one node."""
    from anabranch.baselines import BASELINES
    from anabranch.learners.mlknn import MLKNN

    return {**BASELINES, MLKNN.kind: MLKNN}
