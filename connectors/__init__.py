"""Sources and sinks: files and computed streams in, JSON Lines out.

Nothing here waits, and nothing knows of the operators around it.
"""

from connectors.arff import ArffTable, read_arff
from connectors.files import FileSource, read_split
from connectors.generators import GeneratorSource
from connectors.label_xml import read_label_xml
from connectors.message_layout import named_features
from connectors.messages import MessageParser
from connectors.records import REASONS, RecordFormat, SourceError
from connectors.rows import Origin
from connectors.sinks import JsonLinesSink, encode_dead_letter, encode_plain, encode_predictions

__all__ = [
    "REASONS",
    "ArffTable",
    "FileSource",
    "GeneratorSource",
    "JsonLinesSink",
    "MessageParser",
    "Origin",
    "RecordFormat",
    "SourceError",
    "encode_dead_letter",
    "encode_plain",
    "encode_predictions",
    "named_features",
    "read_arff",
    "read_label_xml",
    "read_split",
]
