"""Changes asked for: read, refused, made."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import NetworkError
from anabranch.network import Graph, path, ring
from pipelines.control.changes import ChangeError, read_change
from pipelines.control.lines import FileLines, Position

BEGIN = Position()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("", "it is no JSON object"),
        ("[1]", "it is no JSON object"),
        ("{}", "it asks for 0 changes; allowed: one a line"),
        ('{"join": "d", "leave": "a"}', "it asks for 2 changes"),
        ('{"leav": "a"}', "it asks for 'leav'; did you mean 'leave'?"),
        ('{"leave": "a", "neighbours": ["b"]}', "it has the key 'neighbours'"),
        ('{"leave": 5}', "leave is 5; allowed"),
        ('{"leave": ""}', 'leave is ""; allowed'),
        ('{"join": "d"}', "it names no neighbours of 'd'; allowed"),
        ('{"join": "d", "neighbours": []}', r"neighbours is \[\]"),
        ('{"join": " ", "neighbours": ["a"]}', "the name ' ' is blank"),
        ('{"join": "d\\n", "neighbours": ["a"]}', r"the name 'd\\n' cannot be printed"),
        ('{"join": "%s", "neighbours": ["a"]}' % ("ü" * 40), "takes 240 bytes in the name of"),
        ('{"join": "a\\ud800b", "neighbours": ["a"]}', "it is no JSON object"),
        ('{"leave": "a\\udc00b"}', "it is no JSON object"),
        ("[" * 200_000, "it is no JSON object"),
        ('{"leave": ' + "[" * 800 + "]" * 800 + "}", "leave is "),
        ('{"join": "d", "neighbours": "ab"}', 'neighbours is "ab"'),
        ('{"join": "d", "neighbours": ["a", "a"]}', "neighbours is"),
        ('{"join": "d", "neighbours": ["a"], "from": "b"}', 'from is "b"; allowed: "neighbour"'),
        ('{"link": ["a"]}', r'link is \["a"\]'),
        ('{"cut": ["a", "a"]}', "cut is"),
        ('{"cut": {"a": "b"}}', "cut is"),
    ],
)
def test_a_line_that_is_no_change_is_told_why(line: str, told: str) -> None:
    with pytest.raises(ChangeError, match=told):
        read_change(line.encode())


WORDS = ["join", "leave", "link", "cut", "neighbours", "from"]
MARKS = [*'[]{},:"', "\\ud800", "\\udfff", "\x1b", "5", "null", "1e999", " "]
pieces = st.sampled_from([*MARKS, *(f'"{word}"' for word in (*WORDS, "a", "b"))])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
tables = st.dictionaries(
    st.sampled_from(WORDS), json_values | st.sampled_from(["d", ["a"], ["a", "b"]])
)


@given(
    st.binary()
    | st.lists(pieces).map(lambda found: "".join(found).encode())
    | tables.map(lambda table: json.dumps(table).encode())
)
def test_whatever_a_line_holds_it_is_a_change_or_told(line: bytes) -> None:
    try:
        change = read_change(line)
        change.on(ring("abc"))
    except (ChangeError, NetworkError) as error:
        told = str(error)
    else:
        told = str(change)
    told.encode()  # it can be printed
    assert "\n" not in told


def made(graph: Graph, line: str) -> Graph:
    return read_change(line.encode()).on(graph)


def test_changes_are_made_to_graphs() -> None:
    graph = ring("abcd")
    assert made(graph, '{"join": "e", "neighbours": ["a", "c"]}') == Graph.of(
        "abcde", [*graph.edges, ("a", "e"), ("e", "c")]
    )
    assert made(graph, '{"leave": "a"}') == path("bcd")
    assert made(graph, '{"link": ["c", "a"]}') == Graph.of("abcd", [*graph.edges, ("a", "c")])
    assert made(graph, '{"cut": ["d", "a"]}') == path("abcd")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"join": "a", "neighbours": ["b"]}', "node 'a' is in the network already"),
        ('{"join": "e", "neighbours": ["f"]}', "unknown node 'f'"),
        ('{"join": "e", "neighbours": ["e"]}', "joins a node to itself"),
        ('{"leave": "e"}', "unknown node 'e'"),
        ('{"link": ["a", "e"]}', "unknown node 'e'"),
        ('{"link": ["b", "a"]}', "'b' and 'a' are linked already"),
        ('{"cut": ["a", "c"]}', "'a' and 'c' are not linked"),
    ],
)
def test_changes_that_do_not_fit_are_refused(line: str, told: str) -> None:
    with pytest.raises((ChangeError, NetworkError), match=told):
        made(ring("abcd"), line)


def test_the_last_node_cannot_leave() -> None:
    with pytest.raises(NetworkError, match="has no node"):
        made(Graph.of("a", []), '{"leave": "a"}')


def texts(lines: FileLines, position: Position = BEGIN) -> list[bytes]:
    return [line.text for line in lines.read(position)]


def test_lines_are_given_once_and_only_whole(tmp_path: Path) -> None:
    file = tmp_path / "control.jsonl"
    said: list[str] = []
    lines = FileLines(file, said.append)
    assert (lines.end().at, lines.read(BEGIN)) == (0, [])
    file.write_bytes(b"one\n\n  \ntwo\r\nthr")
    first, second = lines.read(BEGIN)
    assert (first.text, second.text) == (b"one", b"two")
    assert (first.place, second.place) == (f"line 1 of {file}", f"line 4 of {file}")
    assert lines.end() == second.after
    assert lines.read(second.after) == []
    lines.append(b"four")  # after a line that somebody left unfinished
    assert texts(lines, second.after) == [b"thr", b"four"]
    assert lines.read(first.after)[0].place == f"line 4 of {file}"
    assert said == []


@pytest.mark.parametrize("kept", [True, False])
def test_a_file_cut_short_is_read_from_its_beginning(tmp_path: Path, kept: bool) -> None:
    file = tmp_path / "control.jsonl"
    file.write_bytes(b"new\n")
    said: list[str] = []
    lines = FileLines(file, said.append)
    position = Position(100, 5 if kept else None)  # older versions kept no checksum
    assert texts(lines, position) == [b"new"]
    assert lines.read(position) == []  # until it changes again
    assert said == [f"network.control: {file} no longer begins with the 100 bytes that were read; "
                    "it is read from its beginning"]  # fmt: skip


@pytest.mark.parametrize("more", [b"", b"and more\n"])
def test_another_file_is_read_from_its_beginning(tmp_path: Path, more: bytes) -> None:
    file = tmp_path / "control.jsonl"
    file.write_bytes(b"one\ntwo\n")
    said: list[str] = []
    lines = FileLines(file, said.append)
    end = lines.read(BEGIN)[-1].after
    assert lines.read(end) == []
    file.write_bytes(b"")  # emptied: it may be written anew just now
    assert lines.read(end) == []
    file.write_bytes(b"six\ntwo\n" + more)  # as long as it was, or longer
    assert texts(lines, end) == [b"six", b"two", *more.splitlines()]
    assert len(said) == 1
    assert lines.read(lines.end()) == []
