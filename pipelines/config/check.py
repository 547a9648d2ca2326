"""Checks between keys: what each key allows by itself is settled before."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn

from msgspec import NODEFAULT
from msgspec.structs import fields

from anabranch.errors import ConfigurationError
from pipelines.config.build import build_weights
from pipelines.config.check_drift import check_drift
from pipelines.config.check_kafka import check_kafka, check_sites
from pipelines.config.check_network import check_control
from pipelines.config.check_signal import check_signal
from pipelines.config.check_task import check_task
from pipelines.config.check_text import check_text, check_width
from pipelines.config.logs import check_logs
from pipelines.config.sections import Job
from pipelines.config.source import FILES
from pipelines.config.targets import Target
from pipelines.config.wording import show

__all__ = ["check_job"]

_GENERATORS = "generators"
_ONLY = {
    "csv, jsonl, arff and svmlight": ("paths", "follow", "shuffle", "split", "split_row"),
    "csv, jsonl, arff and kafka": ("label", "label_xml", "features"),
    "csv, jsonl and kafka": ("label_list", "label_separator", "new_labels", "max_labels", "text"),
    "csv, jsonl, kafka and reviews": ("text_bits", "ngrams"),
    "csv and kafka": ("columns", "separator"),
    "csv": ("header",),
    "jsonl, svmlight and kafka": ("sparse_width",),
    "svmlight": ("index_base",),
    "csv, jsonl, arff, svmlight and kafka": ("linger",),
    _GENERATORS: ("rows", "partitions"),
    "wide and labelled": ("width", "noise"),
    "drifting": ("drift", "drift_every", "drift_over", "drift_shift", "drift_sites"),
    "kafka": (
        "topics", "format", "start", "until_end", "on_expired", "id", "label_wait", "label_limit",
    ),
}  # fmt: skip
"""Keys of [source] by the kinds of source they apply to."""


def check_job(job: Job, learners: Mapping[str, type] | None = None) -> None:
    """Check a job's keys against each other, and that its files are there.

    Parameters
    ----------
    learners : learners by name; the registry unless given

    Raises
    ------
    ConfigurationError
        Two keys contradict each other, or one needs another.
    NetworkError
        The graph or its weights cannot be used.
    """
    for check in _CHECKS:
        check(job)
    check_task(job, learners)
    check_control(job, learners)
    check_width(job, learners)
    check_signal(job, learners)
    check_drift(job, learners)


def _fail(message: str) -> NoReturn:
    raise ConfigurationError(message)


def _changed(section: object, key: str) -> bool:
    default = next(f.default for f in fields(type(section)) if f.name == key)  # type: ignore[arg-type]
    return default is not NODEFAULT and getattr(section, key) != default


def _check_name(job: Job) -> None:
    name = job.job.name
    if not name or name in (".", "..") or any(sign in name for sign in "/\\\0"):
        _fail(f"job.name is {show(name)}; it must be usable as the name of a folder")


def _check_applicable(job: Job) -> None:
    source = job.source
    for owner, keys in _ONLY.items():
        own = source.generated if owner == _GENERATORS else source.kind in _names_in(owner)
        for key in keys if not own else ():
            if _changed(source, key):
                _fail(
                    f"source.{key} is {show(getattr(source, key))}, but applies to {owner} only; "
                    f"source.kind is {show(source.kind)}"
                )


def _names_in(owner: str) -> list[str]:
    return owner.replace(" and ", ", ").split(", ")


def _check_drift_sites(job: Job) -> None:
    source = job.source
    strange = [site for site in source.drift_sites if site >= source.partitions]
    if strange:
        _fail(
            f"source.drift_sites has {strange[0]}; source.partitions is {source.partitions}, so it "
            "must be below that"
        )


def _check_paths(job: Job) -> None:
    if job.source.kind not in FILES:
        return
    if not job.source.paths:
        _fail("source.paths is empty; it must name one or more files")
    for path in job.source.paths:
        if not Path(path).is_file():
            _fail(f"source.paths has {show(path)}; there must be a file of that name")
    names = [str(Path(path).resolve()) for path in job.source.paths]
    twice = next((p for p, n in zip(job.source.paths, names, strict=True) if names.count(n) > 1), 0)
    if twice:
        _fail(f"source.paths has {show(twice)} twice; each file must be named once")


def _check_fields(job: Job) -> None:
    source, features = job.source, job.source.features
    field = source.node_name if source.node.startswith("field:") else None
    if field is not None and source.generated:
        _fail(
            f"source.node is {show(source.node)}, but generated samples have no fields; it "
            "must be one of round-robin, hash, partition"
        )
    if source.kind != "kafka" and source.node.startswith(("key", "header:", "id")):
        _fail(
            f"source.node is {show(source.node)}, but applies to kafka only; source.kind is "
            f"{show(source.kind)}"
        )
    label = source.label if source.label_list or not source.labels else None
    if field is not None and field == label:
        _fail(f"source.node names the label, {show(field)}; it must be another field")
    if features is None:
        return
    if not features or len(set(features)) < len(features):
        _fail(f"source.features is {show(features)}; it must name each feature once")
    for name, key in ((label, "label"), (field, "node")):
        if name in features:
            _fail(f"source.features has {show(name)}, which is source.{key}; it must be left out")


def _check_split(job: Job) -> None:
    source = job.source
    if source.split is None:
        if source.split_row is not None:
            _fail(f"source.split_row is {source.split_row}, but source.split names no file")
        return
    if source.split_row is None:
        _fail("source.split needs source.split_row, the line of that file to use, from 0")
    if len(source.paths) != 1:
        _fail(f"source.split needs one file; source.paths names {len(source.paths)}")
    _check_split_row(source.split, source.split_row)


def _check_split_row(split: str, row: int) -> None:
    if not Path(split).is_file():
        _fail(f"source.split is {show(split)}; there must be a file of that name")
    with open(split, "rb") as file:
        lines = sum(1 for line in file if line.strip())
    if row >= lines:
        _fail(f"source.split_row is {row}; {split} has {lines} lines, so it must be below {lines}")


def _check_endless(job: Job) -> None:
    source = job.source
    if source.follow:
        for key in ("shuffle", "split"):
            if getattr(source, key):
                _fail(f"source.follow and source.{key} exclude each other; set one of them")
        packed = next((path for path in source.paths if path.endswith(".gz")), None)
        if packed:
            _fail(f"source.follow cannot read {show(packed)}: a packed file does not grow")
    elif source.kind in FILES and _changed(source, "linger"):
        _fail(
            f"source.linger is {show(source.linger)}, but files that do not grow are not waited "
            "for; it applies with source.follow"
        )
    if job.job.kind == "batch" and not source.bounded:
        wanted = {"kafka": "source.until_end must be true"}.get(
            source.kind,
            "source.rows must be given" if source.generated else "source.follow must be false",
        )
        _fail(f'job.kind is "batch", which needs a source that ends; {wanted}')


def _check_network(job: Job) -> None:
    network = job.network
    if network.graph != "edges" and network.edges is not None:
        _fail(
            f"network.edges is {show(network.edges)}, but network.graph is "
            f'{show(network.graph)}; it must be "edges"'
        )
    for key in ("degree", "connectivity"):
        if network.graph != "random" and _changed(network, key):
            value = show(getattr(network, key))
            _fail(
                f"network.{key} is {value}, but applies to random graphs only; "
                f"network.graph is {show(network.graph)}"
            )
    if network.connectivity is not None and _changed(network, "degree"):
        _fail("network.degree and network.connectivity exclude each other; give one of them")
    build_weights(network)


def _check_exchange(job: Job) -> None:
    rounds = job.exchange.rounds_per_tick
    if rounds > 1 and job.job.kind == "batch":
        _fail(
            f"exchange.rounds_per_tick is {rounds}, but a batch job has one tick; set "
            "exchange.rounds instead"
        )
    if job.exchange.policy == "event" and job.learner.kind.startswith("elastic-net"):
        _fail(
            'exchange.policy is "event", but an elastic net\'s nodes speak only when that pays '
            '(learner.relative), and must be heard then; it must be "every"'
        )


def _check_durations(job: Job) -> None:
    for section, key in (("exchange", "stale_after"), ("exchange", "idle_every")):
        value = getattr(getattr(job, section), key)
        if value <= 0:
            _fail(f"{section}.{key} is {show(value)}; it must be longer than 0s")
    # Health takes a process that is silent for ten seconds for lost.
    if not 0.1 <= job.monitor.interval <= 5:
        _fail(f"monitor.interval is {show(job.monitor.interval)}; it must be from 100ms to 5s")


def _check_outputs(job: Job) -> None:
    output = job.output
    targets = [
        (key, Target.of(value))
        for key in ("dead_letters", "predictions", "alarms", "scores")
        if (value := getattr(output, key)) is not None
    ]
    for number, (key, target) in enumerate(targets):
        if not target.name:
            _fail(f"output.{key} is {show(getattr(output, key))}; it must name a file or a topic")
        if target.same_as(tuple(other for _, other in targets[:number])):
            _fail(
                f"output.{key} is {show(getattr(output, key))}; it must be a place of its own, "
                f"not that of output.{targets[0][0]}"
            )
        if key == "scores" and not target.topic:
            _fail(f"output.scores is {show(output.scores)}; it must be kafka:TOPIC")


_CHECKS: tuple[Callable[[Job], None], ...] = (
    _check_name,
    _check_applicable,
    _check_drift_sites,
    _check_paths,
    _check_fields,
    _check_split,
    _check_endless,
    _check_network,
    _check_exchange,
    _check_durations,
    _check_outputs,
    check_text,
    check_kafka,
    lambda job: check_logs(job.logs),
    check_sites,
)
