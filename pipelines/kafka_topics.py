"""The topics of a job: its source, its outputs, and the way to other sites."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from anabranch.letters import Letter
from connectors import MessageParser
from connectors.kafka import (
    Envelope,
    KafkaSink,
    KafkaSource,
    LetterSource,
    Mailbox,
    Progress,
    Record,
    SinkProgress,
    alarm_records,
    dead_letter_records,
    encode_letter,
    prediction_records,
    score_records,
)
from operators.hub import Hub
from operators.node_plan import NodePlan
from operators.sites import ParameterLink
from pipelines.config import Job
from pipelines.config.decode import encode
from pipelines.gauges import Gauges
from pipelines.positions import Positions, settings_of
from pipelines.records import record_format
from pipelines.sources import JobSource

__all__ = ["KafkaTopics", "settings_hash"]

Encode = Callable[[Any], list[Record]]

_AGREED = ("learner", "exchange")
"""Sections that all sites must have alike, or their nodes would not run one algorithm."""


@dataclass
class KafkaTopics:
    """The topics of a job, as one of its processes uses them.

    Attributes
    ----------
    job : what is run
    process : number of this process
    positions : where the job begins and ends in its topics
    """

    job: Job
    process: int
    positions: Positions
    _samples: Progress = field(default_factory=Progress)
    _letters: Progress = field(default_factory=Progress)
    _written: list[SinkProgress] = field(default_factory=list)

    def source(self, job: Job) -> JobSource:
        """Give the source of the job's topics."""
        source, ranges, features = job.source, self.positions.source, self.positions.features
        blocks = KafkaSource(
            settings_of(job.kafka, "kafka"),
            ranges,
            source.rows_per_tick,
            partial(MessageParser, record_format(job), features, source.format),
            features,
            eager=job.exchange.mode == "asynchronous",
            linger=float(source.linger),
            on_expired=source.on_expired,
            progress=self._samples,
        )
        begins = {name: one.first_tick for name, one in ranges.items() if one.first_tick}
        return JobSource(blocks, blocks.partitions, features, begins, source.columns_in_all)

    def sink(self, kind: str, topic: str) -> KafkaSink[Any]:
        """Give the sink of a topic for predictions, scores, alarms or dead_letters."""
        encoders: dict[str, Encode] = {
            "predictions": prediction_records,
            "scores": score_records,
            "alarms": alarm_records,
            "dead_letters": partial(dead_letter_records, limit=self.positions.limits[topic]),
        }
        return self._sink("kafka", topic, encoders[kind])

    def link(self, plan: NodePlan, source: JobSource) -> ParameterLink | None:
        """Give the way to the other sites, if there are any."""
        sites = self.job.sites
        if self.job.exchange.transport != "kafka":
            return None
        envelope = Envelope(
            str(sites.run),
            plan.weights.graph.hash(),
            self.job.learner.kind,
            settings_hash(self.job, source.features),
        )
        neighbours = {node: plan.neighbours(node) for node in plan.weights.graph.nodes}
        letters = LetterSource(
            settings_of(sites, "sites"),
            self.positions.parameters,
            Mailbox(envelope, self.job.hosted, neighbours),
            # The newest letters are all that asynchronous nodes need.
            on_expired="earliest" if self.job.exchange.mode == "asynchronous" else "stop",
            progress=self._letters,
        )
        # A topic that grows must not take letters to partitions that nobody reads.
        sink: KafkaSink[Letter] = self._sink(
            "sites",
            str(sites.topic),
            partial(_letter_records, envelope),
            len(self.positions.parameters),
        )
        return ParameterLink(letters, sink, str(sites.here), sites.nodes)

    def gauges(self, hub: Hub) -> Gauges:
        """Give what the process tells of itself."""
        return Gauges(hub, (self._samples, self._letters), self._written)

    def _sink(
        self, section: str, topic: str, records: Encode, partitions: int | None = None
    ) -> KafkaSink[Any]:
        sink: KafkaSink[Any] = KafkaSink(
            settings_of(getattr(self.job, section), section),
            topic,
            records,
            self.process,
            self.job.parallel.processes,
            limit=self.positions.limits[topic],
            partitions=partitions,
        )
        self._written.append(sink.progress)
        return sink


def settings_hash(job: Job, features: tuple[str, ...]) -> str:
    """Digest what all sites must have alike: learner, exchange, seed, features and labels.

    Features' names are sorted: sites may have their columns in any order.
    """
    tables = encode(job)
    agreed: dict[str, Any] = {section: tables[section] for section in _AGREED}
    agreed |= {"weights": job.network.weights, "seed": job.job.seed, "features": sorted(features)}
    agreed["labels"] = list(job.source.label_names)
    if job.source.columns_in_all is not None:
        agreed["columns"] = job.source.columns_in_all
    if job.source.text or job.source.kind == "reviews":
        agreed["ngrams"] = job.source.ngrams
    return hashlib.sha256(json.dumps(agreed, sort_keys=True).encode()).hexdigest()[:16]


def _letter_records(envelope: Envelope, letter: Letter) -> list[Record]:
    key, value = encode_letter(letter, envelope)
    return [Record(key, value, [], None)]
