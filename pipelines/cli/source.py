"""A job's source, looked at before anything is created or replaced."""

from typing import TYPE_CHECKING

from pipelines.config import Job

if TYPE_CHECKING:
    from pipelines.sources import JobSource

__all__ = ["check_source"]


def check_source(job: Job) -> "JobSource":
    """Open the source, which refuses what its files contradict: a column that is not there.

    Raises
    ------
    ConfigurationError
        As `build_source`.
    """
    from pipelines.sources import build_source  # late: it loads the engine

    return build_source(job)
