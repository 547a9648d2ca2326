"""Drift as a job asks for it."""

from anabranch.drift import DriftRule
from pipelines.config import Job

__all__ = ["drift_rule"]


def drift_rule(job: Job, nodes: int) -> DriftRule | None:
    """Give when errors of a job's nodes, so many at its beginning, count as drift; None if never.

    Raises
    ------
    ConfigurationError
        A value is out of its range.
    """
    own = job.drift
    if own.detector == "none":
        return None
    return DriftRule(
        own.detector, own.policy, own.every, own.delta, own.rise, own.warm_up, own.settle,
        own.most, nodes,
    )  # fmt: skip
