"""Checks of what depends on the learner's task: labels, ranks, companions."""

from collections.abc import Mapping
from typing import NoReturn

from anabranch.errors import ConfigurationError, nearest
from anabranch.protocol import Task
from pipelines.config.baselines import baselines
from pipelines.config.build import build_stream, build_weights
from pipelines.config.learner import task_of
from pipelines.config.sections import Job
from pipelines.config.source import GENERATORS, Source
from pipelines.config.wording import show

__all__ = ["check_task"]

_LEARNED: dict[Task, str] = {
    "ordinal": "ranks",
    "regression": "numbers",
    "multilabel": "sets of labels",
}


def check_task(job: Job, learners: Mapping[str, type] | None = None) -> None:
    """Check labels, ranks and companions against what the learner learns.

    Raises
    ------
    ConfigurationError
        They do not fit it, or each other.
    """
    task = task_of(job.learner, learners)
    _check_companions(job, task)
    _check_generator(job, task)
    if task != "multilabel":
        _check_single(job, task)
        _check_shape(job)
        return
    if job.learner.ranks != type(job.learner)().ranks:
        _fail(f"learner.ranks is {job.learner.ranks}, but {_learner(job, task)}; leave it out")
    _check_predictor(job)
    if not job.source.generated:
        _check_list(job.source)
        _check_columns(job, task)


def _check_shape(job: Job) -> None:
    """Refuse a learner around a server on a graph that is no star."""
    if job.learner.options.get("shape") != "server" or len(job.network.names) == 1:
        return
    from anabranch.learners.elastic_net_network import elastic_net_roles

    try:
        elastic_net_roles(build_weights(job.network).graph, "server")
    except ConfigurationError:
        _fail(
            f'learner.shape is "server", which needs a star, but network.graph is '
            f'{show(job.network.graph)}; set network.graph = "star", or learner.shape = "graph"'
        )


def _learner(job: Job, task: Task) -> str:
    return f"learner.kind {show(job.learner.kind)} learns {_LEARNED[task]}"


def _check_predictor(job: Job) -> None:
    """Refuse a learned threshold where no sample is predicted before it is learned."""
    options = job.learner.options
    predictor = options.get("predictor", "linear")
    learned = predictor in ("threshold", "per-label") or (
        predictor is None and not options.get("literal")
    )
    if job.job.kind == "batch" and learned:
        _fail(
            f"learner.predictor is {show(predictor)}, a threshold learned from predictions made "
            "before learning, and a batch job makes none; it must be one of linear, mlknn"
        )
    if job.job.kind == "batch" and options.get("cache") and predictor != "mlknn":
        _fail(
            f"learner.cache is {options['cache']}, but a batch job fits all rows of a shard; it "
            "must be 0"
        )


def _check_companions(job: Job, task: Task) -> None:
    companions = job.evaluation.companions
    if len(set(companions)) < len(companions):
        _fail(f"evaluation.companions is {show(companions)}; it must name each companion once")
    for name in companions:
        if name not in ("local", "pooled"):
            _check_baseline(job, task, name)
    taken = next((name for name in ("pooled", *companions) if name in job.network.names), None)
    if taken is not None:
        _fail(f"network.nodes has {show(taken)}, the companion's name; it must be any other name")


def _check_baseline(job: Job, task: Task, name: str) -> None:
    tasks = {known: baseline.task for known, baseline in baselines().items()}
    fitting = ["local", "pooled", *(known for known in tasks if tasks[known] == task)]
    if name not in tasks:
        _fail(f"evaluation.companions has {show(name)}{nearest(name, fitting)}")
    if tasks[name] != task:
        _fail(
            f"evaluation.companions has {show(name)}, a baseline of {_LEARNED[tasks[name]]}, but "
            f"{_learner(job, task)}; allowed: {', '.join(fitting)}"
        )
    _check_central(job, name)


