"""Checks of windows over raw samples, and of alarms."""

from collections.abc import Mapping
from math import isfinite
from typing import NoReturn

from anabranch.errors import ConfigurationError
from pipelines.config.learner import task_of
from pipelines.config.sections import Job
from pipelines.config.signal import Alarm, Signal
from pipelines.config.wording import show

__all__ = ["check_signal"]

_OWN = ("partition", "key", "header", "field")


def check_signal(job: Job, learners: Mapping[str, type] | None = None) -> None:
    """Check [signal] and [alarm] against each other and the rest of a job.

    Raises
    ------
    ConfigurationError
        A key needs another, or does not fit the source or the learner.
    """
    task = task_of(job.learner, learners)
    if job.signal.window is None:
        _refuse_changed("signal", "window", job.signal, Signal())
    else:
        _check_window(job.signal)
        _check_source(job)
        if task == "multilabel":
            _fail(
                f"signal.window is {job.signal.window}, but learner.kind "
                f"{show(job.learner.kind)} learns sets of labels; a window has one rank or number"
            )
    if job.alarm.rise is None:
        _refuse_changed("alarm", "rise", job.alarm, Alarm())
        if job.output.alarms is not None:
            _fail(f"output.alarms is {show(job.output.alarms)}, but alarm.rise is none")
    else:
        _check_alarm(job, job.alarm.rise, task)


def _refuse_changed(name: str, switch: str, section: object, default: object) -> None:
    for key in type(section).__struct_fields__:  # type: ignore[attr-defined]
        value = getattr(section, key)
        if value != getattr(default, key):
            _fail(f"{name}.{key} is {show(value)}, but {name}.{switch} is none; it must be given")


def _check_window(signal: Signal) -> None:
    from anabranch.signal.entropy import shortest_window

    if signal.window is None:
        return
    if not isfinite(signal.noise):
        _fail(f"signal.noise is {show(signal.noise)}; it must be finite, at least 0")
    least = shortest_window(signal.modes, signal.order, 1)
    most = (signal.window - 2) // (signal.order - 1)
    if signal.window >= least and signal.delay > most:
        _fail(
            f"signal.delay is {signal.delay}, too long for an entropy of order {signal.order} in "
            f"signal.window = {signal.window} samples; it must be at most {most}"
        )
    if signal.window < least:
        _fail(
            f"signal.window is {signal.window}, too few samples for {signal.modes} modes and an "
            f"entropy of order {signal.order}; it must be at least {least}"
        )


def _check_source(job: Job) -> None:
    source, samples = job.source, job.signal.samples
    if source.generated:
        _fail(
            f"signal.window is {job.signal.window}, but source.kind {show(source.kind)} generates "
            "samples of its own; it must be a kind of records"
        )
    if source.id is not None:
        _fail(f"source.id is {show(source.id)}, which does not go with [signal]; leave it out")
    if source.node.partition(":")[0] not in _OWN:
        _fail(
            f"source.node is {show(source.node)}, which would deal a sensor's windows to many "
            "nodes; with [signal] it must be one of partition, key, header:NAME, field:NAME"
        )
    if source.shuffle:
        _fail("source.shuffle is true, but the samples of [signal] must come in their order")
    if samples > 1 and source.features is not None and len(source.features) != samples:
        _fail(
            f"signal.samples is {samples}, but source.features names {len(source.features)} "
            "fields; a record must have a field for each sample"
        )


def _check_alarm(job: Job, rise: int, task: str) -> None:
    if task != "ordinal":
        _fail(
            f"alarm.rise is {rise}, but learner.kind {show(job.learner.kind)} learns no ranks; "
            "leave it out"
        )
    if job.job.kind == "batch":
        _fail(f"alarm.rise is {rise}, but a batch job predicts nothing as it comes; leave it out")
    if rise >= job.learner.ranks:
        _fail(
            f"alarm.rise is {rise}; learner.ranks is {job.learner.ranks}, so it must be below that"
        )


def _fail(message: str) -> NoReturn:
    raise ConfigurationError(message)
