"""A file of 10,000 records, a thousand of them bad in every way there is."""

from collections import Counter
from pathlib import Path

import pytest

from pipelines.run_dir import read_lines
from tests.pipelines.jobs import finish, models, start
from tests.pipelines.test_scores import final_row

BAD = {
    b"1.0,2.0": "missing_field",
    b"1.0,2.0,,n0": "missing_field",
    b"1.0,2.0,1,n0,9": "extra_field",
    b"one,2.0,1,n0": "not_numeric",
    b"1.0,nan,1,n0": "not_finite",
    b"1.0,-inf,1,n0": "infinite",
    b"1.0,1e999,1,n0": "infinite",
    b"1.0,2.0,4,n0": "bad_label",
    b"1.0,2.0,1.5,n0": "bad_label",
    b"1.0,2.0,best,n0": "bad_label",
    b"1.0,2.0,1,n9": "unknown_node",
    b"1.0,\xff\xfe,1,n0": "bad_encoding",
    b'"1.0,2.0,1,n0': "malformed",
}


@pytest.fixture(scope="module")
def bad_file(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[int, str]]:
    path = tmp_path_factory.mktemp("bad") / "records.csv"
    lines, want = [b"x1,x2,y,site"], {}
    kinds = list(BAD.items())
    for row in range(10_000):
        if row % 10 == 7:
            line, reason = kinds[row // 10 % len(kinds)]
            want[row] = reason
        else:
            line = b"%.4f,%.4f,%d,n%d" % (row % 97 / 97, row % 89 / 89, row % 3 + 1, row % 5)
        lines.append(line)
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path, want


def settings(path: Path) -> list[str]:
    return [
        "source.kind=csv",
        f'source.paths=["{path}"]',
        "source.node=field:site",
        'network.nodes=["n0","n1","n2","n3","n4"]',
        "network.graph=complete",
        "learner.ranks=3",
        "learner.kernel=linear",
        "source.rows_per_tick=250",
        "output.report=false",
    ]


@pytest.mark.parametrize("workers", ["1", "2"])
def test_nine_thousand_learned_one_thousand_set_aside(
    tmp_path: Path, bad_file: tuple[Path, dict[int, str]], workers: str
) -> None:
    path, want = bad_file
    text = finish(start(tmp_path, "--workers", workers, settings=settings(path)))
    letters = list(read_lines(tmp_path / "run" / "dead_letters.jsonl"))
    assert {letter["position"]: letter["reason"] for letter in letters} == want
    assert len(letters) == 1000
    assert all(letter["source"] == str(path) and letter["detail"] for letter in letters)
    assert final_row(tmp_path)["samples"] == 9000
    assert "1,000 dead letters" in text
    assert set(Counter(want.values())) == set(BAD.values())


@pytest.mark.parametrize("processes", ["1", "2"])
def test_stopping_at_bad_input(
    tmp_path: Path, bad_file: tuple[Path, dict[int, str]], processes: str
) -> None:
    words = ("--on-bad-input", "stop", "--processes", processes)
    job = start(tmp_path, *words, settings=settings(bad_file[0]))
    text = finish(job, code=3)
    assert "record 7" in text
    assert str(bad_file[0]) in text


@pytest.mark.parametrize("text", ["", "x1,x2,y,site\n"])
def test_files_without_records_end_well(tmp_path: Path, text: str) -> None:
    path = tmp_path / "none.csv"
    path.write_text(text)
    finish(start(tmp_path, settings=settings(path)))
    (letter,) = read_lines(tmp_path / "run" / "dead_letters.jsonl")
    assert letter["reason"] == ("header_only" if text else "empty_file")
    assert set(models(tmp_path)) == {"n0", "n1", "n2", "n3", "n4"}
