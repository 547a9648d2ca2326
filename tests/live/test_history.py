"""What the live pages remember: bounded, and right after a restart."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.config import load_job
from pipelines.live.channel import MOST, Channel, Channels
from pipelines.live.node_history import NodeHistory
from pipelines.live.records import NodeNow
from pipelines.live.score_curves import ScoreCurves
from pipelines.live.series import Series
from pipelines.report.drift import Drift, read_drift
from pipelines.report.layout import layout
from pipelines.report.networks import Drawing, read_network
from pipelines.tail import Tail


@given(st.lists(st.integers(0, 400), min_size=1, max_size=400), st.integers(2, 20))
def test_a_curve_is_bounded_in_order_and_ends_with_the_newest(xs: list[int], most: int) -> None:
    series: Series[int] = Series(most)
    for i, x in enumerate(xs):
        series.add(x, i)
    points = series.points()
    places = [x for x, _ in points]
    assert len(points) <= most + 1
    assert places == sorted(set(places))
    assert points[-1] == (xs[-1], len(xs) - 1)
    assert series.newest == len(xs) - 1
    # What stood at or beyond a later point was undone.
    for x, i in points[:-1]:
        assert all(later > x for later in xs[i + 1 :])


def test_a_tail_gives_whole_lines_once_and_of_a_long_file_the_end(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    tail = Tail(path, 160, 40)
    path.write_text("one\ntwo\nthr")
    assert tail.lines() == [b"one", b"two"]
    path.write_text("one\ntwo\nthree\n")
    assert tail.lines() == [b"three"]
    path.write_text("one\n")  # cut back
    assert tail.lines() == []
    path.write_text("one\nTWO\n")
    assert tail.lines() == [b"TWO"]
    with path.open("a") as file:
        file.writelines(f"row {i:05d}\n" for i in range(100))
    tail = Tail(path, 160, 40)
    found = [line for _ in range(40) for line in tail.lines()]
    assert found == [b"row %05d" % i for i in range(85, 100)]


def _row(round: int, samples: int, error: float, learner: str = "cooperative") -> str:
    row = {"round": round, "learner": learner, "node": None, "samples": samples}
    return json.dumps(row | {"scores": {"MAE": error}}, separators=(",", ":")) + "\n"


def test_curves_follow_a_restart_from_an_older_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    curves = ScoreCurves(path, by_rounds=False)
    path.write_text("".join(_row(i, 10 * i, 1.0) for i in range(6)) + "no json\n")
    curves.update()
    assert [row.round for row in curves.rows["cooperative"]] == list(range(6))
    assert curves.place(2) == 20.0
    path.write_text("".join(_row(i, 10 * i, 1.0) for i in range(3)))
    curves.update()
    with path.open("a") as file:
        file.write(_row(3, 30, 0.5))
    curves.update()
    assert [(row.round, row.scores["MAE"]) for row in curves.rows["cooperative"]] == [
        (0, 1.0),
        (1, 1.0),
        (2, 1.0),
        (3, 0.5),
    ]
    assert curves.place(99) == 30.0


def test_rows_of_nodes_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    path.write_text(_row(1, 5, 1.0).replace('"node":null', '"node":"n1"') + _row(1, 5, 2.0))
    curves = ScoreCurves(path, by_rounds=True)
    curves.update()
    newest = curves.newest()
    assert newest is not None
    assert newest.scores == {"MAE": 2.0}


def _node(error: float) -> NodeNow:
    return NodeNow(1, 1, 1, 1, {"MAE": error})


def test_history_of_nodes_that_come_and_go() -> None:
    history = NodeHistory()
    history.add(1.0, {"a": _node(0.5)}, ["MAE"])
    history.add(2.0, {"a": _node(0.25), "b": _node(1.0)}, ["MAE"])
    history.add(3.0, {"b": _node(2.0)}, ["MAE"])
    assert history.curve("a") == {"x": [1.0, 2.0, 3.0], "MAE": [0.5, 0.25, None]}
    assert history.curve("b") == {"x": [2.0, 3.0], "MAE": [1.0, 2.0]}
    assert history.curve("c") == {"x": [], "MAE": []}


def test_a_slow_viewer_gets_the_newest_of_each_kind() -> None:
    channel = Channel()
    channel.put("now", b"1")
    channel.put("curves", b"2")
    channel.put("now", b"3")
    seen, events, ended = channel.take(0, 0.0)
    assert events == [b"event: curves\ndata: 2\n\n", b"event: now\ndata: 3\n\n"]
    assert not ended
    channel.put("now", b"3")  # no news
    assert channel.take(seen, 0.0) == (seen, [], False)
    channel.put("ended", b"{}")
    channel.close()
    assert channel.take(seen, 60.0)[1:] == ([b"event: ended\ndata: {}\n\n"], True)


def test_viewers_are_bounded_and_pages_forgotten() -> None:
    channels = Channels()
    held = [channels.viewed(f"n{i % 3}") for i in range(MOST)]
    assert all(one.__enter__() is not None for one in held)
    with channels.viewed("more") as channel:
        assert channel is None
    assert set(channels.watched()) == {"n0", "n1", "n2"}
    for one in held:
        one.__exit__(None, None, None)
    assert channels.watched() == {}
    channels.close()
    with channels.viewed("n0") as channel:
        assert channel is None


@pytest.mark.parametrize("graph", ["ring", "star", "path", "complete", "grid"])
def test_pictures_of_networks_are_the_same_each_time_and_keep_nodes_apart(graph: str) -> None:
    job = load_job(None, [f'network.graph="{graph}"', "network.nodes=16"])
    drawing = read_network(Path("nowhere"), job.network)
    assert drawing is not None
    places = layout(drawing.names, drawing.edges)
    assert np.array_equal(places, layout(drawing.names, drawing.edges))
    assert places.shape == (16, 2)
    assert np.isfinite(places).all()
    assert np.abs(places).max() == pytest.approx(1.0)
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)[~np.eye(16, dtype=bool)]
    assert apart.min() > 0.05
    ends = np.array(drawing.edges)
    if graph in ("ring", "path", "grid"):  # neighbours are nearer than others
        lengths = np.linalg.norm(places[ends[:, 0]] - places[ends[:, 1]], axis=1)
        assert lengths.max() < 0.8 * apart.max()


def test_nodes_stay_where_they_were_when_one_joins() -> None:
    names = [f"n{i}" for i in range(8)]
    ring = [(i, (i + 1) % 8) for i in range(8)]
    before = layout(names, ring)
    known = {name: (float(x), float(y)) for name, (x, y) in zip(names, before, strict=True)}
    after = layout([*names, "n8"], [*ring, (8, 0)], known)
    assert np.linalg.norm(after[:8] - before, axis=1).max() < 0.6
    nearest = np.argsort(np.linalg.norm(after - after[8], axis=1))[1]
    assert nearest == 0


def test_one_node_and_two_parts_have_pictures() -> None:
    assert layout(["a"], []).tolist() == [[0.0, 0.0]]
    places = layout(["a", "b", "c", "d"], [(0, 1), (2, 3)])
    assert np.isfinite(places).all()


def test_the_newest_network_is_read(tmp_path: Path) -> None:
    job = load_job(None, ["network.nodes=3", 'network.graph="path"'])
    path = tmp_path / "networks.json"
    assert read_network(path, job.network) == Drawing(("n00", "n01", "n02"), ((0, 1), (1, 2)))
    eras = [
        {"round": 0, "nodes": ["n00"], "edges": []},
        {"round": 9, "nodes": ["n01", "n00"], "edges": [["n00", "n01"]]},
    ]
    path.write_text(json.dumps({"schema": 1, "eras": eras}))
    assert read_network(path, job.network) == Drawing(("n00", "n01"), ((0, 1),))
    path.write_text('{"schema": 1, "eras": [')
    assert read_network(path, job.network) == Drawing(("n00", "n01", "n02"), ((0, 1), (1, 2)))
    assert read_network(path, {"graph": "edges", "edges": str(tmp_path / "gone")}) is None


def test_drifts_are_told_in_words(tmp_path: Path) -> None:
    path = tmp_path / "drift.jsonl"
    assert read_drift(path) == []
    row = {
        "round": 9,
        "since": 7,
        "scope": "neighbourhood",
        "nodes": list("abcde"),
        "kind": "wider",
    }
    path.write_text(json.dumps(row) + "\nno json\n" + json.dumps(row | {"kind": "begin"}) + "\n")
    found = read_drift(path)
    assert [drift.at for drift in found] == [9, 7]
    assert found[0].sentence == "drift of a neighbourhood spreads: a, b, c and 2 more"
    assert Drift(3, "node", ["a"], "end").sentence == "drift of one node is over: a"
