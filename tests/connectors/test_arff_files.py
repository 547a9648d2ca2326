"""ARFF files as sources: headers, ticks, and the benchmark sets against independent readers."""

import gzip
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import arff

import connectors.reader
from anabranch.errors import ConfigurationError
from connectors import read_arff, read_label_xml
from connectors.arff_header import Attribute, read_attributes
from connectors.files import FileSource
from connectors.records import RecordFormat
from tests.connectors.helpers import blocks, drain, letters, same, source

SETS = {
    "cal500": (["cal500"], "cal500", (502, 68, 174)),
    "corel5k": (["Corel5k-sparse"], "Corel5k", (5000, 499, 374)),
    "emotions": (["emotions"], "emotions", (593, 72, 6)),
    "enron": (["enron"], "enron", (1702, 1001, 53)),
    "medical": (["medical"], "medical", (978, 1449, 45)),
    "scene": (["scene-train", "scene-test"], "scene", (2407, 294, 6)),
    "yeast": (["yeast"], "yeast", (2417, 103, 14)),
}
FORM = RecordFormat(task="multilabel", labels=("calm", "sad day"))
HEADER = """% made by hand
@RELATION 'any thing'

@attribute x1 REAL
@attribute calm {0, 1} % a label
@Attribute 'sad day' {0,1}
   % another word
@attribute "x \\"2\\"" numeric
@DATA
"""


def naive(path: Path) -> tuple[list[str], np.ndarray[Any, Any]]:
    """Read a file whose names have no spaces, by plain text operations."""
    head, _, body = gzip.decompress(path.read_bytes()).decode().partition("@data")
    names = [line.split()[1] for line in head.splitlines() if line.startswith("@attribute")]
    lines = [line for line in body.splitlines() if line.strip()]
    table = np.zeros((len(lines), len(names)))
    for row, line in enumerate(lines):
        if line.startswith("{"):
            for pair in line.strip("{}").split(","):
                index, value = pair.split()
                table[row, int(index)] = float(value)
        else:
            table[row] = [float(value) for value in line.split(",")]
    return names, table


@pytest.mark.parametrize("name", SETS)
def test_the_benchmark_sets_are_read_whole(shared: Path, name: str) -> None:
    files, labels, (n, d, q) = SETS[name]
    folder = shared / "data" / "multilabel"
    form = RecordFormat(task="multilabel", labels=read_label_xml(folder / f"{labels}.xml.gz"))
    paths = tuple(str(folder / f"{file}.arff.gz") for file in files)
    of = FileSource(paths, "arff", form, 500)
    assert (len(of.features), len(form.labels)) == (d, q)
    count = 0
    for part, path in sorted(zip(of.partitions, sorted(paths), strict=True)):
        seen = drain(of, part)[0]
        assert not letters(seen)
        X, y = (np.concatenate([getattr(b, key) for b in blocks(seen)]) for key in ("X", "y"))
        columns, table = naive(Path(path))
        assert np.array_equal(X, table[:, [columns.index(name) for name in of.features]])
        assert np.array_equal(y, table[:, [columns.index(name) for name in form.labels]])
        whole = read_arff(path, folder / f"{labels}.xml.gz")
        assert (whole.features, whole.labels) == (of.features, form.labels)
        assert np.array_equal(whole.X, X)
        assert np.array_equal(whole.y, y)
        count += len(X)
    assert count == n


@pytest.mark.parametrize("name", ["emotions", "yeast"])
def test_dense_files_are_read_as_scipy_reads_them(shared: Path, name: str) -> None:
    folder = shared / "data" / "multilabel"
    text = gzip.decompress((folder / f"{name}.arff.gz").read_bytes())
    table, _ = arff.loadarff(StringIO(text.decode()))
    found = read_arff(BytesIO(text), folder / f"{name}.xml.gz")
    for column, feature in enumerate(found.features):
        assert np.array_equal(found.X[:, column], table[feature])
    for column, label in enumerate(found.labels):
        assert np.array_equal(found.y[:, column], table[label].astype(float))


def test_a_header_as_people_write_it(tmp_path: Path) -> None:
    path = tmp_path / "a.arff"
    path.write_text("\ufeff" + HEADER + "\n0.5,1,0,2\n% 1,1,1,1\n{3 7, 2 1}\n", "utf-8")
    of = source(path, records=FORM)
    assert of.features == ("x1", 'x "2"')
    (block,) = blocks(drain(of)[0])
    assert block.X.tolist() == [[0.5, 2], [0, 7]]
    assert block.y.tolist() == [[1, 0], [0, 1]]
    assert block.positions.tolist() == [0, 1]
    assert block.labels is None


