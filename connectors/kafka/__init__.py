"""Topics of Kafka: samples in; predictions, scores and dead letters out; letters between sites.

What is here needs the Kafka client (the extra `kafka`).
"""

from connectors.kafka.admin import TopicSpec, ensure_topics, message_limit
from connectors.kafka.dead_letters import dead_letter_records, decode_dead_letter
from connectors.kafka.encode import alarm_records, prediction_records, score_records
from connectors.kafka.features import infer_topic_features
from connectors.kafka.letter_codec import Envelope, encode_letter
from connectors.kafka.letter_source import LetterSource, Mailbox
from connectors.kafka.letter_topic import speaks_for
from connectors.kafka.producer import Record
from connectors.kafka.progress import Progress
from connectors.kafka.ranges import Range, added_ranges, resolve_ranges, topic_ids
from connectors.kafka.settings import KafkaSettings
from connectors.kafka.sink import KafkaSink
from connectors.kafka.sink_progress import SinkProgress
from connectors.kafka.source import KafkaSource

__all__ = [
    "Envelope",
    "KafkaSettings",
    "KafkaSink",
    "KafkaSource",
    "LetterSource",
    "Mailbox",
    "Progress",
    "Range",
    "Record",
    "SinkProgress",
    "TopicSpec",
    "added_ranges",
    "alarm_records",
    "dead_letter_records",
    "decode_dead_letter",
    "encode_letter",
    "ensure_topics",
    "infer_topic_features",
    "message_limit",
    "prediction_records",
    "resolve_ranges",
    "score_records",
    "speaks_for",
    "topic_ids",
]
