"""Checks of jobs whose network may change while they run, or between two runs."""

from collections.abc import Mapping
from typing import NoReturn

from anabranch.errors import ConfigurationError
from pipelines.config.learner import learner_class, registry
from pipelines.config.sections import Job
from pipelines.config.targets import Target
from pipelines.config.wording import show

__all__ = ["check_control", "check_rewirable"]


def check_control(job: Job, learners: Mapping[str, type] | None = None) -> None:
    """Check `network.control`, where it is set.

    Parameters
    ----------
    learners : learners by name; the registry unless given

    Raises
    ------
    ConfigurationError
        It names nothing, or the job's network may not change.
    """
    control = job.network.control
    if control is None:
        return
    if not Target.of(control).name:
        _fail(f"network.control is {show(control)}; it must name a file or a topic")
    try:
        check_rewirable(job, learners)
    except ConfigurationError as error:
        _fail(f"network.control is {show(control)}, but {error}")


def check_rewirable(job: Job, learners: Mapping[str, type] | None = None) -> None:
    """Tell whether a job's network may change at all.

    Parameters
    ----------
    learners : learners by name; the registry unless given

    Raises
    ------
    ConfigurationError
        The learner, the kind of job, its sites or the lack of snapshots do not allow it.
    """
    kind = job.learner.kind
    learner = learner_class(kind, learners)
    if not getattr(learner, "rewires", False):
        _fail(
            f"learner.kind is {show(kind)}, which needs the network it began with; allowed: "
            f"{', '.join(_rewiring(learners))}"
        )
    if job.exchange.policy == "event" and hasattr(learner, "join"):
        _fail(
            'exchange.policy is "event", under which nodes that stand still would not tell who '
            'joins what they know; allowed with this learner: "every"'
        )
    if job.job.kind == "batch":
        _fail('job.kind is "batch", whose network is the same in all rounds; allowed: "stream"')
    if job.exchange.transport != "local":
        _fail(
            f"exchange.transport is {show(job.exchange.transport)}, and sites would have to change "
            'their networks in the same round; allowed: "local"'
        )
    if job.recovery.dir is None:
        _fail("recovery.dir is none, and a changed network begins at a snapshot; allowed: a folder")


def _rewiring(learners: Mapping[str, type] | None) -> list[str]:
    known = registry() if learners is None else learners
    return sorted(name for name, one in known.items() if getattr(one, "rewires", False))


def _fail(message: str) -> NoReturn:
    raise ConfigurationError(message)
