"""What a scrape finds: bounded series, counts that never go back, the worst nodes by name."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from pipelines.config import Job, default_job, load_job
from pipelines.live.records import EdgeNow, NodeNow, Now
from pipelines.metrics import JobCollector, JobFiles, Seen
from pipelines.run_dir import RunDirectory

Series = tuple[str, ...]

STATUSES: list[dict[str, Any]] = [
    {
        "process": 0,
        "time": 100.0,
        "started": 50.0,
        "learned": 5,
        "messages": 10,
        "bytes": 1000,
        "alarms": 1,
        "rate": 2.5,
        "memory": 1000,
        "files": 7,
        "rounds": [4, 9],
        "partitions": {"a:b:3": {"offset": 7, "lag": 2, "age": None}},
        "outputs": {"out": {"sent": 4, "queued": 1}},
        "refused": {"other_run": 2},
        "reasons": {"malformed": 2, "late": 1},
        "drift": {"node": 1},
        "sites": {"west": {"silent": 9.0}},
        "measures": {"primal": {"max": 4.0, "sum": 6.0, "nodes": 3}},
        "diverging": ["n1"],
    },
    {
        "process": 1,
        "time": 101.0,
        "started": 51.0,
        "learned": 6,
        "messages": 20,
        "bytes": 3000,
        "rounds": [3, 8],
        "outputs": {"out": {"sent": 5, "queued": 0}},
        "refused": {"other_run": 1},
        "reasons": {"malformed": 1},
        "sites": {"west": {"silent": 1.0}},
        "measures": {
            "primal": {"max": 2.0, "sum": 2.0, "nodes": 1},
            "gap": {"max": 0.5, "sum": 0.5, "nodes": 1},
        },
        "diverging": ["n3", "n4"],
    },
]


def found(collector: JobCollector) -> dict[Series, float]:
    """Scrape; give the value of every series by its name and the values of its labels."""
    registry = CollectorRegistry()
    registry.register(collector)
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(generate_latest(registry).decode())
        for sample in family.samples
    }


def of(seen: Seen, job: Job | None = None) -> dict[Series, float]:
    return found(JobCollector(job or default_job(), lambda: seen))


def write_statuses(run_dir: RunDirectory, statuses: Iterable[Mapping[str, Any]]) -> None:
    for status in statuses:
        run_dir.status_of(status["process"]).write_text(json.dumps(status), encoding="utf-8")


def scrape_files(tmp_path: Path) -> tuple[RunDirectory, JobCollector]:
    run_dir, job = RunDirectory(tmp_path), default_job()
    return run_dir, JobCollector(job, JobFiles(job, run_dir, lambda: "yellow").read)


def test_all_processes_together(tmp_path: Path) -> None:
    run_dir, collector = scrape_files(tmp_path)
    write_statuses(run_dir, STATUSES)
    series = found(collector)
    assert series["anabranch_samples_total",] == 11
    assert series["anabranch_messages_total",] == 30
    assert series["anabranch_message_bytes_total",] == 4000
    assert series["anabranch_dead_letters_total", "malformed"] == 3
    assert series["anabranch_dead_letters_total", "late"] == 1
    assert series["anabranch_dead_letters_total", "bad_label"] == 0
    assert series["anabranch_drift_total", "node"] == 1
    assert series["anabranch_drift_total", "network"] == 0
    assert series["anabranch_alarms_total",] == 1
    assert series["anabranch_health", "yellow"] == 1
    assert series["anabranch_health", "green"] == 0
    assert (series["anabranch_round_min",], series["anabranch_round_max",]) == (3, 9)
    assert series["anabranch_source_lag", "3", "a:b"] == 2
    assert ("anabranch_source_age_seconds", "3", "a:b") not in series
    assert series["anabranch_output_records_total", "out"] == 9
    assert series["anabranch_output_queued", "out"] == 1
    assert series["anabranch_refused_messages_total", "other_run"] == 3
    assert series["anabranch_site_silent_seconds", "west"] == 1
    assert series["anabranch_resident_memory_bytes", "0"] == 1000
    assert series["anabranch_resident_memory_bytes", "supervisor"] > 1e6
    assert series["anabranch_open_files", "0"] == 7
    assert series["anabranch_open_files", "supervisor"] > 2
    assert series["anabranch_start_time_seconds", "1"] == 51
    assert series["anabranch_measure_max", "primal"] == 4
    assert series["anabranch_measure_mean", "primal"] == 2
    assert series["anabranch_measure_mean", "gap"] == 0.5
    assert series["anabranch_diverging_nodes",] == 3


def test_counts_go_on_where_processes_are_restarted(tmp_path: Path) -> None:
    run_dir, collector = scrape_files(tmp_path)
    write_statuses(run_dir, STATUSES)
    samples, letters = [], []
    fresh = [{**status, "started": status["started"] + 60, "learned": 1} for status in STATUSES]
    for step in ([], fresh[:1], fresh[1:], fresh):
        write_statuses(run_dir, step)
        series = found(collector)
        samples.append(series["anabranch_samples_total",])
        letters.append(series["anabranch_dead_letters_total", "malformed"])
    assert samples == [11, 12, 13, 13]
    assert letters == [3, 5, 6, 6]


def nows(count: int, time: float = 0.0) -> list[Now]:
    """Make a ring of nodes, in two processes; the higher a node's number, the worse it is."""
    names = [f"n{i:04d}" for i in range(count)]
    nodes = {name: NodeNow(9, 90, 18, 180, {"MAE": i / 100}) for i, name in enumerate(names)}
    edges = [EdgeNow(names[i - 1], name, i / 10, 5, 50) for i, name in enumerate(names)]
    half = count // 2
    parts = (names[:half], names[half:])
    return [
        Now(p, time, {name: nodes[name] for name in part}, edges[p * half :][:half])
        for p, part in enumerate(parts)
    ]


