"""A job's source, looked at before anything is created or replaced."""

from typing import TYPE_CHECKING

from pipelines.config import Job
from pipelines.config.learner import complete_learner

if TYPE_CHECKING:
    from pipelines.positions import Positions
    from pipelines.sources import JobSource

__all__ = ["check_source"]


def check_source(job: Job, positions: "Positions | None" = None) -> "JobSource":
    """Open the source, which refuses what its files contradict: a column that is not there.

    Parameters
    ----------
    positions : where the job begins in its topics, if it has any

    Raises
    ------
    ConfigurationError
        As `build_source`, or the learner cannot be used with so many features.
    """
    # late: they load the engine
    from anabranch.features.additive import ADDITIVE_KERNELS
    from pipelines.sources import build_source
    from pipelines.topics import topics_of

    source = build_source(job, topics_of(job, 0, positions))
    # Of these kernels alone a setting depends on the number of features; they cost nothing to make.
    if job.learner.options.get("kernel") in ADDITIVE_KERNELS:
        complete_learner(job, source.columns or len(source.features) or None)
    return source
