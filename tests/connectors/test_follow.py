"""A file that grows is followed; what a tick holds does not depend on when it was written."""

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import connectors.file_partition
from anabranch.errors import ConfigurationError
from anabranch.stream import Block, End
from connectors.records import RecordFormat, SourceError
from tests.connectors.helpers import Seen, blocks, drain, source, table, write_csv


def add(path: Path, text: str) -> None:
    with open(path, "a") as file:
        file.write(text)


def test_a_half_written_line_and_a_half_full_tick_wait(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x1,y\n1,1\n2,")
    part = source(path, 2, follow=True).build_part("s", "a.csv", None)
    assert part.next_batch() == []
    assert part.next_awake() is not None
    add(path, "2")
    assert part.next_batch() == []
    state = part.snapshot()
    add(path, "5\n")
    (block,) = part.next_batch()
    assert isinstance(block, Block)
    assert table([block]).tolist() == [[1, 1, 0], [2, 25, 1]]
    assert part.next_batch() == []
    again = source(path, 2, follow=True).build_part("s", "a.csv", state)
    (twin,) = again.next_batch()
    assert table([twin]).tolist() == table([block]).tolist()


def test_a_header_may_come_later(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.touch()
    with pytest.raises(ConfigurationError, match="must be named"):
        source(path, 1, follow=True)
    form = RecordFormat(features=("x1",))
    part = source(path, 1, follow=True, records=form).build_part("s", "a.csv", None)
    for text in ("x1", ",y\n", "\n3,"):
        assert part.next_batch() == []
        add(path, text)
    assert part.next_batch() == []
    add(path, "1\n")
    assert table(list(part.next_batch())).tolist() == [[3, 1, 0]]


def test_a_writer_thread_is_followed_to_its_last_line(tmp_path: Path) -> None:
    whole = write_csv(tmp_path / "whole.csv", 2000).read_text()
    path = tmp_path / "a.csv"
    path.write_text(whole[:8])

    def write() -> None:
        for begin in range(8, len(whole), 997):
            add(path, whole[begin : begin + 997])
            time.sleep(0.001)

    of = source(path, 100, follow=True)
    writer = threading.Thread(target=write)
    writer.start()
    seen: Seen = []
    state, until = None, time.monotonic() + 60
    while len(seen) < 20 and time.monotonic() < until:
        part = of.build_part("s", "a.csv", state)
        for _ in range(50):  # then die and resume
            seen.extend(part.next_batch())
        state = part.snapshot()
        part.close()
    writer.join()
    assert np.array_equal(table(seen), table(drain(source(tmp_path / "whole.csv", 100))[0]))
    assert all(isinstance(item, Block) for item in seen)


def test_a_file_cut_short_or_exchanged_or_removed_is_told(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", 30)
    of = source(path, 10, follow=True)

    def at_end() -> object:
        part = of.build_part("s", "a.csv", None)
        for _ in range(4):
            last = part.next_batch()
        assert last == []
        return part

    text = path.read_text()
    part = at_end()
    path.write_text("x1,x2,y\n")
    with pytest.raises(SourceError, match="cut short"):
        part.next_batch()  # type: ignore[attr-defined]
    path.write_text(text)
    part = at_end()
    path.write_text(text.replace("x1", "x7") + "1,2,3\n" * 10)
    part.next_batch()  # type: ignore[attr-defined]
    with pytest.raises(SourceError, match="not the file"):
        part.next_batch()  # type: ignore[attr-defined]
    path.write_text(text)
    part = at_end()
    path.rename(tmp_path / "a.csv.1")
    with pytest.raises(SourceError, match="removed"):
        part.next_batch()  # type: ignore[attr-defined]
    path.write_text(text)
    with pytest.raises(SourceError, match="another file"):
        part.next_batch()  # type: ignore[attr-defined]


def test_packed_files_are_not_followed(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="packed"):
        source(tmp_path / "a.csv.gz", follow=True)


def test_a_partial_tick_is_given_once_its_first_record_has_waited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(connectors.file_partition, "monotonic", lambda: now[0])
    path = tmp_path / "a.csv"
    path.write_text("x1,y\n0,1\n1,1\n2,1\n3,1\n4,")
    part = source(path, 3, follow=True, linger=2.0).build_part("s", "a.csv", None)
    assert table(list(part.next_batch()))[:, 0].tolist() == [0, 1, 2]
    assert part.next_batch() == []
    now[0] += 1.5
    add(path, "1\n5,")
    assert part.next_batch() == []
    now[0] += 0.5
    seen = list(part.next_batch())
    assert table(seen).tolist() == [[3, 1, 3], [4, 1, 4]]
    state = part.snapshot()
    now[0] += 9
    assert part.next_batch() == []
    add(path, "1\n6,1\n7,1\n8,1\n")
    later = [*part.next_batch(), *part.next_batch()]
    assert table(later[:1])[:, 2].tolist() == [5, 6, 7]
    assert later[1:] == []
    now[0] += 2
    seen += [*later, *part.next_batch()]
    assert [block.tick for block in blocks(seen)] == [1, 2, 3]
    again = source(path, 3, follow=True, linger=2.0).build_part("s", "a.csv", state)
    (twin,) = blocks(list(again.next_batch()))
    assert (twin.tick, twin.positions.tolist()) == (2, [5, 6, 7])


def test_older_snapshots_tell_no_tick(tmp_path: Path) -> None:
    of = source(write_csv(tmp_path / "a.csv", 25), 10)
    _, state = drain(of, stop_after=2)
    assert state["tick"] == 2
    older = {key: value for key, value in state.items() if key != "tick"}
    seen, _ = drain(of, state=older)  # type: ignore[arg-type]
    assert seen[-1] == End("a.csv", 2)
    assert [block.tick for block in blocks(seen)] == [2]


@pytest.mark.parametrize("options", [{"linger": 1.0}, {"linger": -1.0, "follow": True}])
def test_only_what_is_followed_is_waited_for(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=r"source.linger is -?1.0: allowed is 0 and up"):
        source(write_csv(tmp_path / "a.csv", 3), 2, **options)
