"""Reports as a browser would read them."""

import json
import re
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from anabranch.errors import ConfigurationError
from pipelines.report import write_report
from pipelines.report.markup import MISSING
from pipelines.report.network_part import _score
from pipelines.report.rows import Row
from pipelines.report.runs import read_run
from pipelines.report.series import fed

MakeRun = Callable[..., Path]
VOID = {"meta", "link", "wbr", "br", "img", "input"}


class Page(HTMLParser):
    """Elements, texts and table rows of a page; fails where a tag is not closed in order."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.tables: list[list[list[str]]] = []
        self.words: list[str] = []
        self.data = ""
        self.feed(path.read_text(encoding="utf-8"))
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember the element."""
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in {"td", "th"}:
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        """Match it with the one that is open."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Sort text into scripts, cells and prose."""
        if "script" in self.open:
            if self.elements[-1] == ("script", {"id": "charts", "type": "application/json"}):
                self.data += data
            return
        if self.open and self.open[-1] != "style":
            self.words.append(data)
        if {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += data

    def count(self, tag: str) -> int:
        """How many elements there are of a tag."""
        return sum(found == tag for found, _ in self.elements)

    @property
    def text(self) -> str:
        """All prose in one line."""
        return " ".join(" ".join(self.words).split())

    @property
    def charts(self) -> list[dict[str, Any]]:
        """What the page's script is told."""
        found: list[dict[str, Any]] = json.loads(self.data)
        return found


def report(tmp_path: Path, *runs: Path) -> Page:
    out = tmp_path / "deep" / "report.html"
    write_report(runs, out)
    assert [file.name for file in out.parent.iterdir()] == ["report.html"]
    return Page(out)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, make_run: MakeRun) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "one", nodes=5, rounds=6, held=True)


def final(run: Path, learner: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "summary.json").read_text())["final"][learner]
    return found


def test_headline_table_holds_every_learner_scope_and_metric(tmp_path: Path, run: Path) -> None:
    table = report(tmp_path, run).tables[0]
    assert table[0] == ["Learner", "MAE", "MSE", "Accuracy", "QuadraticKappa"]
    groups = [row[0] for row in table if len(row) == 1]
    assert groups == ["Whole stream", "Newest 1,000 samples of every node", "Held-back rows"]
    for name, learner in [
        ("Cooperative", "cooperative"), ("Local-only", "local"), ("Pooled", "pooled")
    ]:  # fmt: skip
        rows = [row for row in table if row[0] == name]
        for row, scope in zip(rows, ("scores", "window", "held"), strict=True):
            values = final(run, learner)[scope].values()
            assert row[1:] == [f"{value:.4f}" for value in values]


def test_key_figures_nodes_confusion_dead_letters_and_settings_are_there(
    tmp_path: Path, run: Path
) -> None:
    page = report(tmp_path, run)
    assert page.text.startswith("bearings")
    for words in ("300", "12.3", "part-0.csv, record 17", "learner.alpha", "libraries.numpy"):
        assert words in page.text
    tables = {table[0][0]: table for table in page.tables}
    confusion = final(run, "cooperative")["confusion"]
    for t, counts in enumerate(confusion):
        row = tables["True \\ predicted"][t + 1]
        assert row == [str(t + 1), *map(str, counts), str(sum(counts))]
    assert [row[0] for row in tables["Node"][1:]] == ["n0", "n1", "n2", "n3", "n4"]
    reasons = [row for table in page.tables for row in table if row[0] == "not-finite"]
    assert reasons[0] == ["not-finite", "5", "35.7%"]
    assert tables["Reason"]
    assert ["All", "14", ""] in [row for table in page.tables for row in table]


def test_page_asks_nothing_from_elsewhere(tmp_path: Path, run: Path) -> None:
    page = report(tmp_path, run)
    links = [a[key] for _, a in page.elements for key in ("src", "href") if key in a]
    assert links == ["data:,"]
    policy = [a["content"] for _, a in page.elements if "http-equiv" in a]
    assert policy
    assert "default-src 'none'" in str(policy[0])
    assert "http" not in str(policy[0])


