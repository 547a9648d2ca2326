"""The summary of a run, from what it left in its directory."""

import json
from typing import Any

from pipelines.config import Job, Target
from pipelines.run_dir import RunDirectory, read_lines, write_whole

__all__ = ["summarise", "write_summary"]


def summarise(
    job: Job, run_dir: RunDirectory, *, seconds: float, signalled: bool, failed: bool = False
) -> dict[str, Any]:
    """Put final scores and counts of a run together.

    Parameters
    ----------
    seconds : how long it took, wall time
    signalled : whether a signal ended it before its input did
    failed : whether it ended by a failure
    """
    from pipelines.networks import networks_of

    final = run_dir.final_rows()
    main = final.get("cooperative") or next(iter(final.values()), {})
    network = networks_of(job, run_dir.networks).eras[-1]
    samples = int(main.get("samples", 0))
    return {
        "rounds": int(main["round"]) + 1 if "round" in main else 0,
        "samples": samples,
        "seconds": seconds,
        "rate": samples / seconds if seconds else 0.0,
        "nodes": len(network.nodes),
        "edges": len(network.edges),
        "final": final,
        "dead_letters": run_dir.count_dead_letters(job),
        **_alarms(job),
        "stopped": "signal" if signalled else "failure" if failed else "end",
    }


def _alarms(job: Job) -> dict[str, int]:
    """Count the alarms that were raised, where they went to a file."""
    path = Target.of(job.output.alarms).path if job.output.alarms else None
    if path is None or not path.exists():
        return {}
    return {"alarms": sum(alarm["kind"] == "raised" for alarm in read_lines(path))}


def write_summary(
    job: Job, run_dir: RunDirectory, *, seconds: float, signalled: bool, failed: bool = False
) -> None:
    """Write summary.json; parameters as for `summarise`."""
    summary = summarise(job, run_dir, seconds=seconds, signalled=signalled, failed=failed)
    write_whole(run_dir.summary, json.dumps(summary, indent=2))
