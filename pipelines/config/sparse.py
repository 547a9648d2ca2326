"""Which jobs have sparse rows: those whose learner and companions all take them."""

from collections.abc import Mapping

from anabranch.protocol import takes_sparse
from pipelines.config.baselines import baselines
from pipelines.config.learner import learner_class, registry
from pipelines.config.sections import Job

__all__ = ["DENSE_MOST", "dense_only", "sparse_learners", "sparse_rows"]

DENSE_MOST = 10_000
"""Columns of texts, and of svmlight and jsonl files, for what takes arrays only."""


def sparse_learners(learners: Mapping[str, type] | None = None) -> list[str]:
    """Name the learners that take sparse rows."""
    known = registry() if learners is None else learners
    return [name for name, learner in known.items() if takes_sparse(learner)]


def dense_only(
    job: Job, learners: Mapping[str, type] | None = None
) -> tuple[str, str, list[str]] | None:
    """Find what takes arrays only: its key, its name, and names that are allowed in its place."""
    if not takes_sparse(learner_class(job.learner.kind, learners)):
        return "learner.kind", job.learner.kind, sparse_learners(learners)
    own = ["local", "pooled"]
    for name in job.evaluation.companions:
        if name not in own and not takes_sparse(baselines()[name]):
            others = [kind for kind, other in baselines().items() if takes_sparse(other)]
            return "evaluation.companions", name, [*own, *others]
    return None


def sparse_rows(job: Job) -> bool:
    """Tell whether rows of a job are sparse."""
    return job.source.columns_in_all is not None and dense_only(job) is None
