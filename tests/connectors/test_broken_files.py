"""Packed files that are cut short or damaged: all whole records are used, then a letter says so."""

import gzip
import random
import zlib
from pathlib import Path

import pytest

from anabranch.stream import End
from connectors.packed_file import PackedFile
from connectors.records import RecordFormat
from tests.connectors.helpers import blocks, drain, letters, same, source

ROWS = 3000
HEADS = {
    "csv": "a,b,y\n",
    "jsonl": "",
    "svmlight": "",
    "arff": "@relation r\n@attribute a real\n@attribute b real\n@attribute y real\n@data\n",
}
LINES = {
    "csv": "{},{},{}\n",
    "jsonl": '{{"a": {}, "b": {}, "y": {}}}\n',
    "svmlight": "{2} 1:{0} 2:{1}\n",
    "arff": "{},{},{}\n",
}


def text_of(kind: str) -> bytes:
    draw = random.Random(1)
    rows = [(draw.random(), draw.random(), draw.randint(1, 3)) for _ in range(ROWS)]
    return (HEADS[kind] + "".join(LINES[kind].format(*row) for row in rows)).encode()


def form_of(kind: str) -> RecordFormat:
    return RecordFormat(ranks=3, sparse_width=2 if kind == "svmlight" else None)


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize("kind", HEADS)
def test_a_cut_file_gives_every_whole_record(tmp_path: Path, kind: str, seed: int | None) -> None:
    text, form = text_of(kind), form_of(kind)
    packed, path = gzip.compress(text), tmp_path / f"a.{kind}.gz"
    for size in (len(packed) * 2 // 3, len(packed) - 4):
        path.write_bytes(packed[:size])
        left = zlib.decompressobj(31).decompress(packed[:size])
        assert text.startswith(left)
        lines = left.count(b"\n") - HEADS[kind].count("\n")
        of = source(path, 700, records=form, shuffle_seed=seed)
        seen, _ = drain(of)
        assert sum(len(block.y) for block in blocks(seen)) == lines
        (letter,) = letters(seen)
        assert (letter.reason, letter.position) == ("unreadable", lines)
        assert letter.detail == (
            f"{path} cannot be read further: the packed file ends too soon, at byte {size}"
        )
        if seed is None:
            assert letter.raw == left[left.rfind(b"\n") + 1 :]
        for stop in (0, 1, lines // 700, lines // 700 + 1):
            begun, state = drain(of, stop_after=stop)
            assert same(begun + drain(of, state=state)[0], seen)


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize("kind", ["csv", "arff"])
def test_a_file_cut_within_its_header_has_no_features(
    tmp_path: Path, kind: str, seed: int | None
) -> None:
    text, path = text_of(kind), tmp_path / f"a.{kind}.gz"
    flushed = zlib.compressobj(wbits=31)
    path.write_bytes(flushed.compress(text[:3]) + flushed.flush(zlib.Z_FULL_FLUSH))
    of = source(path, records=form_of(kind), shuffle_seed=seed)
    seen, _ = drain(of)
    assert of.features == ()
    assert [(letter.reason, letter.position) for letter in letters(seen)] == [("unreadable", 0)]


@pytest.mark.parametrize("seed", [None, 3])
def test_what_follows_a_packed_file_is_told_after_its_records(
    tmp_path: Path, seed: int | None
) -> None:
    text, path = text_of("csv"), tmp_path / "a.csv.gz"
    one, two = gzip.compress(text), gzip.compress(b"0.5,0.5,3\n")
    for packed, rows, says in (
        (one + two, ROWS + 1, []),
        (one + bytes(70_000), ROWS, []),
        (one + bytes(3) + two + bytes(9), ROWS + 1, []),
        (one + b"more", ROWS, [f"is no gzip at byte {len(one) + 1} or before"]),
        (one + two[:-8] + bytes(8), ROWS + 1, ["is damaged at byte"]),
        (b"a,b,y\n1,2,3\n", 0, ["is no gzip at byte 1 or before"]),
    ):
        path.write_bytes(packed)
        of = source(path, 700, records=form_of("csv"), shuffle_seed=seed)
        seen, _ = drain(of)
        assert sum(len(block.y) for block in blocks(seen)) == rows
        found = letters(seen)
        assert [letter.reason for letter in found] == ["unreadable"] * len(says)
        assert all(part in letter.detail for part, letter in zip(says, found, strict=True))
        assert isinstance(seen[-1], End)


@pytest.mark.parametrize("damaged", [False, True])
def test_what_is_unpacked_does_not_depend_on_how_it_is_read(tmp_path: Path, damaged: bool) -> None:
    text, path = text_of("svmlight") * 9 + bytes(1 << 19), tmp_path / "a.gz"
    packed = bytearray(gzip.compress(text))
    if damaged:
        packed[len(packed) // 2] ^= 0xFF
    path.write_bytes(packed)

    def read(size: int, begin: int = 0) -> bytes:
        with PackedFile(str(path)) as file:
            assert file.seek(begin) == begin
            found, error = [], ""
            try:
                while block := file.read(size):
                    found.append(block)
            except OSError as failed:
                error = str(failed)
            assert ("is damaged at byte" in error) == damaged
            file.seek(5)
            assert file.read(3) == text[5:8]
        return b"".join(found)

    whole = read(1 << 18)
    assert len(whole) > 200_000
    assert whole == text or damaged
    assert read(1001) == whole
    assert read(1 << 20, begin=150_001) == whole[150_001:]