def test_page_is_semantic_and_fit_for_phones_and_the_dark(tmp_path: Path, run: Path) -> None:
    page = report(tmp_path, run)
    assert page.count("table") == page.count("caption") > 4
    assert page.count("figure") == page.count("figcaption") == 5
    assert page.count("main") == page.count("h1") == 1
    assert all("scope" in attrs for tag, attrs in page.elements if tag == "th")
    assert page.elements[0] == ("html", {"lang": "en"})
    html = (tmp_path / "deep" / "report.html").read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in html
    assert "width=device-width" in html


def test_curves_can_be_switched_to_every_metric(tmp_path: Path, run: Path) -> None:
    page = report(tmp_path, run)
    offered = [str(a["value"]) for tag, a in page.elements if tag == "option"]
    assert offered[0] == "scores.MAE"
    assert len(offered) == 12
    chart = next(spec for spec in page.charts if spec["target"] == "chart-metric")
    assert len(chart["switched"]) == 4  # three learners, and all nodes as one glyph
    item = json.dumps(chart["item"])
    assert all(f'"{name}"' in item for name in offered)
    targets = {spec["target"] for spec in page.charts}
    assert targets == {
        f"chart-{x}" for x in ("metric", "disagreement", "bytes", "messages", "network")
    }
    places = {a.get("id") for tag, a in page.elements if tag == "div"}
    assert targets <= places


@pytest.mark.parametrize(
    "hostile", ["</script><script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "<b>&amp;"]
)
def test_whatever_came_from_data_is_shown_and_never_run(
    tmp_path: Path, make_run: MakeRun, hostile: str
) -> None:
    run = make_run(tmp_path / "r", nodes=3, rounds=2, name=hostile, rename=hostile)
    rows = (run / "scores.jsonl").read_text().replace('"MAE"', json.dumps(hostile))
    (run / "scores.jsonl").write_text(rows)
    other = make_run(tmp_path / "s", nodes=3, rounds=2)
    for runs in ([run], [run, other]):
        page = report(tmp_path, *runs)
        assert page.count("script") == 3
        assert page.count("img") == page.count("b") == 0
        assert not any(key.startswith("on") for _, attrs in page.elements for key in attrs)
        cells = [cell for table in page.tables for row in table for cell in row]
        assert hostile in cells


def test_many_nodes_are_drawn_in_part_and_the_page_says_so(
    tmp_path: Path, make_run: MakeRun
) -> None:
    run = make_run(tmp_path / "r", nodes=90, rounds=2, learners=("cooperative",))
    page = report(tmp_path, run)
    assert "Of 90 nodes only 40 are drawn: the 20 worst and the 20 best by MAE." in page.text
    table = next(table for table in page.tables if table[0][0] == "Node")
    assert len(table) == 91
    item = json.dumps(page.charts[0]["item"])
    drawn = {row[0] for row in table[1:] if f'"{row[0]}"' in item}
    ranked = [row[0] for row in sorted(table[1:], key=lambda row: float(row[2]))]
    assert len(drawn) == 40
    assert {ranked[0], ranked[-1]} <= drawn


def test_runs_are_compared_in_one_table_and_one_chart(tmp_path: Path, make_run: MakeRun) -> None:
    runs = [
        make_run(tmp_path / "a", nodes=3, rounds=4),
        make_run(tmp_path / "b", nodes=3, rounds=4, seed=1, alpha=0.5),
        make_run(tmp_path / "c", nodes=4, rounds=4, name="other", learners=("cooperative",)),
    ]
    page = report(tmp_path, *runs)
    overview = page.tables[0]
    assert [row[0] for row in overview[1:]] == ["bearings (a)", "bearings (b)", "other"]
    column = overview[0].index("MAE alone")
    assert overview[1][column] == f"{final(runs[0], 'local')['scores']['MAE']:.4f}"
    assert overview[3][column] == "\N{EN DASH}"
    assert len(page.charts[0]["switched"]) == 3
    differing = next(table for table in page.tables if table[0][0] == "Key")
    assert ["learner.alpha", "0.9", "0.5", "0.9"] in differing
    assert "learner.kind" not in [row[0] for row in differing]
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))


