"""What a job tells of what it does: lines for people or JSON, repeated warnings counted."""

from pipelines.logs.lines import Line, make_formatter, plain_lines, read_line
from pipelines.logs.repeats import Repeats
from pipelines.logs.setup import logged, write_to_stderr

__all__ = [
    "Line",
    "Repeats",
    "logged",
    "make_formatter",
    "plain_lines",
    "read_line",
    "write_to_stderr",
]
