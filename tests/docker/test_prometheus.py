"""A Prometheus of Debian's scrapes a job of two processes, and the board finds all it asks for."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from tests.brokers.client import Kafka, fresh_name
from tests.brokers.ports import free_ports
from tests.brokers.process import Process
from tests.docker.board import asked, expressions, filled_in, load_board, names_in
from tests.docker.files import DOCKER
from tests.packages import debian_program
from tests.pipelines.jobs import start
from tests.pipelines.kafka.jobs import NODES, records, settings

EAST, WEST = NODES[:3], NODES[3:]
LONGEST = 180.0

ENDLESS = ("source.until_end=", "exchange.mode=asynchronous", "exchange.transport=kafka")


@dataclass(frozen=True)
class Watched:
    """A running job and the Prometheus that scrapes it."""

    job: str
    prometheus: str
    topic: str

    def ask(self, page: str, **words: str) -> Any:
        """Ask Prometheus's API; gives what is under "data"."""
        with urlopen(f"http://{self.prometheus}/api/v1/{page}?{urlencode(words)}") as answer:
            return json.load(answer)["data"]

    def text(self) -> str:
        """Scrape the job by hand."""
        with urlopen(f"http://{self.job}/metrics") as answer:
            text: str = answer.read().decode()
            return text


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory, kafka: Kafka) -> Iterator[Watched]:
    """Two sites, one of them watched; a record of its topic is broken."""
    program = debian_program("prometheus", "prometheus")
    folder = tmp_path_factory.mktemp("watched")
    job, prometheus = (f"localhost:{port}" for port in free_ports(2))
    _configure(folder, job)
    letters, topics = fresh_name(), {"east": kafka.topic(2), "west": kafka.topic(2)}
    more = {"east": ["--processes=2", f"--http={job}"], "west": []}
    running = [_site(folder, kafka, here, topics[here], letters, *more[here]) for here in topics]
    command = [f"--config.file={folder}/prometheus.yaml", f"--storage.tsdb.path={folder}/data"]
    scraping = Process(
        [program, *command, f"--web.listen-address={prometheus}"], folder / "prometheus.log"
    )
    try:
        yield Watched(job, prometheus, topics["east"])
    finally:
        scraping.kill()
        for one in running:
            one.kill()
            one.communicate()


def _configure(folder: Path, job: str) -> None:
    """Write the configuration of docker/, with another target, and five times as fast."""
    text = (DOCKER / "prometheus.yaml").read_text(encoding="utf-8")
    assert text.count("job:8080") == 1
    text = text.replace("job:8080", job).replace("interval: 5s", "interval: 1s")
    (folder / "prometheus.yaml").write_text(text, encoding="utf-8")
    (folder / "alerts.yaml").write_bytes((DOCKER / "alerts.yaml").read_bytes())


def _site(
    folder: Path, kafka: Kafka, here: str, topic: str, letters: str, *more: str
) -> "subprocess.Popen[bytes]":
    nodes = {"east": EAST, "west": WEST}
    for part in range(2):
        kafka.produce(topic, records(600, 600 * part, nodes=nodes[here]), partition=part)
    kafka.produce(topic, [b"no record"], partition=0)
    (folder / here).mkdir()
    own = [
        *ENDLESS,
        f"sites.nodes={json.dumps(nodes).replace(':', '=')}",
        f"sites.here={here}",
        f"sites.topic={letters}",
        f"sites.run={letters}",
        f"output.predictions=kafka:{fresh_name()}",
        'evaluation.companions=["local","pooled"]',
        "evaluation.every=5",
        "monitor.interval=500ms",
    ]
    return start(folder / here, *more, settings=settings(kafka, [topic], *own))


def eventually(what: str, found: Callable[[], Any]) -> Any:
    """Give what is found once it is something."""
    deadline = time.monotonic() + LONGEST
    while True:
        try:
            result = found()
        except OSError:
            result = None
        if result:
            return result
        assert time.monotonic() < deadline, f"no {what} in {LONGEST:g} s"
        time.sleep(0.2)


def test_every_expression_of_the_board_has_data(watched: Watched) -> None:
    board = load_board()
    variables = {"instance": watched.job, "__rate_interval": "10s", "metric": "MAE"}
    for title, expression in expressions(board):
        query = filled_in(expression, variables)
        eventually(f"data for {title}: {query}", lambda q=query: _values(watched, q))
    for series, label in asked(board):
        match = filled_in(series, variables)
        found = watched.ask(f"label/{label}/values", **{"match[]": match})
        assert variables[label] in found
    for one in board["annotations"]["list"]:
        watched.ask("query", query=filled_in(one["expr"], variables))  # it is understood


def _values(watched: Watched, query: str) -> list[Any]:
    result: list[Any] = watched.ask("query", query=query)["result"]
    return result


def test_the_values_are_those_of_the_job(watched: Watched) -> None:
    def value(query: str) -> float:
        rows = _values(watched, query)
        return float(rows[0]["value"][1]) if rows else 0.0

    eventually("samples", lambda: value("anabranch_samples_total") == 1200)
    eventually("letter", lambda: value('anabranch_dead_letters_total{reason="malformed"}') == 1)
    eventually("end", lambda: value("sum(anabranch_source_lag)") == 0)
    parts = value(f'sum(anabranch_source_offset{{topic="{watched.topic}"}})')
    assert parts == 1201  # what is no record has an offset, too
    assert value("anabranch_nodes") == len(EAST)
    assert {row["metric"]["process"] for row in _values(watched, "anabranch_open_files")} == {
        "0",
        "1",
        "supervisor",
    }
    assert value("anabranch_messages_total") > 100
    assert value("anabranch_message_bytes_total") > 10_000
    eventually("health", lambda: value('anabranch_health{state="green"}') == 1)


def test_what_prometheus_has_is_what_the_board_shows(watched: Watched) -> None:
    shown = {name for _, query in expressions(load_board()) for name in names_in(query)}
    names = watched.ask("label/__name__/values", **{"match[]": '{__name__=~"anabranch_.*"}'})
    assert set(names) == shown
    (target,) = watched.ask("targets")["activeTargets"]
    assert (target["health"], target["lastError"]) == ("up", "")
    rules = [rule for group in watched.ask("rules")["groups"] for rule in group["rules"]]
    assert {rule["health"] for rule in rules} <= {"ok", "unknown"}


def test_the_text_is_as_prometheus_likes_it(watched: Watched) -> None:
    program = debian_program("promtool", "prometheus")
    done = subprocess.run(
        [program, "check", "metrics"],
        input=watched.text(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_configuration_is_valid(tmp_path: Path) -> None:
    program = debian_program("promtool", "prometheus")
    for name in ("prometheus.yaml", "alerts.yaml"):
        (tmp_path / name).write_bytes((DOCKER / name).read_bytes())
    done = subprocess.run(
        [program, "check", "config", str(tmp_path / "prometheus.yaml")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 rules found" in done.stdout
