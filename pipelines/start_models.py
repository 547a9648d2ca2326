"""The models that a new job's nodes start from: found, checked, copied into the run directory."""

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from anabranch.errors import ConfigurationError, ModelError
from anabranch.learners import LEARNERS
from anabranch.model_file import read
from anabranch.protocol import NodeId
from anabranch.warm_start import shares_samples, warm_started
from operators.node_plan import POOLED
from pipelines.config import Job
from pipelines.config.wording import show
from pipelines.flow import fresh_learner
from pipelines.models import model_name
from pipelines.run_dir import RunDirectory
from pipelines.sources import JobSource

__all__ = ["StartModels", "find_start_models"]


@dataclass(frozen=True)
class StartModels:
    """From where nodes start.

    Attributes
    ----------
    files : the model file of each node that starts from one; `pooled` for the companion
    notices : sentences about those that do not start from their own
    """

    files: Mapping[NodeId, Path]
    notices: tuple[str, ...] = ()

    def stage(self, run_dir: RunDirectory) -> Path:
        """Copy the models beside the place they will have, under the names of their nodes.

        They may be those of the very run that is about to be replaced.

        Raises
        ------
        ConfigurationError
            The run directory cannot be written.
        """
        try:
            run_dir.path.mkdir(parents=True, exist_ok=True)
            staged = Path(tempfile.mkdtemp(prefix=".start-", dir=run_dir.path))
            for node, path in self.files.items():
                shutil.copyfile(path, staged / model_name(node))
        except OSError as error:
            raise ConfigurationError(f"the models of --from cannot be copied: {error}") from None
        return staged


def find_start_models(job: Job, source: JobSource, folder: Path) -> StartModels:
    """Find each node's model, and see that the job's learner can go on from it.

    A node without a model of its own starts from the pooled model, or the only one there is.

    Parameters
    ----------
    folder : of model files named after nodes; or the directory of a run

    Raises
    ------
    ConfigurationError
        There are no models, a model is damaged, or it is of another learner, other features,
        ranks or labels.
    """
    own, spare = _look(job, folder)
    common = None if shares_samples(LEARNERS[job.learner.kind]) else spare
    files: dict[NodeId, Path] = {}
    for node in job.hosted:
        found = own.get(node, common)
        if found is not None:
            files[node] = found
    if not files:
        raise ConfigurationError(
            f"--from is {show(str(folder))}, whose models are of no node of this job "
            f"({_some(job.hosted)}); allowed: files named after nodes, or a pooled model"
        )
    if POOLED in job.evaluation.companions and POOLED in own:
        files[POOLED] = own[POOLED]
    _check(job, source, files)
    return StartModels(files, tuple(_notices(job, own, files)))


def _look(job: Job, folder: Path) -> tuple[dict[NodeId, Path], Path | None]:
    """Give the models by node, and the one for nodes that have none."""
    run = RunDirectory(folder)
    place = run.models if run.models.is_dir() else folder
    there = sorted(place.glob("*.npz"))
    names = {model_name(node): node for node in (*job.hosted, POOLED)}
    own = {names[path.name]: path for path in there if path.name in names}
    pooled = run.path / "companions" / model_name(POOLED)
    if place == run.models and pooled.exists():
        own[POOLED] = pooled
    if not there and POOLED not in own:
        raise ConfigurationError(
            f"--from is {show(str(folder))}, which holds no models; allowed: a folder of .npz "
            "files named after nodes, or the directory of a run"
        )
    return own, own.get(POOLED, there[0] if len(there) == 1 else None)


def _check(job: Job, source: JobSource, files: Mapping[NodeId, Path]) -> None:
    for path in sorted(set(files.values())):
        try:
            warm_started(fresh_learner(job, source), read(path).state)
        except ModelError as error:
            text = str(error)
            where = "" if text.startswith(str(path)) else f"{path}: "
            raise ConfigurationError(f"--from cannot be used: {where}{text}") from None


def _notices(job: Job, own: Mapping[NodeId, Path], files: Mapping[NodeId, Path]) -> Iterator[str]:
    shared = [node for node in files if node not in own]
    if shared:
        yield f"{_some(shared)}: no model of their own, started from {files[shared[0]]}"
    fresh = [node for node in job.hosted if node not in files]
    if POOLED in job.evaluation.companions and POOLED not in files:
        fresh.append(POOLED)
    if fresh:
        yield f"{_some(fresh)}: no model, started from nothing"


def _some(names: Iterable[str]) -> str:
    """List names, but not too many.

    >>> _some(["a", "b"]), _some("abcdefg")
    ('a, b', 'a, b, c, d and 3 more')
    """
    listed = list(names)
    more = len(listed) - 4
    return ", ".join(listed[:4]) + (f" and {more} more" if more > 0 else "")
