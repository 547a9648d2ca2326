"""Where everything goes that a job's nodes give: files, topics, model files."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import bytewax.operators as op
from bytewax.dataflow import Stream

from connectors import JsonLinesSink, encode_dead_letter, encode_plain, encode_predictions
from operators.alarms import alarms
from operators.hub import Hub
from operators.learn import LearnOut
from pipelines.config import Job, Target
from pipelines.dead_counts import CountFile, count_by_reason
from pipelines.former import former_files
from pipelines.models import ModelSink, model_metadata
from pipelines.run_dir import RunDirectory
from pipelines.signal import alarm_rule
from pipelines.sources import JobSource

__all__ = ["Outputs"]

TopicSink = Callable[[str, str], Any]
"""Gives the sink of a topic for one kind of item: predictions, scores, alarms or dead_letters."""


@dataclass(frozen=True)
class Outputs:
    """The ends of a job's dataflow.

    Attributes
    ----------
    job : says where things go
    process : number of this process; items go to a topic from where they were made
    topic_sink : makes the sink of a topic
    hub : counts the alarms raised
    """

    job: Job
    process: int
    topic_sink: TopicSink
    hub: Hub

    def connect(self, source: JobSource, out: LearnOut) -> None:
        """Add every output of the job to its dataflow."""
        job, run_dir = self.job, RunDirectory.of(self.job)
        self._file("scores", out.rows, Target.of(str(run_dir.scores)), encode_plain)
        if job.output.scores is not None:
            self._topic("scores", out.rows, Target.of(job.output.scores))
        dead = Target.of(job.output.dead_letters)
        self._either("dead_letters", out.dead, dead, encode_dead_letter)
        if dead.topic:
            counts = count_by_reason("dead_counts", out.dead)
            op.output("dead_counts_file", counts, CountFile(run_dir.dead_counts))
        if job.output.predictions is not None:
            target = Target.of(job.output.predictions)
            self._either("predictions", out.predictions, target, encode_predictions)
        rule = alarm_rule(job)
        if rule is not None:
            told = alarms("watch_severity", out.predictions, rule, self.hub)
            self._either("alarms", told, Target.of(str(job.output.alarms)), encode_plain)
        if out.drifts is not None:
            self._file("drift", out.drifts, Target.of(str(run_dir.drift)), encode_plain)
        if job.output.models:
            metadata = model_metadata(job, source.features)
            op.output("models", out.finals, ModelSink(run_dir.models, job.learner.kind, metadata))

    def _either(
        self, name: str, stream: Stream[Any], target: Target, encode: Callable[[Any], bytes]
    ) -> None:
        if target.topic:
            self._topic(name, stream, target)
        else:
            self._file(name, stream, target, encode)

    def _file(
        self, name: str, stream: Stream[Any], target: Target, encode: Callable[[Any], bytes]
    ) -> None:
        keyed = op.key_on(f"key_{name}", stream, lambda _: name)
        former = former_files(self.job) if name == "predictions" else ()
        op.output(name, keyed, JsonLinesSink(target.name, encode, former))

    def _topic(self, name: str, stream: Stream[Any], target: Target) -> None:
        place = f"{self.process:05d}"  # the sink's part of this process: no item changes process

        def keyed(items: list[Any]) -> list[tuple[str, Any]]:
            return [(place, item) for item in items]

        here = op.flat_map_batch(f"key_{name}_topic", stream, keyed)
        op.output(f"{name}_topic", here, self.topic_sink(name, target.name))
