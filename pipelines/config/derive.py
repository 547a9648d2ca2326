"""Defaults that depend on other keys."""

import glob
from collections.abc import Collection, Mapping
from datetime import datetime
from math import ceil
from pathlib import Path

from msgspec.structs import replace

from anabranch.errors import ConfigurationError
from anabranch.protocol import takes_sparse
from pipelines.config.build import build_stream
from pipelines.config.derive_signal import derive_signal
from pipelines.config.edges import read_edges
from pipelines.config.kafka import Connection
from pipelines.config.labels import GENERATED, complete_labels
from pipelines.config.learner import complete_learner, learner_class, task_of
from pipelines.config.model_size import check_size
from pipelines.config.sections import Job, Output
from pipelines.config.targets import OUTPUTS

__all__ = ["DERIVED", "ROWS_PER_NODE", "derive"]

EVERYTHING = 1 << 40
"""Rows of a batch job's only tick: more than any source has."""
ROWS_PER_NODE = 10
"""Rows a node gets in a tick, on average, where the job does not say."""

DERIVED: dict[str, str] = {
    "job.name": "the job file's name, without .toml",
    "job.run_dir": '"runs/{name}"',
    "source.labels": f"the names in source.label_xml; {GENERATED} of the labelled generator",
    "source.new_labels": '"grow" for lists without source.labels, else "refuse"',
    "source.rows_per_tick": f"{ROWS_PER_NODE} x nodes / partitions, with sets of labels nodes / "
    "partitions; what signal.hop takes; all rows in a batch job",
    "source.node": '"round-robin", with [signal] "partition"',
    "source.seed": "job.seed",
    "network.nodes": "20, or the names in network.edges",
    "network.graph": '"random", or "edges" where network.edges is given',
    "network.seed": "job.seed",
    "learner.ranks": "known for generators; required otherwise, by learners of ranks",
    "sites.run": "job.name",
    "sites.topic": '"anabranch.parameters.{run}"',
    "exchange.mode": '"synchronous" on bounded sources, "asynchronous" on endless ones',
    "signal.hop": "signal.window",
    "output.dead_letters": '"{run_dir}/dead_letters.jsonl"',
    "output.alarms": '"{run_dir}/alarms.jsonl" with alarm.rise',
}
"""What `describe` says of defaults that depend on other keys."""


def derive(job: Job, given: Collection[str], learners: Mapping[str, type] | None = None) -> Job:
    """Fill in the defaults that depend on other keys.

    Parameters
    ----------
    given : the keys that the job states, as "section.key"; these are kept
    learners : learners by name; the registry unless given

    Raises
    ------
    ConfigurationError
        A key is missing that has no default here, or cannot be used.
    """
    job = replace(job, job=replace(job.job, run_dir=_run_dir(job)))
    job = replace(job, recovery=replace(job.recovery, dir=_place(job, "recovery", "dir")))
    job = replace(job, network=replace(job.network, control=_place(job, "network", "control")))
    job = replace(job, output=_outputs(job))
    job = _network(_source_files(job), given)
    job = _sites(job)
    job = replace(job, source=complete_labels(job.source, given))
    job = derive_signal(_ticks(job, given, learners), given)
    job = _small_defaults(job, given)
    return _learner(job, given, learners)


def _run_dir(job: Job) -> str:
    if not job.job.run_dir.strip():
        raise ConfigurationError('job.run_dir is ""; it must name a folder')
    now = datetime.now().strftime("%Y%m%d-%H%M%S")
    try:
        return job.job.run_dir.format(name=job.job.name, time=now)
    except (KeyError, IndexError, ValueError, AttributeError):
        raise ConfigurationError(
            f'job.run_dir is "{job.job.run_dir}"; it may hold {{name}} and {{time}}, '
            "and no other braces"
        ) from None


def _place(job: Job, section: str, key: str) -> str | None:
    place: str | None = getattr(getattr(job, section), key)
    if place is None:
        return None
    try:
        return place.format(name=job.job.name, run_dir=job.job.run_dir)
    except (KeyError, IndexError, ValueError, AttributeError):
        raise ConfigurationError(
            f'{section}.{key} is "{place}"; it may hold {{name}} and {{run_dir}}, and no other '
            "braces"
        ) from None


