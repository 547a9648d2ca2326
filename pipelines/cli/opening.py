"""The first words of a run."""

import logging

from rich.console import Console

from pipelines.cli.progress import print_line
from pipelines.config import Job
from pipelines.run_dir import RunDirectory

__all__ = ["announce", "say"]

log = logging.getLogger("anabranch.run")


def announce(job: Job, run_dir: RunDirectory, console: Console) -> None:
    """Tell which job begins, and where."""
    from pipelines.networks import networks_of

    nodes = f"{len(networks_of(job, run_dir.networks).eras[-1].nodes)}"
    if job.sites.here is not None:
        nodes = f"site {job.sites.here} with {len(job.hosted)} of {nodes}"
    text = (
        f"{job.job.name}: {nodes} nodes, {job.learner.kind}, {job.exchange.mode}; "
        f"run directory {run_dir.path}"
    )
    say(job, console, text)


def say(job: Job, console: Console, text: str) -> None:
    """Tell people whatever the level is; in JSON, as a line of the log."""
    if job.logs.format == "json":
        log.info(text)
    else:
        print_line(console, text)
