"""Defaults of windows over raw samples, and of alarms."""

from collections.abc import Collection
from math import ceil
from pathlib import Path

from msgspec.structs import replace

from pipelines.config.sections import Job

__all__ = ["derive_signal"]


def derive_signal(job: Job, given: Collection[str]) -> Job:
    """Fill in what windows and alarms need, where the job does not say; before `rows_per_tick`.

    Parameters
    ----------
    given : the keys that the job states, as "section.key"
    """
    if job.alarm.rise is not None and job.output.alarms is None:
        place = str(Path(job.job.run_dir) / "alarms.jsonl")
        job = replace(job, output=replace(job.output, alarms=place))
    signal, source = job.signal, job.source
    if signal.window is None:
        return job
    hop = signal.window if signal.hop is None else signal.hop
    if "source.node" not in given:
        source = replace(source, node="partition")
    if signal.samples > 1 and source.features is None:
        digits = len(str(signal.samples - 1))
        names = tuple(f"s{number:0{digits}}" for number in range(signal.samples))
        source = replace(source, features=names)
    if "source.rows_per_tick" not in given and job.job.kind == "stream":
        # A window a tick: nodes exchange as often as they learn.
        source = replace(source, rows_per_tick=max(1, ceil(hop / signal.samples)))
    return replace(job, signal=replace(signal, hop=hop), source=source)
