"""Letters between sites without a broker: an ordered log, in memory or in a file."""

import base64
import json
import os
from pathlib import Path
from zlib import crc32

import numpy as np
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.outputs import FixedPartitionedSink, StatefulSinkPartition

from anabranch.letters import Letter, SiteNews
from anabranch.protocol import Message, freeze
from anabranch.stream import DeadLetter
from operators.process_sink import MOST_PROCESSES, process_key


class MemoryLog:
    """One partition; offsets are numbers of letters."""

    def __init__(self):
        self.letters = []

    def append(self, letters):
        self.letters.extend(letters)

    def since(self, offset):
        for number in range(offset, len(self.letters)):
            yield number + 1, self.letters[number]


class FileLog:
    """One partition, appended to by any process; offsets are bytes."""

    def __init__(self, path):
        self.path = Path(path)
        self.path.touch()

    def append(self, letters):
        data = b"".join(encode(letter) for letter in letters)
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        os.write(file, data)  # one call: whole or not at all
        os.close(file)

    def since(self, offset):
        with self.path.open("rb") as file:
            file.seek(offset)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                offset += len(line)
                yield offset, decode(line)


def encode(letter):
    message = None
    if letter.message is not None:
        arrays = {
            name: (a.dtype.str, a.shape, base64.b64encode(a.tobytes()).decode())
            for name, a in letter.message.arrays.items()
        }
        message = (arrays, letter.message.to)
    flags = (letter.unchanged, letter.last)
    line = (letter.sender, letter.receiver, letter.round, message, *flags, dict(letter.news))
    return json.dumps(line).encode() + b"\n"


def decode(line):
    sender, receiver, round, message, unchanged, last, news = json.loads(line)
    if message is not None:
        arrays, to = message
        message = Message({n: freeze(_array(*a)) for n, a in arrays.items()}, to)
    news = {site: SiteNews(*heard) for site, heard in news.items()}
    return Letter(sender, receiver, round, message, unchanged, last, news)


def _array(dtype, shape, data):
    return np.frombuffer(base64.b64decode(data), dtype).reshape(shape).copy()


class LogPartition(StatefulSourcePartition):
    """Reads a log for the nodes hosted here."""

    def __init__(self, log, hosted, offset):
        self.log, self.hosted, self.offset = log, hosted, offset or 0
        self.given = 0

    def read(self, until):
        got = []
        for behind, item in self.log.since(self.offset):
            if isinstance(item, Letter) and until is not None and item.round > until:
                break
            self.offset = behind
            if isinstance(item, DeadLetter) or item.receiver in self.hosted:
                got.append(item)
        if until is None:
            newest = {(i.sender, i.receiver): i for i in got if isinstance(i, Letter)}
            got = [i for i in got if isinstance(i, DeadLetter)] + list(newest.values())
        self.given += len(got)
        return got

    def next_batch(self):
        return self.read(None)

    def next_awake(self):
        return None

    def snapshot(self):
        return self.offset


class LogSource(FixedPartitionedSource):
    """All partitions of the log."""

    def __init__(self, logs, hosted):
        self.logs, self.hosted = logs, frozenset(hosted)

    def list_parts(self):
        return [f"params:{i}" for i in range(len(self.logs))]

    def build_part(self, step_id, for_part, resume_state):
        log = self.logs[int(for_part.removeprefix("params:"))]
        return LogPartition(log, self.hosted, resume_state)


class _Writer(StatefulSinkPartition):
    def __init__(self, logs):
        self.logs = logs

    def write_batch(self, values):
        write(self.logs, values)

    def snapshot(self):
        return None


def write(logs, letters):
    """Append letters, those of one sender and receiver to one partition."""
    for place, log in enumerate(logs):
        mine = [i for i in letters if crc32((i.receiver + i.sender).encode()) % len(logs) == place]
        if mine:
            log.append(mine)


class LogSink(FixedPartitionedSink):
    """Appends at once, so there is nothing to flush."""

    def __init__(self, logs, process=0, processes=1):
        self.logs, self.process, self.processes = logs, process, processes

    def list_parts(self):
        return [process_key(n) for n in range(self.process, MOST_PROCESSES, self.processes)]

    def part_fn(self, item_key):
        return int(item_key)

    def build_part(self, step_id, for_part, resume_state):
        return _Writer(self.logs)