def test_attributes_of_all_kinds() -> None:
    lines = iter(
        [
            rb"@attribute 'it\'s \\ a' real", b"@attribute 50% INTEGER [0,9]",
            b"@attribute a{0,1}", b"@attribute b {'1', \"0\"}", b"@attribute c {0}",
            b"@attribute d {yes,no}", b'@attribute e date "yyyy-MM-dd"', b"@attribute f String",
            b"% \xff in whatever encoding", "@attribute é {0,,1}".encode(), b"@data % now",
        ]
    )  # fmt: skip
    assert read_attributes(lambda: next(lines, None), "f") == (
        Attribute(r"it's \ a", "number"), Attribute("50%", "number"),
        Attribute("a", "flag", "0"), Attribute("b", "flag", "1"), Attribute("c", "flag", "0"),
        Attribute("d", "{yes,no}", "yes"), Attribute("e", "date"), Attribute("f", "string"),
        Attribute("é", "{0,,1}", ""),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("x1 REAL", "x1 string", "attribute 'x1' of .* is of type 'string': allowed are numeric"),
        ("x1 REAL", "x1 {a,b}", "attribute 'x1' of .* is of type '{a,b}'"),
        ("{0, 1}", "{no,yes}", "attribute 'calm' of .* is of type '{no,yes}'"),
        ("'sad day'", "sad", "source.labels names 'sad day', which the header of"),
        ("x1 REAL", "calm REAL", "names the attribute 'calm' 2 times"),
        ("x1 REAL", "x1", "has the line '@attribute x1': allowed is @attribute, a name"),
        ("x1 REAL", "'x1 REAL", "has the line"),
        ("@RELATION", "RELATION", "has the line .*: allowed are @relation, @attribute, @data"),
        ("'any thing'", "r\n1,2,3", "has the line '1,2,3'"),
    ],
)
def test_a_header_that_will_not_do_is_refused(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    path = tmp_path / "a.arff"
    path.write_text(HEADER.replace(old, new))
    with pytest.raises(ConfigurationError, match=words):
        source(path, records=FORM)
    with pytest.raises(ConfigurationError, match=words):
        read_arff(path, FORM.labels)


def test_attributes_that_nobody_asked_for_may_be_of_any_kind(tmp_path: Path) -> None:
    path = tmp_path / "a.arff"
    header = HEADER.replace("@DATA", "@attribute note string\n@attribute at {n0,'n 1'}\n@DATA")
    path.write_text(header + "1,1,0,2,'it\\'s, so',n0\n3,0,1,4,?,'n 1'\n{0 9,4 x}\n")
    form = RecordFormat(
        task="multilabel", labels=FORM.labels, features=("x1",), node_field="at",
        nodes=frozenset({"n0", "n 1"}),
    )  # fmt: skip
    (block,) = blocks(drain(source(path, records=form))[0])
    assert block.X.tolist() == [[1], [3], [9]]
    assert block.keys == ["n0", "n 1", "n0"]
    assert not block.dead


def test_one_label_of_numbers_for_other_tasks(tmp_path: Path) -> None:
    path = tmp_path / "a.arff"
    path.write_text("@attribute y integer\n@attribute x real\n@data\n2,5\n{1 6}\n3,7\n")
    (block,) = blocks(drain(source(path, records=RecordFormat(ranks=3)))[0])
    assert block.X.tolist() == [[5], [7]]
    assert block.y.tolist() == [2, 3]
    assert [letter.reason for letter in block.dead] == ["bad_label"]


def test_lists_of_names_are_not_for_arff(tmp_path: Path) -> None:
    path = tmp_path / "a.arff"
    path.write_text(HEADER)
    form = RecordFormat(task="multilabel", label_list=True, new_labels="grow")
    with pytest.raises(ConfigurationError, match=r"source.label_list is set, but .* is ARFF"):
        source(path, records=form)


def test_files_may_have_their_attributes_in_different_orders(tmp_path: Path) -> None:
    first, second = tmp_path / "a.arff", tmp_path / "b.arff"
    first.write_text("@attribute a real\n@attribute l {0,1}\n@attribute b real\n@data\n1,1,2\n")
    second.write_text(
        "@attribute b real\n@attribute a real\n@attribute l {0,1}\n@data\n{0 4,1 3}\n"
    )
    of = source([first, second], records=RecordFormat(task="multilabel", labels=("l",)))
    found = [blocks(drain(of, part)[0])[0] for part in of.partitions]
    assert [block.X.tolist() for block in found] == [[[1, 2]], [[3, 4]]]
    assert [block.y.tolist() for block in found] == [[[1]], [[0]]]
    second.write_text("@attribute c real\n@attribute l {0,1}\n@data\n")
    with pytest.raises(ConfigurationError, match="do not name the same features"):
        source([first, second], records=RecordFormat(task="multilabel", labels=("l",)))


@pytest.mark.parametrize("seed", [None, 4])
@pytest.mark.parametrize(
    "text", ["", HEADER, HEADER + "% nothing\n\n", HEADER[: HEADER.index("@Attribute")]]
)
def test_a_file_without_records_is_one_letter(tmp_path: Path, text: str, seed: int | None) -> None:
    path = tmp_path / "a.arff"
    path.write_text(text)
    (block,) = blocks(drain(source(path, records=FORM, shuffle_seed=seed))[0])
    (letter,) = block.dead
    assert letter.reason == ("header_only" if text else "empty_file")
    assert block.tick == -1
    assert block.y.shape == (0, 2)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 30), st.integers(1, 60), st.lists(st.integers(1, 9), max_size=6),
    st.sampled_from([None, 3]), st.sampled_from([None, (0, 3, 4, 17)]),
)  # fmt: skip
def test_ticks_do_not_depend_on_blocks_or_on_crashes(
    tmp_path_factory: pytest.TempPathFactory,
    rows: int,
    size: int,
    kills: list[int],
    seed: int | None,
    split: tuple[int, ...] | None,
) -> None:
    path = tmp_path_factory.mktemp("kill") / "a.arff"
    unit = "1,1,0,2.5\r\n% " + "y" * 300 + "\r\n{0 7,1 1}\r\n\r\nbad\r\n" + "z" * 300 + "\r\n"
    path.write_text(
        "\ufeff" + HEADER.replace("\n", "\r\n") + unit * 9 + "{2 1}", "utf-8", newline=""
    )
    form = RecordFormat(task="multilabel", labels=FORM.labels, max_record=80)
    of = source(path, rows, records=form, shuffle_seed=seed, split=split)
    whole, _ = drain(of)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connectors.reader, "BLOCK_BYTES", size)
        seen, state = drain(of, stop_after=0)
        for kill in kills:
            more, state = drain(of, state=state, stop_after=kill)
            seen += more
        seen += drain(of, state=state)[0]
    assert same(seen, whole)
    assert sum(len(block.X) for block in blocks(whole)) == 19
    assert sum(block.records for block in blocks(whole)) == 37
    held = {
        number
        for block in blocks(whole)
        if block.held is not None
        for number in block.positions[block.held].tolist()
    }
    assert held == ({0, 4, 17} if split else set())
    if seed is not None:
        plain, _ = drain(source(path, rows, records=form))
        order, shuffled = (np.concatenate([b.positions for b in blocks(s)]) for s in (plain, whole))
        assert sorted(shuffled.tolist()) == order.tolist()


