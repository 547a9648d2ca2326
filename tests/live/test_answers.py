"""The pages as a client asks for them, without a browser."""

import gzip
import http.client
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from msgspec import structs

from pipelines.config.measures import MEANINGS
from pipelines.live import channel
from pipelines.live.frames import figures
from pipelines.live.node_frames import node_now
from pipelines.live.score_curves import ScoreCurves
from pipelines.live.snapshot import take
from tests.live.fake_job import HOSTILE, FakeJob


@pytest.fixture
def fake(tmp_path: Path) -> FakeJob:
    return FakeJob(tmp_path / "run", ["n0", "n1", "n2", HOSTILE])


@pytest.fixture
def port(fake: FakeJob) -> Iterator[int]:
    with fake.served() as port:
        yield port


def ask(
    port: int, path: str, method: str = "GET", headers: dict[str, str] | None = None
) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(method, path, headers=headers or {})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def events(port: int, path: str) -> Iterator[tuple[str, object]]:
    """Give the events of a stream, for as long as it lasts."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", path)
    answer = connection.getresponse()
    assert answer.getheader("Content-Type") == "text/event-stream; charset=utf-8"
    name = ""
    try:
        while line := answer.readline().decode():
            if line.startswith("event: "):
                name = line[7:].strip()
            elif line.startswith("data: "):
                yield name, json.loads(line[6:])
    finally:
        connection.close()


def test_every_answer_forbids_what_is_of_elsewhere(port: int) -> None:
    for path in ("/", "/node/n1", "/health", "/metrics", "/nothing", "/static/live.js"):
        answer, _ = ask(port, path)
        policy = answer.getheader("Content-Security-Policy", "")
        assert policy.startswith("default-src 'none'; script-src 'self';")
        assert "http" not in policy
        assert "unsafe-eval" not in policy
        assert answer.getheader("X-Content-Type-Options") == "nosniff"
        assert "Python" not in answer.getheader("Server", "")


def test_what_a_page_needs_is_there_and_may_be_kept_for_ever(port: int) -> None:
    html = ask(port, "/")[1].decode()
    needed = [part.split('"')[0] for part in html.replace('href="', 'src="').split('src="')[1:]]
    files = [path for path in needed if path.startswith("/static/")]
    assert len(files) == 6
    for path in files:
        answer, body = ask(port, path)
        assert answer.status == 200
        assert "immutable" in answer.getheader("Cache-Control", "")
        packed, small = ask(port, path, headers={"Accept-Encoding": "gzip"})
        assert packed.getheader("Content-Encoding") == "gzip"
        assert gzip.decompress(small) == body
        assert len(small) < len(body)
    assert all(path in (*files, "data:,", "#main") for path in needed)
    assert ask(port, "/")[0].getheader("Cache-Control") == "no-store"


def test_head_is_answered_and_other_methods_are_not(port: int) -> None:
    for path in ("/", "/health", "/events", "/static/live.css"):
        answer, body = ask(port, path, "HEAD")
        assert (answer.status, body) == (200, b"")
    for method in ("POST", "PUT", "DELETE"):
        assert ask(port, "/", method)[0].status == 501


@pytest.mark.parametrize(
    "path",
    [
        "/static/../live/job.py",
        "/static/%2e%2e/job.py",
        "/static//etc/passwd",
        "/static/..%2f..%2fetc%2fpasswd",
        "/static/",
        "/static/job.py",
        "/node/",
        "/node/..%2f..%2fjob.json",
        "/node/n9",
        "/events/node/n9",
        "/events/",
        "/events/node/",
        "//n0",
        "/job.json",
    ],
)
def test_nothing_else_is_given(port: int, path: str) -> None:
    answer, body = ask(port, path)
    assert answer.status == 404
    assert answer.getheader("Content-Type") == "text/plain; charset=utf-8"
    assert b"root:" not in body


def test_names_are_shown_as_they_are(port: int) -> None:
    html = ask(port, f"/node/{quote(HOSTILE, safe='')}")[1].decode()
    assert "<b>" not in html
    assert "<h1>&lt;b&gt;a/b%2f..&quot;&#x27;&amp;</h1>" in html
    found = next(events(port, f"/events/node/{quote(HOSTILE, safe='')}"))
    assert found == ("hello", "one")


def test_a_stream_tells_the_network_how_all_is_and_the_end(fake: FakeJob) -> None:
    with fake.served() as port:
        stream = events(port, "/events")
        assert next(stream) == ("hello", "one")
        name, network = next(stream)
        assert name == "network"
        assert isinstance(network, dict)
        assert network["names"] == sorted(["n0", "n1", "n2", HOSTILE])
        fake.step(5)
        told = {}
        while {"now", "curves", "flow"} - set(told):
            name, told[name] = next(stream)
        now, curves = told["now"], told["curves"]
        assert isinstance(now, dict)
        assert isinstance(curves, dict)
        assert now["figures"]["samples"] == fake.samples == 200
        assert now["scores"]["MAE"] == [float(f"{fake.score(i)['MAE']:.4g}") for i in range(4)]
        assert now["metrics"] == [["MAE", False], ["Accuracy", True]]
        assert [(one["reason"], one["count"]) for one in now["dead"]] == [
            ("bad_label", 4),
            ("unknown_node", 1),
        ]
        assert [part["lag"] for part in now["partitions"]] == [4950, 4950]
        assert list(curves["lines"]) == ["cooperative", "local", "pooled"]
        assert list(curves["disagreement"]) == ["cooperative", "local"]
        fake.live.close()
        assert [name for name, _ in stream][-1] == "ended"


def test_drifts_are_marked_where_their_rounds_are(fake: FakeJob) -> None:
    with fake.served() as port:
        for _ in range(8):
            fake.step()
        fake.drift("begin", ["n1"])
        stream, node = events(port, "/events"), events(port, "/events/node/n1")
        for one in (stream, node):
            assert next(one)[0] == "hello"
        fake.step()
        while not (fake.live.channels.watched().keys() >= {"", "n1"}):
            fake.step()
        fake.step()
        marks = next(told for name, told in stream if name == "curves")["marks"]  # type: ignore[index]
        assert marks["begins"]["x"] == [6 * 40.0]  # since round 6, of 40 samples each
        words = "0.2000 before, 0.5000 since"
        assert marks["told"][0] == [8, 6, "drift of one node begins: n1", words]
        now = next(told for name, told in node if name == "now")
        assert now["drifts"]  # type: ignore[index]
        fake.drift("end", ["n1"])
        fake.step()
        assert not next(t for n, t in node if n == "now" and not t["drifts"])["drifts"]  # type: ignore[index]


def test_too_many_viewers_are_told(fake: FakeJob, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel, "MOST", 1)
    with fake.served() as port:
        first = events(port, "/events")
        assert [next(first)[0] for _ in range(2)] == ["hello", "network"]
        assert [name for name, _ in events(port, "/events")] == ["hello", "full"]
        first.close()  # type: ignore[attr-defined]
        # The lost viewer is found when it is sent something.
        while fake.live.channels.watched():
            fake.step()


def test_a_network_that_changes_is_told_anew(fake: FakeJob) -> None:
    with fake.served() as port:
        stream = events(port, "/events")
        assert [next(stream)[0] for _ in range(2)] == ["hello", "network"]
        eras = [{"round": 0, "nodes": ["n0", "n7"], "edges": [["n0", "n7"]]}]
        fake.run_dir.networks.write_text(json.dumps({"schema": 1, "eras": eras}))
        fake.step()
        while True:
            name, told = next(stream)
            fake.step()
            if name == "network" and told["names"] == ["n0", "n7"]:  # type: ignore[index]
                break
        assert ask(port, "/node/n7")[0].status == 200
        assert ask(port, "/node/n1")[0].status == 404


def test_nothing_is_said_of_what_is_not_known_yet(fake: FakeJob) -> None:
    with fake.served() as port:
        for path in ("/", "/node/n1"):
            html = ask(port, path)[1].decode()
            empty = re.findall('<p id="no-[a-z]+"([^>]*)>', html)
            assert len(empty) >= 4
            assert set(empty) == {" hidden"}
        stream = events(port, "/events")
        assert [next(stream)[0] for _ in range(2)] == ["hello", "network"]
        while "" not in fake.live.channels.watched():
            time.sleep(0.01)
        fake.live.update([], fake.verdict)
        now = next(told for name, told in stream if name == "now")
        assert now["known"] is False  # type: ignore[index]
        fake.step()
        assert next(told for name, told in stream if name == "now")["known"]  # type: ignore[index]


def test_who_comes_as_the_job_ends_is_told_how_it_was(fake: FakeJob) -> None:
    with fake.served() as port:
        fake.step()  # nobody looks
        stream = events(port, "/events/node/n1")
        assert next(stream)[0] == "hello"
        while "n1" not in fake.live.channels.watched():
            time.sleep(0.01)
        fake.live.close()
        told = dict(stream)
        assert list(told) == ["curves", "now", "ended"]
        assert told["now"]["figures"]["samples"] == 10  # type: ignore[index]
        assert [name for name, _ in events(port, "/events")] == ["hello", "ended"]


def test_what_nodes_did_that_left_is_counted(fake: FakeJob) -> None:
    for _ in range(3):
        fake.step()
    snapshot = take(fake.run_dir, 1, [{"samples": 500}])
    assert snapshot.samples == 500
    curves = ScoreCurves(fake.run_dir.scores, by_rounds=False)
    curves.update()
    row = curves.newest()
    assert row is not None
    row.messages, row.bytes = 1000, 10**9
    found = figures(snapshot, curves)
    assert (found["messages"], found["bytes"]) == (1000, 10**9)


def test_a_nodes_page_says_what_its_measures_mean(fake: FakeJob) -> None:
    fake.step()
    snapshot = take(fake.run_dir, 1, [{}])
    node = snapshot.nodes["n1"]
    snapshot.nodes["n1"] = structs.replace(node, measures={"zeros": 0.5, "mine": 1.0})
    told = node_now("n1", snapshot, fake.drawing, ["MAE"], fake.verdict, [])
    assert told["measures"] == {"mine": 1.0, "zeros": 0.5}
    assert told["meanings"] == {"zeros": MEANINGS["zeros"]}
