"""Checks of what has to do with Kafka: topics, brokers, sites."""

import re
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import NoReturn

from anabranch.errors import ConfigurationError, nearest
from pipelines.config.sections import Job
from pipelines.config.source import Source
from pipelines.config.targets import OUTPUTS, Target
from pipelines.config.wording import show

__all__ = ["check_brokers", "check_kafka", "check_sites"]

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")


def check_kafka(job: Job) -> None:
    """Check topics, brokers, and how messages are read.

    Raises
    ------
    ConfigurationError
        A key is missing, or contradicts another.
    """
    topics: list[tuple[str, str]] = []
    if job.source.kind == "kafka":
        _check_source(job.source)
        topics += [("source.topics", name) for name in job.source.topics]
    topics += [(f"output.{key}", name) for key, name in _output_topics(job).items()]
    control = Target.of(job.network.control or "")
    topics += [("network.control", control.name)] if control.topic else []
    _check_apart(job, topics)
    if topics and not job.kafka.brokers:
        _fail(f"kafka.brokers is empty, but {topics[0][0]} needs one; it must name host:port")
    for section, brokers in (("kafka", job.kafka.brokers), ("sites", job.sites.brokers)):
        check_brokers(f"{section}.brokers", brokers)


def check_brokers(key: str, brokers: Iterable[str]) -> None:
    """Check the addresses of brokers; what stands before an @ may be a password, and is not shown.

    Raises
    ------
    ConfigurationError
        One is not host:port.
    """
    for broker in brokers:
        if "@" in broker:
            _fail(
                f"{key} has a name or password before {show('@' + broker.rpartition('@')[2])}; "
                "it must be host:port, and the name in username, the password in password_file"
            )
        if not _is_address(broker):
            _fail(f"{key} has {show(broker)}; it must be host:port")


def _is_address(text: str) -> bool:
    host, _, port = text.rpartition(":")
    plain = bool(host) and not set(host) & set("@/ ,")
    return plain and port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16


def _check_apart(job: Job, topics: list[tuple[str, str]]) -> None:
    """A job that read what it writes would feed itself."""
    sites = [("sites.topic", str(job.sites.topic))] if job.exchange.transport == "kafka" else []
    taken: dict[str, str] = {}
    for key, topic in (*topics, *sites):
        _check_topic(key, topic)
        other = taken.setdefault(topic, key)
        if other != key:
            _fail(f"{key} is {show(topic)}, which is in {other}, too; it must be another topic")


def _output_topics(job: Job) -> dict[str, str]:
    texts = {key: getattr(job.output, key) for key in OUTPUTS}
    targets = {key: Target.of(text) for key, text in texts.items() if text is not None}
    return {key: target.name for key, target in targets.items() if target.topic}


def _check_topic(key: str, topic: str) -> None:
    if not _TOPIC.fullmatch(topic) or topic in (".", ".."):
        _fail(
            f"{key} has {show(topic)}, which names no topic; it must be up to 249 letters, digits, "
            "dots, dashes and underscores"
        )


def _check_source(source: Source) -> None:
    if not source.topics:
        _fail("source.topics is empty; it must name one or more topics")
    twice = next((t for t, n in Counter(source.topics).items() if n > 1), None)
    if twice is not None:
        _fail(f"source.topics has {show(twice)} twice; each topic must be named once")
    if source.start not in ("earliest", "latest") and not _is_time(source.start):
        _fail(
            f"source.start is {show(source.start)}; it must be earliest, latest, or a time "
            "such as 2026-01-31T12:00:00+00:00"
        )
    if source.columns is not None and source.format != "csv":
        _fail(f"source.columns applies to csv only; source.format is {show(source.format)}")
    named = source.features or source.columns or source.text
    if source.format == "csv" and not named:
        _fail("source.features is none; messages in csv have no header, so it must name them")
    _check_ids(source)


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _check_ids(source: Source) -> None:
    rule = source.node.partition(":")[0]
    if source.id is None:
        for key in ("label_wait", "label_limit"):
            default = getattr(Source(kind="kafka"), key)
            if getattr(source, key) != default:
                _fail(f"source.{key} is {show(getattr(source, key))}, but source.id is none")
        if rule == "id":
            _fail('source.node is "id", but source.id is none; it must say what names a sample')
        return
    if rule not in ("key", "header", "field", "id"):
        _fail(
            f"source.node is {show(source.node)}, by which a label would not find the node of its "
            "sample; with source.id it must be one of id, key, header:NAME, field:NAME"
        )
    if source.columns_in_all is None and source.features is None:
        _fail("source.features is none; with source.id it must name them")
    if source.format == "csv":
        _fail('source.format is "csv"; with source.id it must be json or msgpack')


def check_sites(job: Job) -> None:
    """Check that the sites host every node once, and that this job is one of them.

    Raises
    ------
    ConfigurationError
        A key of [sites] is missing, or does not fit the network.
    """
    sites = job.sites
    if job.exchange.transport == "local":
        if sites.here is not None or sites.nodes:
            _fail('sites.nodes is given, but exchange.transport is "local"; it must be "kafka"')
        return
    if not sites.nodes:
        _fail('sites.nodes is empty; exchange.transport = "kafka" needs the nodes of every site')
    if sites.here not in sites.nodes:
        _fail(f"sites.here is {show(sites.here)}{nearest(sites.here or '', list(sites.nodes))}")
    if sites.retention <= 0:
        _fail(f"sites.retention is {show(sites.retention)}; it must be longer than 0s")
    if not sites.brokers:
        _fail("sites.brokers and kafka.brokers are empty; one of them must name host:port")
    _check_hosts(job)


def _check_hosts(job: Job) -> None:
    names = set(job.network.names)
    hosts = Counter(node for nodes in job.sites.nodes.values() for node in nodes)
    for node, count in hosts.items():
        if node not in names:
            _fail(f"sites.nodes has {show(node)}, which is no node of the network")
        if count > 1:
            _fail(f"sites.nodes has {show(node)} twice; each node must have one site")
    left = sorted(names - hosts.keys())
    if left:
        _fail(f"sites.nodes lacks {show(left[0])}; each node of the network must have a site")
    empty = next((site for site, nodes in job.sites.nodes.items() if not nodes), None)
    if empty is not None:
        _fail(f"sites.nodes gives {show(empty)} no node; it must host one or more")


def _fail(message: str) -> NoReturn:
    raise ConfigurationError(message)
