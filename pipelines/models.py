"""The sink of final models: one file a node."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bytewax.outputs import DynamicSink, StatelessSinkPartition
from typing_extensions import override

from anabranch import save
from anabranch.errors import ModelError
from anabranch.learners import LEARNERS
from anabranch.protocol import Learner
from operators.items import Final
from operators.node_plan import POOLED
from pipelines.config import Job
from pipelines.records import csv_settings, record_settings

__all__ = ["ModelSink", "model_metadata", "model_name"]

log = logging.getLogger("anabranch.output")


def model_name(node: str) -> str:
    """Name a node's model file; node names are free text, file names are not.

    >>> model_name("plant 7/line 2")
    'plant%207%2Fline%202.npz'
    """
    return f"{quote(node, safe='')}.npz"


def model_metadata(job: Job, features: Sequence[str]) -> dict[str, Any]:
    """Give what a model file keeps beside the model: how to read records for it."""
    named = {"features": list(features), "label": job.source.label, "csv": csv_settings(job)}
    settings = None if features else record_settings(job)
    return named if settings is None else {**named, "records": settings}


class _Writer(StatelessSinkPartition[Final]):
    def __init__(self, sink: "ModelSink") -> None:
        self._sink = sink

    @override
    def write_batch(self, items: list[Final]) -> None:
        for final in items:
            try:
                learner = LEARNERS[self._sink.kind].restore(final.model)
            except ModelError as error:
                # Diverged parameters make no model; the other nodes' are written all the same.
                where = {"node": final.node}
                log.warning("no model file of node %r: %s", final.node, error, extra=where)
            else:
                self._save(learner, final)

    def _save(self, learner: Learner, final: Final) -> None:
        folder = self._sink.folder
        if final.learner == POOLED:
            folder = folder.parent / "companions"
        folder.mkdir(parents=True, exist_ok=True)
        metadata = {**self._sink.metadata, "node": final.node, "learner": final.learner}
        save(learner, folder / model_name(final.node), metadata)


@dataclass(frozen=True)
class ModelSink(DynamicSink[Final]):
    """Write each node's model to its own file, whole or not at all.

    Writing again gives the same file, so a repeat after a crash does no harm. A model whose
    parameters diverged is left out, and named in the process's log.
    """

    folder: Path
    kind: str
    metadata: dict[str, Any]

    @override
    def build(self, step_id: str, worker_index: int, worker_count: int) -> _Writer:
        return _Writer(self)
