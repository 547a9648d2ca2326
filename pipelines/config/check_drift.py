"""Checks of [drift] against the rest of a job."""

from collections.abc import Mapping
from typing import Any

from anabranch.errors import ConfigurationError
from pipelines.config.drift import DriftSection
from pipelines.config.learner import learner_class, takes_labels
from pipelines.config.sections import Job
from pipelines.config.wording import show

__all__ = ["check_drift"]


def check_drift(job: Job, learners: Mapping[str, type] | None = None) -> None:
    """Check that a job can look for drift as it asks, and that its learner has the policy.

    Raises
    ------
    ConfigurationError
        A key needs another, or the learner cannot do what drift.policy says.
    """
    drift = job.drift
    if drift.detector == "none":
        for key in DriftSection.__struct_fields__:
            value = getattr(drift, key)
            if value != getattr(DriftSection(), key):
                raise ConfigurationError(
                    f"drift.{key} is {show(value)}, but drift.detector is none; it must be given"
                )
        return
    if job.job.kind == "batch":
        raise ConfigurationError(
            f"drift.detector is {show(drift.detector)}, but a batch job predicts nothing as it "
            "comes; leave it out"
        )
    allowed = _policies(job, learners)
    if drift.policy not in allowed:
        raise ConfigurationError(
            f"drift.policy is {show(drift.policy)}, which learner.kind {show(job.learner.kind)} "
            f"with these options has not; it must be one of {', '.join(allowed)}"
        )


def _policies(job: Job, learners: Mapping[str, type] | None) -> tuple[str, ...]:
    from anabranch.drift import reactions_of

    section, make = job.learner, learner_class(job.learner.kind, learners)
    known: dict[str, Any] = {"labels": job.source.label_names} if takes_labels(make) else {}
    return reactions_of(make(1, section.ranks, **known, **section.options))