def _outputs(job: Job) -> Output:
    texts = {key: getattr(job.output, key) for key in OUTPUTS}
    names = {"name": job.job.name, "run_dir": job.job.run_dir}
    try:
        filled = {key: text and text.format(**names) for key, text in texts.items()}
    except (KeyError, IndexError, ValueError, AttributeError):
        wrong = next(key for key, text in texts.items() if text and "{" in text)
        raise ConfigurationError(
            f'output.{wrong} is "{texts[wrong]}"; it may hold {{name}} and {{run_dir}}, and no '
            "other braces"
        ) from None
    return replace(job.output, **filled)


def _source_files(job: Job) -> Job:
    paths: list[str] = []
    for path in job.source.paths:
        wild = any(sign in path for sign in "*?[") and not Path(path).exists()
        found = sorted(glob.glob(path)) if wild else [path]
        if not found:
            raise ConfigurationError(f'source.paths has "{path}", which no file matches')
        paths.extend(found)
    return replace(job, source=replace(job.source, paths=tuple(paths)))


def _network(job: Job, given: Collection[str]) -> Job:
    network = job.network
    if network.edges is not None and "network.graph" not in given:
        network = replace(network, graph="edges")
    if network.graph == "edges" and network.edges is not None and "network.nodes" not in given:
        network = replace(network, nodes=_names_in(network.edges))
    if "network.seed" not in given:
        network = replace(network, seed=job.job.seed)
    return replace(job, network=network)


def _names_in(edges: str) -> tuple[str, ...]:
    from anabranch.network import build_graph

    return build_graph("edges", (), edges=read_edges(edges)).nodes


def _sites(job: Job) -> Job:
    if job.exchange.transport != "kafka":
        return job
    run = job.sites.run or job.job.name
    topic = job.sites.topic or f"anabranch.parameters.{run}"
    sites = replace(job.sites, run=run, topic=topic)
    if not sites.brokers:
        own = {name: getattr(job.kafka, name) for name in Connection.__struct_fields__}
        sites = replace(sites, **own)
    return replace(job, sites=sites)


def _ticks(job: Job, given: Collection[str], learners: Mapping[str, type] | None) -> Job:
    if job.job.kind == "batch":
        # All is loaded before the first round: standardisation is then that of all rows.
        return replace(job, source=replace(job.source, rows_per_tick=EVERYTHING))
    if "source.rows_per_tick" in given:
        return job
    source = job.source
    partitions = source.partitions if source.generated else len(source.paths or source.topics)
    share = 1 if task_of(job.learner, learners) == "multilabel" else ROWS_PER_NODE
    rows = max(1, ceil(share * len(job.hosted) / max(1, partitions)))
    return replace(job, source=replace(job.source, rows_per_tick=rows))


def _small_defaults(job: Job, given: Collection[str]) -> Job:
    if "source.seed" not in given:
        job = replace(job, source=replace(job.source, seed=job.job.seed))
    if "exchange.mode" not in given and not job.source.bounded:
        job = replace(job, exchange=replace(job.exchange, mode="asynchronous"))
    if not job.output.dead_letters:
        place = str(Path(job.job.run_dir) / "dead_letters.jsonl")
        job = replace(job, output=replace(job.output, dead_letters=place))
    return job


def _sparse_width(job: Job, learners: Mapping[str, type] | None) -> int | None:
    """Give the number of columns to a learner that does not mind how many there are."""
    sparse = takes_sparse(learner_class(job.learner.kind, learners))
    return job.source.columns_in_all if sparse else None


def _learner(job: Job, given: Collection[str], learners: Mapping[str, type] | None) -> Job:
    features = _sparse_width(job, learners)
    if job.source.generated:
        stream = build_stream(job.source)
        if job.source.columns_in_all is None:
            features = stream.features
        if "learner.ranks" not in given and stream.ranks:
            job = replace(job, learner=replace(job.learner, ranks=stream.ranks))
    elif "learner.ranks" not in given and task_of(job.learner, learners) == "ordinal":
        raise ConfigurationError(
            "learner.ranks is missing; it must be a whole number at least 2, the number of "
            "ranks: labels are 1 to ranks"
        )
    check_size(job)
    learner = complete_learner(job, features, learners)
    rounds, options = job.exchange.rounds_per_tick, learner.options
    if rounds > 1 and "warm_up" in options and "learner.warm_up" not in given:
        # As many samples as with one round a tick.
        learner = replace(learner, options=options | {"warm_up": rounds * options["warm_up"]})
    return replace(job, learner=learner)