def test_packed_equals_plain(tmp_path: Path) -> None:
    path = tmp_path / "a.arff"
    path.write_text(HEADER + "".join(f"{i},{i % 2},0,2\n{{0 {i}}}\n" for i in range(3000)))
    packed = tmp_path / "p" / "a.arff.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(path.read_bytes()))
    left, right = (blocks(drain(source(one, 250, records=FORM))[0]) for one in (path, packed))
    assert len(left) == len(right) == 24
    for one, other in zip(left, right, strict=True):
        assert np.array_equal(one.X, other.X)
        assert np.array_equal(one.y, other.y)


def test_a_header_that_grows_is_followed_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "a.arff"
    path.touch()
    form = RecordFormat(task="multilabel", labels=FORM.labels, features=("x1",))
    part = source(path, 1, follow=True, records=form).build_part("s", "a.arff", None)
    text = "\ufeff" + HEADER
    for begin in range(0, len(text), 20):
        assert part.next_batch() == []
        with open(path, "a", encoding="utf-8") as file:
            file.write(text[begin : begin + 20])
    with open(path, "a", encoding="utf-8") as file:
        file.write("% 2,1,1,1\n{0 5,")
    assert part.next_batch() == []
    state = part.snapshot()
    with open(path, "a", encoding="utf-8") as file:
        file.write("1 1}\n")
    for one in (part, source(path, 1, follow=True, records=form).build_part("s", "a.arff", state)):
        (block,) = blocks(list(one.next_batch()))
        assert block.X.tolist() == [[5]]
        assert block.y.tolist() == [[1, 0]]


def test_read_arff_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"record 1 of the stream .* neither 0 nor 1"):
        read_arff(BytesIO((HEADER + "1,0,0,1\n1,0,7,1\n").encode()), FORM.labels)
    with pytest.raises(ConfigurationError, match="has no line @data"):
        read_arff(BytesIO(HEADER[:80].encode()), FORM.labels)
    with pytest.raises(ConfigurationError, match=r"none\.arff' cannot be read"):
        read_arff(tmp_path / "none.arff", FORM.labels)
    none = read_arff(BytesIO(HEADER.encode()), FORM.labels)
    assert none.X.shape == none.y.shape == (0, 2)
