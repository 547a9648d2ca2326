"""What a resumed job may have changed, and what decides its results."""

from typing import Any

from pipelines.config.decode import encode
from pipelines.config.kafka import Connection
from pipelines.config.sections import Job
from pipelines.config.targets import Target

__all__ = ["changed_keys", "kept_keys", "renamed_outputs"]

_FREE_SECTIONS = ("output", "recovery", "parallel", "kafka", "logs", "monitor", "network")
"""Of these [network] has rules of its own: see `pipelines.rewiring`."""
_FREE_KEYS = (
    "job.name",
    "job.run_dir",
    "source.linger",
    "source.on_expired",
    "evaluation.window",
    "evaluation.every",
    "evaluation.per_label",
    *(f"sites.{key}" for key in Connection.__struct_fields__),
)


def changed_keys(old: Job, new: Job) -> dict[str, tuple[Any, Any]]:
    """Give the keys in which two jobs differ and that decide results: key -> (old, new)."""
    before, after = encode(old), encode(new)
    return {
        f"{section}.{key}": (before[section].get(key), after[section].get(key))
        for section in sorted(before, key=lambda name: name != "job")
        if section not in _FREE_SECTIONS
        for key in sorted(before[section].keys() | after[section].keys())
        if f"{section}.{key}" not in _FREE_KEYS
        and before[section].get(key) != after[section].get(key)
    }


def kept_keys(before: Job) -> dict[str, Any]:
    """Give the keys that a resumed job keeps where it does not state them.

    Their defaults depend on the number of nodes, and the job goes on as it began.
    """
    return {"source.rows_per_tick": before.source.rows_per_tick}


def renamed_outputs(old: Job, new: Job) -> dict[str, tuple[Any, Any]]:
    """Give the outputs that may not have another name, and have one: key -> (old, new)."""
    # They are counted in the end. Snapshots know files by their names; folders may be moved.
    pairs = {
        f"output.{key}": (getattr(old.output, key), getattr(new.output, key))
        for key in ("dead_letters", "alarms")
    }
    return {key: (was, now) for key, (was, now) in pairs.items() if _place(was) != _place(now)}


def _place(text: str | None) -> str:
    target = Target.of(text or "")
    return target.name if target.path is None else target.path.name
