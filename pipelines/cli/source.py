"""A job's source, looked at before anything is created or replaced."""

from typing import TYPE_CHECKING

from pipelines.config import Job

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
        As `build_source`.
    """
    # late: they load the engine
    from pipelines.sources import build_source
    from pipelines.topics import topics_of

    return build_source(job, topics_of(job, 0, positions))