def test_a_run_that_was_killed_can_be_reported(tmp_path: Path, make_run: MakeRun) -> None:
    run = make_run(tmp_path / "r", nodes=3, rounds=4)
    (run / "summary.json").unlink()
    (run / "environment.json").write_text('{"python": ')
    with (run / "scores.jsonl").open("a") as scores:
        scores.write('{"round": 5, "lear')
    page = report(tmp_path, run)
    assert "there is no summary yet" in page.text
    assert "1 line of the scores could not be read" in page.text
    assert "not-finite" in page.text


def test_a_run_without_scores_dead_letters_or_exchange(tmp_path: Path, make_run: MakeRun) -> None:
    run = make_run(tmp_path / "r", nodes=1, rounds=2, learners=("pooled",), dead=False)
    page = report(tmp_path, run)
    assert "Every record could be used." in page.text
    assert "Exchange" not in page.text
    (run / "scores.jsonl").write_text("")
    page = report(tmp_path, run)
    assert "No scores were written yet." in page.text
    assert page.charts == []


def test_missing_values_leave_gaps_and_dashes(tmp_path: Path, make_run: MakeRun) -> None:
    run = make_run(tmp_path / "r", nodes=2, rounds=3)
    lines = [json.loads(line) for line in (run / "scores.jsonl").read_text().splitlines()]
    for line in lines:
        line["scores"]["MAE"] = None
        if line["node"] == "n1":
            line["samples"] = 0
    (run / "scores.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    page = report(tmp_path, run)
    rows = next(table for table in page.tables if table[0][0] == "Node")
    assert rows[2][1:5] == ["0", *["\N{EN DASH}"] * 3]


def test_a_run_stopped_by_a_signal_says_so(tmp_path: Path, make_run: MakeRun) -> None:
    run = make_run(tmp_path / "r", nodes=2, rounds=2)
    summary = json.loads((run / "summary.json").read_text()) | {"stopped": "signal"}
    (run / "summary.json").write_text(json.dumps(summary))
    assert "stopped by a signal" in report(tmp_path, run).text


def rewrite(run: Path, change: Callable[[dict[str, Any]], object]) -> None:
    lines = [json.loads(line) for line in (run / "scores.jsonl").read_text().splitlines()]
    for line in lines:
        change(line)
    (run / "scores.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize(
    ("together", "alone", "pooled", "words"),
    [
        (0.2, 0.3, 0.1, "Exchanging parameters closed 50% of the gap."),
        (0.1, 0.3, 0.2, "Exchanging did better than one model with all samples."),
        (0.4, 0.3, 0.2, "Exchanging did worse than each node alone."),
        (0.346, 0.3, 0.3, "there is no gap to close; exchanging changed MAE by +0.0460."),
    ],
)
def test_the_gap_is_told_in_words(
    tmp_path: Path, make_run: MakeRun, together: float, alone: float, pooled: float, words: str
) -> None:
    run = make_run(tmp_path / "r", nodes=2, rounds=2)
    scores = {"cooperative": together, "local": alone, "pooled": pooled}
    rewrite(run, lambda line: line["scores"].update(MAE=scores[line["learner"]]))
    assert words in report(tmp_path, run).text


def test_many_dead_letters_are_warned_of_first(tmp_path: Path, make_run: MakeRun) -> None:
    few = make_run(tmp_path / "few", nodes=20, rounds=10)
    assert "Warning" not in report(tmp_path, few).text
    many = make_run(tmp_path / "many", nodes=3, rounds=4)
    text = report(tmp_path, many).text
    assert "Warning: 10 % of the records were set aside (" in text
    assert text.index("Warning") < text.index("Samples a second")


def test_the_time_is_readable(tmp_path: Path, run: Path) -> None:
    assert "last scores at 2026-01-01 00:00 UTC" in report(tmp_path, run).text


def test_the_beginning_does_not_flatten_the_chart(tmp_path: Path, make_run: MakeRun) -> None:
    run = make_run(tmp_path / "r", nodes=2, rounds=40)

    def spike(line: dict[str, Any]) -> None:
        line["scores"]["MAE"] = 50.0 if line["round"] == 1 else 0.25 + line["round"] / 100

    rewrite(run, spike)
    chart = report(tmp_path, run).charts[0]
    low, high = chart["ranges"]["scores.MAE"]
    assert 0.2 < low < high < 0.7
    assert chart["range"] in json.dumps(chart["item"])


def test_rounds_after_the_stream_are_not_drawn() -> None:
    def rows(samples: list[int]) -> list[Row]:
        return [Row(i, "cooperative", seen, {}) for i, seen in enumerate(samples)]

    assert [row.round for row in fed(rows([10, 20, 30, 30, 30]))] == [0, 1, 2]
    assert len(fed(rows([30, 30, 30]))) == 3  # a batch job
    assert fed([]) == []


def test_columns_of_dashes_are_left_out_of_a_comparison(tmp_path: Path, make_run: MakeRun) -> None:
    runs = [make_run(tmp_path / n, nodes=2, rounds=2, learners=("cooperative",)) for n in "ab"]
    head = report(tmp_path, *runs).tables[0][0]
    assert "MAE window" in head
    assert not {"MAE held", "MAE alone", "MAE pooled"} & set(head)


def test_a_batch_run_names_its_scopes(tmp_path: Path, make_run: MakeRun) -> None:
    run = make_run(tmp_path / "r", nodes=2, rounds=2)
    job = json.loads((run / "job.json").read_text())
    job["job"]["kind"] = "batch"
    (run / "job.json").write_text(json.dumps(job))
    groups = [row[0] for row in report(tmp_path, run).tables[0] if len(row) == 1]
    assert groups[0] == "Training samples, after the last round"


def test_wrong_use_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "report.html"
    with pytest.raises(ConfigurationError, match="empty"):
        write_report([], out)
    with pytest.raises(ConfigurationError, match=re.escape(str(tmp_path / "nowhere"))):
        write_report([tmp_path / "nowhere"], out)
    monkeypatch.setitem(sys.modules, "bokeh.plotting", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'anabranch\[report\]'"):
        write_report([tmp_path], out)
    assert not out.exists()


def test_a_node_without_samples_has_no_colour_and_ranks_nowhere(
    tmp_path: Path, make_run: MakeRun
) -> None:
    run = make_run(tmp_path / "run", nodes=5, rounds=6)
    rows = [json.loads(line) for line in (run / "scores.jsonl").read_text().splitlines()]
    for row in rows:
        if row["node"] == "n2":  # what a job writes: no error, as there was no sample
            row["samples"] = 0
            row["scores"] = row["window"] = dict.fromkeys(row["scores"], 0.0)
        else:
            row["window"]["MAE"] += 0.2
    (run / "scores.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    page = report(tmp_path, run)
    (scale,) = re.findall(r"([\d.]+) better", page.text)
    assert float(scale) > 0.1
    read = read_run(run)
    assert _score(read.nodes["cooperative"]["n2"], "MAE") is None
    (row,) = [row for table in page.tables for row in table if row[:2] == ["n2", "0"]]
    assert set(row[2:8]) == {MISSING}


def test_drifts_say_what_their_errors_are_and_what_over_means(
    tmp_path: Path, make_run: MakeRun
) -> None:
    run = make_run(tmp_path / "run", nodes=5, rounds=6)
    job = json.loads((run / "job.json").read_text()) | {"drift": {"every": 30, "settle": 7}}
    (run / "job.json").write_text(json.dumps(job))
    row = {"round": 5, "since": 4, "scope": "node", "nodes": ["n3"], "before": 0.14, "after": 0.4}
    lines = [row | {"kind": "begin"}, row | {"kind": "end", "after": 0.385}]
    (run / "drift.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    page = report(tmp_path, run)
    assert "0.1400 before, 0.4000 since" in page.text
    assert "0.1400 before, 0.3850 when it was over" in page.text
    assert "not risen further for drift.settle = 7 means of 30 samples" in page.text