def names_of(series: Mapping[Series, float], name: str) -> set[Series]:
    return {key[1:] for key in series if key[0] == name}


def test_the_number_of_series_does_not_grow_with_the_network() -> None:
    sizes = {count: len(of(Seen(nows=nows(count), time=0.0))) for count in (40, 1000)}
    assert sizes[40] == sizes[1000]
    none = load_job(None, ["monitor.worst=0"])
    series = of(Seen(nows=nows(1000), time=0.0), none)
    assert len(series) == sizes[1000] - 20
    assert (series["anabranch_nodes",], series["anabranch_edges",]) == (1000, 1000)


def test_the_worst_nodes_and_the_edges_silent_longest_are_named() -> None:
    series = of(Seen(nows=nows(1000), time=0.0), load_job(None, ["monitor.worst=3"]))
    worst = names_of(series, "anabranch_node_score")
    # Two digits decide, then names: 9.96 to 9.99 are alike, and so are edges by one digit.
    assert worst == {("MAE", name) for name in ("n0996", "n0997", "n0998")}
    assert series["anabranch_node_score", "MAE", "n0996"] == 9.96
    assert series["anabranch_edge_age_max_seconds",] == pytest.approx(99.9)
    oldest = names_of(series, "anabranch_edge_age_seconds")
    assert oldest == {("n0949", "n0950"), ("n0950", "n0951"), ("n0951", "n0952")}


def test_high_scores_are_not_the_worst_where_they_are_good() -> None:
    from pipelines.metrics.nodes import Headline, node_metrics

    nodes = {name: NodeNow(1, 1, 1, 1, {"F1": at}) for name, at in (("a", 0.9), ("b", 0.1))}
    families = node_metrics(Seen(nows=[Now(0, 0.0, nodes)]), Headline("F1", True), 1)
    (scored,) = [one for one in families if one.name == "anabranch_node_score"]
    assert [sample.labels["node"] for sample in scored.samples] == ["b"]


def test_noise_makes_no_new_series() -> None:
    """Edges all heard just now are told by name, whichever of them is the oldest."""
    job = load_job(None, ["monitor.worst=2"])
    ages: list[dict[str, float]] = [{"a": 0.1, "b": 0.2, "c": 3.0}, {"a": 4.0, "b": 0.3, "c": 0.0}]
    told = [
        names_of(
            of(Seen(nows=[Now(0, 0.0, {}, [EdgeNow(s, "r", age, 1, 8) for s, age in one.items()])]),
               job),
            "anabranch_edge_age_seconds",
        )
        for one in ages
    ]  # fmt: skip
    assert told == [{("a", "r"), ("b", "r")}] * 2


