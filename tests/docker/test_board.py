"""The board shows what jobs export, and Grafana is told where it and Prometheus are."""

from pathlib import PurePosixPath
from typing import Any

import pytest
import yaml

from pipelines.config import default_job
from pipelines.metrics import JobCollector, Seen
from tests.docker.board import expressions, load_board, names_in
from tests.docker.files import DOCKER, load_compose, mounts_of


@pytest.fixture(scope="module")
def board() -> dict[str, Any]:
    return load_board()


def exported() -> set[str]:
    """Give the name of every metric, whether the job has series of it or not."""
    families = JobCollector(default_job(), Seen).collect()
    return {one.name + ("_total" if one.type == "counter" else "") for one in families}


def test_it_shows_every_metric_and_no_other(board: dict[str, Any]) -> None:
    assert {name for _, query in expressions(board) for name in names_in(query)} == exported()
    others = [one["expr"] for one in board["annotations"]["list"]]
    others += [one.get("definition", "") for one in board["templating"]["list"]]
    rules = yaml.safe_load((DOCKER / "alerts.yaml").read_text(encoding="utf-8"))
    others += [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    named = {name for query in others for name in names_in(query)}
    assert named
    assert named <= exported()


def test_every_expression_is_about_the_chosen_job(board: dict[str, Any]) -> None:
    for title, query in expressions(board):
        assert query.count('instance="$instance"') == len(names_in(query)) or title == "Health"


def test_panels_have_places_of_their_own(board: dict[str, Any]) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
    numbers = [panel["id"] for panel in board["panels"]]
    assert len(set(numbers)) == len(numbers)


def test_grafana_finds_board_and_prometheus() -> None:
    services = load_compose()["services"]
    grafana = services["grafana"]
    mounted = mounts_of(grafana)
    read = {
        PurePosixPath(inside): yaml.safe_load((DOCKER / outside).read_text(encoding="utf-8"))
        for inside, outside in mounted.items()
    }
    below = PurePosixPath("/etc/grafana/provisioning")
    (source,) = read[below / "datasources/anabranch.yaml"]["datasources"]
    (provider,) = read[below / "dashboards/anabranch.yaml"]["providers"]
    assert source["type"] == "prometheus"
    assert source["url"].removeprefix("http://") == "prometheus:9090"
    assert services["prometheus"]["ports"] == ["127.0.0.1:9090:9090"]
    home = grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert mounted[home] == "./grafana/board.json"
    assert str(PurePosixPath(home).parent) == provider["options"]["path"]
    scraped = yaml.safe_load((DOCKER / "prometheus.yaml").read_text(encoding="utf-8"))
    assert source["jsonData"]["timeInterval"] == scraped["global"]["scrape_interval"]


def test_prometheus_finds_its_rules() -> None:
    mounted = mounts_of(load_compose()["services"]["prometheus"])
    scraped = yaml.safe_load((DOCKER / "prometheus.yaml").read_text(encoding="utf-8"))
    for name in scraped["rule_files"]:
        assert mounted[f"/etc/prometheus/{name}"] == f"./{name}"
