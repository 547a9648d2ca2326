"""Changes asked for: read, refused, made."""

from pathlib import Path

import pytest

from anabranch.errors import NetworkError
from anabranch.network import Graph, path, ring
from pipelines.control.changes import ChangeError, read_change
from pipelines.control.lines import FileLines


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
        ('{"join": "d"}', r"neighbours is \[\]"),
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


def test_lines_are_given_once_and_only_whole(tmp_path: Path) -> None:
    file = tmp_path / "control.jsonl"
    lines = FileLines(file)
    assert (lines.end(), lines.read(0)) == (0, [])
    file.write_bytes(b"one\n\n  \ntwo\r\nthr")
    first, second = lines.read(0)
    assert (first.text, second.text) == (b"one", b"two")
    assert (first.place, second.place) == (f"line 1 of {file}", f"line 4 of {file}")
    assert lines.end() == second.after
    assert lines.read(second.after) == []
    lines.append(b"four")  # after a line that somebody left unfinished
    assert [line.text for line in lines.read(second.after)] == [b"thr", b"four"]
    assert lines.read(first.after)[0].place == f"line 4 of {file}"


def test_a_file_cut_short_is_read_from_its_beginning(tmp_path: Path) -> None:
    file = tmp_path / "control.jsonl"
    file.write_bytes(b"new\n")
    assert [line.text for line in FileLines(file).read(100)] == [b"new"]