def test_what_a_lost_process_heard_grows_old() -> None:
    series = of(Seen(nows=nows(40, time=100.0), time=150.0))
    assert series["anabranch_edge_age_max_seconds",] == pytest.approx(50 + 3.9)


def test_edges_over_which_nothing_came_have_no_age() -> None:
    now = Now(0, 0.0, {}, [EdgeNow("a", "b", -1.0, 0, 0), EdgeNow("b", "a", 2.0, 1, 8)])
    series = of(Seen(nows=[now], time=0.0))
    assert series["anabranch_unheard_edges",] == 1
    assert names_of(series, "anabranch_edge_age_seconds") == {("a", "b")}


def row(learner: str, mae: float | None, node: str | None = None, **more: Any) -> bytes:
    scores = {"MAE": mae, "Accuracy": 0.5}
    own = {"learner": learner, "node": node, "scores": scores, "window": scores, "held": None}
    return json.dumps(own | more).encode() + b"\n"


def test_the_newest_scores_of_the_network_and_its_companions(tmp_path: Path) -> None:
    run_dir, collector = scrape_files(tmp_path)
    assert not names_of(found(collector), "anabranch_score")
    apart = {"disagreement": {"max": 2.0, "mean": 1.0}}
    first = row("cooperative", 3.0, **apart) + row("cooperative", 9.0, "n00") + row("pooled", None)
    run_dir.scores.write_bytes(first + row("cooperative", 1.0)[:20])
    series = found(collector)
    assert series["anabranch_score", "MAE", "all", "cooperative"] == 3
    assert series["anabranch_score", "Accuracy", "pooled", "window"] == 0.5
    assert ("anabranch_score", "MAE", "all", "pooled") not in series
    assert series["anabranch_disagreement_max",] == 2
    run_dir.scores.write_bytes(first + row("cooperative", 1.0, held={"MAE": 0.25}))
    series = found(collector)
    assert series["anabranch_score", "MAE", "all", "cooperative"] == 1
    assert series["anabranch_score", "MAE", "cooperative", "held"] == 0.25


def test_only_the_end_of_old_scores_is_read(tmp_path: Path) -> None:
    run_dir, collector = scrape_files(tmp_path)
    old = row("pooled", 7.0) + row("cooperative", 3.0) * 20_000
    assert len(old) > 1 << 20
    run_dir.scores.write_bytes(old + row("local", 2.0))
    labels = {label for key in names_of(found(collector), "anabranch_score") for label in key}
    assert {"cooperative", "local"} <= labels
    assert "pooled" not in labels


def test_snapshots(tmp_path: Path) -> None:
    run_dir, job = RunDirectory(tmp_path), load_job(None, [f"recovery.dir={tmp_path / 'state'}"])
    collector = JobCollector(job, JobFiles(job, run_dir, lambda: "green").read)
    assert ("anabranch_snapshot_bytes",) not in found(collector)
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "part-0.sqlite3").write_bytes(bytes(4096))
    series = found(collector)
    assert series["anabranch_snapshot_bytes",] == 4096
    assert 0 <= series["anabranch_snapshot_age_seconds",] < 60


def test_a_restart_between_two_scrapes_loses_no_count(tmp_path: Path) -> None:
    job, run_dir = default_job(), RunDirectory(tmp_path)
    files = JobFiles(job, run_dir, lambda: "green")
    for started, learned in ((50.0, 5), (60.0, 7), (70.0, 1)):
        write_statuses(run_dir, [{"process": 0, "started": started, "learned": learned}])
        files.count()
    seen = files.read()
    assert seen.counts("learned") == {"": 13.0}
    write_statuses(run_dir, [{"process": 0, "started": 70.0, "learned": 4}])
    files.count()
    assert seen.counts("learned") == {"": 13.0}  # a scrape is of one moment
    assert files.read().counts("learned") == {"": 16.0}


def test_counters_end_in_total_and_everything_is_explained() -> None:
    families = list(JobCollector(default_job(), Seen).collect())
    registry = CollectorRegistry()
    registry.register(JobCollector(default_job(), Seen))
    text = generate_latest(registry).decode()
    for family in families:
        assert family.name.startswith("anabranch_")
        assert not family.name.endswith("_total")
        assert family.documentation.endswith(".")
        name = family.name + ("_total" if family.type == "counter" else "")
        assert f"# HELP {name} " in text
    assert len({family.name for family in families}) == len(families)
