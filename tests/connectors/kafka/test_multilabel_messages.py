"""Files with sets of labels as messages: what is produced reads back as the file does."""

import json
from pathlib import Path

import numpy as np
import pytest

from anabranch.errors import ConfigurationError
from connectors.kafka.produce import BadLine, FileMessages, Format
from connectors.messages import MessageParser
from connectors.records import RecordFormat
from connectors.rows import Origin
from tests.connectors.helpers import blocks, drain, source

HEADER = "@attribute x1 real\n@attribute 'sad day' {0,1}\n@attribute x2 real\n@attribute b {0,1}\n"
LABELS = ("b", "sad day")


@pytest.mark.parametrize("format", ["json", "msgpack", "csv"])
@pytest.mark.parametrize("kind", ["csv", "arff"])
def test_what_is_produced_reads_back(tmp_path: Path, format: Format, kind: str) -> None:
    path = tmp_path / f"a.{kind}"
    if kind == "arff":
        path.write_text(HEADER + "@data\n1.50,1,-2,0\n% 1,1,1,1\n{3 1, 0 '0.1'}\n{}\n0,0,?,1\n")
    else:
        path.write_text("x1,sad day,x2,b\n1.50,1,-2,0\n0.1,0,0,1\n0,0,0,0\n0,0,,1\n")
    form = RecordFormat(task="multilabel", labels=LABELS)
    (block,) = blocks(drain(source(path, records=form))[0])
    made = [one for one in FileMessages(str(path), format) if not isinstance(one, BadLine)]
    columns = ("x1", "sad day", "x2", "b") if format == "csv" else None
    reader = RecordFormat(task="multilabel", labels=LABELS, columns=columns)
    parser = MessageParser(reader, ("x1", "x2"), format, Origin("t", "t:0"))
    values, count = [record.value for record in made], len(made)
    rows = parser.parse([*range(count)], [None] * count, values, [[]] * count, [*range(count)])
    assert np.array_equal(rows.X, block.X)
    assert np.array_equal(rows.y, block.y)
    assert rows.y.tolist() == [[0, 1], [1, 0], [0, 0]]
    assert [letter.reason for letter in rows.dead] == ["missing_field"]


def test_arff_keeps_its_digits_and_its_names(tmp_path: Path) -> None:
    path = tmp_path / "a.arff"
    path.write_text(HEADER + "@data\n1.50,1,-2,0\n{3 1,3 1}\n1,2\n1,1,1,1 % fine\n")
    first, second, third, fourth = FileMessages(str(path), key="sad day")
    assert not isinstance(first, BadLine)
    assert first.value == b'{"x1":1.50,"sad day":1,"x2":-2,"b":0}'
    assert first.key == b"1"
    assert second == "line 7: the index 3 is there twice"
    assert isinstance(third, BadLine)
    assert not isinstance(fourth, BadLine)
    assert json.loads(fourth.value or b"")["b"] == 1
    with pytest.raises(ConfigurationError, match="--key is 'z', which the header of"):
        FileMessages(str(path), key="z")
    path.write_text(HEADER)
    with pytest.raises(ConfigurationError, match="has no line @data"):
        FileMessages(str(path))