def _check_central(job: Job, name: str) -> None:
    """Refuse a baseline that is solved anew for all rows, where rows or its kernel do not fit."""
    kernels = getattr(baselines()[name], "kernels", None)
    if kernels is None:
        return
    if job.job.kind == "stream":
        _fail(
            f"evaluation.companions has {show(name)}, which a stream would solve anew for every "
            'sample; job.kind must be "batch" with it'
        )
    kernel = job.learner.options.get("kernel", kernels[0])
    if kernel not in kernels:
        _fail(
            f"learner.kernel is {show(kernel)}, which {show(name)} in evaluation.companions does "
            f"not know; allowed with it: {', '.join(kernels)}"
        )
    if job.learner.options.get("lam") == 0:
        _fail(
            f"learner.lam is {show(job.learner.options['lam'])}, which {show(name)} in "
            "evaluation.companions divides by; allowed with it: above 0"
        )


def _check_generator(job: Job, task: Task) -> None:
    source = job.source
    if not source.generated or (source.kind == "labelled") == (task == "multilabel"):
        _check_ranks(job, task)
        return
    ranked = tuple(kind for kind in GENERATORS if kind != "labelled")
    _fail(
        f"source.kind is {show(source.kind)}, whose samples have "
        f"{'sets of labels' if source.kind == 'labelled' else 'ranks'}, but {_learner(job, task)}; "
        f"it must be {'labelled' if task == 'multilabel' else 'one of ' + ', '.join(ranked)}, or "
        "a kind of records"
    )


def _check_ranks(job: Job, task: Task) -> None:
    if not job.source.generated or task != "ordinal":
        return
    given = build_stream(job.source).ranks
    if job.learner.ranks < given:
        _fail(
            f"learner.ranks is {job.learner.ranks}; source.kind {show(job.source.kind)} has "
            f"labels up to {given}, so it must be at least that"
        )


def _check_single(job: Job, task: Task) -> None:
    for key in ("label_xml", "labels", "label_list"):
        value = getattr(job.source, key)
        if value:
            _fail(f"source.{key} is {show(value)}, but {_learner(job, task)}; leave it out")


def _check_list(source: Source) -> None:
    if not source.label_list:
        for key in ("new_labels", "label_separator"):
            _check_default(source, key, "source.label_list is false")
    if source.new_labels != "grow":
        _check_default(source, "max_labels", f"source.new_labels is {show(source.new_labels)}")
    if not source.label_list:
        return
    if source.label_separator != ";" and "csv" not in (source.kind, source.format):
        _fail(
            f"source.label_separator is {show(source.label_separator)}, but applies to csv only; "
            "elsewhere a list of labels is an array"
        )
    if not source.label_separator:
        _fail('source.label_separator is ""; it must be one or more characters')
    if not source.labels and source.new_labels != "grow":
        _fail(
            f"source.new_labels is {show(source.new_labels)}, but source.labels is empty, so "
            'there would be no label at all; it must be "grow"'
        )


def _check_default(source: Source, key: str, why: str) -> None:
    value = getattr(source, key)
    if value != getattr(Source(kind="csv"), key):
        _fail(f"source.{key} is {show(value)}, but {why}")


def _check_columns(job: Job, task: Task) -> None:
    source = job.source
    if source.label_list:
        return
    if not source.labels:
        _fail(
            f"source.labels is empty, but {_learner(job, task)}; it must name the fields that hold "
            "them, or source.label_xml a file that does, or source.label_list must be true"
        )
    if source.label != "y":
        _fail(
            f"source.label is {show(source.label)}, but source.labels names the labels' fields; "
            "give one of them"
        )
    id_field = (source.id or "").removeprefix("field:")
    places = [(name, "features") for name in source.features or ()]
    places += [(source.node_name, "node"), (id_field, "id")]  # type: ignore[list-item]
    for name, key in places:
        if name in source.label_names:
            _fail(f"source.{key} has {show(name)}, which is in source.labels; it must be another")


def _fail(message: str) -> NoReturn:
    raise ConfigurationError(message)
