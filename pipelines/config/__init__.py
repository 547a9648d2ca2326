"""Job configuration: sections and keys, defaults, checks, descriptions."""

from pipelines.config.build import build_stream, build_weights
from pipelines.config.describe import Key, describe_learner, describe_section
from pipelines.config.durations import Duration
from pipelines.config.kafka import Connection, Kafka, Sites
from pipelines.config.load import build_job, default_job, from_json, load_job, to_json
from pipelines.config.sections import (
    Evaluation,
    Exchange,
    Job,
    JobSection,
    LearnerSection,
    Network,
    Output,
    Parallel,
    Recovery,
    Source,
)
from pipelines.config.signal import Alarm, Signal
from pipelines.config.targets import OUTPUTS, Target

__all__ = [
    "OUTPUTS",
    "Alarm",
    "Connection",
    "Duration",
    "Evaluation",
    "Exchange",
    "Job",
    "JobSection",
    "Kafka",
    "Key",
    "LearnerSection",
    "Network",
    "Output",
    "Parallel",
    "Recovery",
    "Signal",
    "Sites",
    "Source",
    "Target",
    "build_job",
    "build_stream",
    "build_weights",
    "default_job",
    "describe_learner",
    "describe_section",
    "from_json",
    "load_job",
    "to_json",
]
