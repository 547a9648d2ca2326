"""The files that a job's outputs go to."""

from anabranch.errors import ConfigurationError
from pipelines.config.sections import Job
from pipelines.config.targets import Target
from pipelines.config.wording import show

__all__ = ["remove_outputs"]


def remove_outputs(job: Job) -> None:
    """Remove the files of an earlier run that dead letters, predictions and alarms go to.

    Raises
    ------
    ConfigurationError
        One cannot be removed, or not be made anew.
    """
    for key in ("dead_letters", "predictions", "alarms"):
        text = getattr(job.output, key)
        path = Target.of(text).path if text else None
        if path is None:
            continue
        try:
            path.unlink(missing_ok=True)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            path.unlink()
        except OSError as error:
            raise ConfigurationError(
                f"output.{key} is {show(text)}, which cannot be written: {error.strerror}"
            ) from None
