"""The models that a job is told to start from."""

from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.cli.guard import complain
from pipelines.config import Job

if TYPE_CHECKING:
    from pipelines.sources import JobSource
    from pipelines.start_models import StartModels

__all__ = ["find_models"]


def find_models(job: Job, source: "JobSource", folder: Path) -> "StartModels":
    """Find the nodes' models in a folder, and tell who starts from another's or from none.

    Raises
    ------
    ConfigurationError
        As `find_start_models`.
    """
    from pipelines.start_models import find_start_models  # late: it loads the engine

    found = find_start_models(job, source, folder)
    for notice in found.notices:
        complain(notice)
    return found
