"""The files in docker/ agree with each other, and with what they say of the rest."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipelines.config import load_job
from tests.brokers.jars import KAFKA_VERSION
from tests.docker.files import DOCKER, ROOT, load_compose, mounts_of, read_stages


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return load_compose()


@pytest.fixture(scope="module")
def services(compose: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = compose["services"]
    return found


def test_compose_keeps_to_the_specification() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    checked = subprocess.run(
        [*command, str(DOCKER / "compose.yaml")], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_services_and_volumes_that_are_named_are_there(
    compose: dict[str, Any], services: dict[str, Any]
) -> None:
    used = set()
    for service in services.values():
        assert service.get("depends_on", {}).keys() <= services.keys()
        for outside in mounts_of(service).values():
            if outside.startswith("."):
                assert (DOCKER / outside).is_file(), outside
            else:
                used.add(outside)
        for name, how in service.get("depends_on", {}).items():
            if how["condition"] == "service_healthy":
                assert "test" in services[name]["healthcheck"]
    assert used == compose["volumes"].keys()


def test_the_image_is_built_from_the_root(services: dict[str, Any]) -> None:
    for name in ("producer", "job"):
        build = services[name]["build"]
        assert (DOCKER / build["context"]).resolve() == ROOT
        assert (ROOT / build["dockerfile"]).is_file()
        assert services[name]["image"] == "anabranch"


def test_ports_agree(services: dict[str, Any]) -> None:
    stage = read_stages((DOCKER / "Dockerfile").read_text(encoding="utf-8"))[-1]
    port = stage.one("EXPOSE")
    assert f"--http=0.0.0.0:{port}" in services["job"]["command"]
    assert services["job"]["ports"] == [f"127.0.0.1:{port}:{port}"]
    prometheus = yaml.safe_load((DOCKER / "prometheus.yaml").read_text(encoding="utf-8"))
    (scraped,) = prometheus["scrape_configs"]
    assert scraped["static_configs"] == [{"targets": [f"job:{port}"]}]
    assert scraped["metrics_path"] == "/metrics"
    mounted = mounts_of(services["prometheus"])
    assert mounted["/etc/prometheus/prometheus.yml"] == "./prometheus.yaml"


def test_whoever_speaks_to_the_broker_finds_it(services: dict[str, Any]) -> None:
    kafka = services["kafka"]
    assert kafka["image"] == f"apache/kafka:{KAFKA_VERSION}"
    told = kafka["environment"]
    advertised = dict(x.split("://") for x in told["KAFKA_ADVERTISED_LISTENERS"].split(","))
    listening = dict(x.split("://:") for x in told["KAFKA_LISTENERS"].split(","))
    job = tomllib.loads((DOCKER / "job.toml").read_text(encoding="utf-8"))
    assert job["kafka"]["brokers"] == [advertised["INSIDE"]]
    assert f"--brokers={advertised['INSIDE']}" in services["producer"]["command"]
    assert advertised["INSIDE"] in kafka["healthcheck"]["test"]
    assert advertised["INSIDE"] == f"kafka:{listening['INSIDE']}"
    assert told["KAFKA_CONTROLLER_QUORUM_VOTERS"] == f"1@kafka:{listening['CONTROLLER']}"
    outside = advertised["OUTSIDE"].removeprefix("localhost:")
    assert kafka["ports"] == [f"127.0.0.1:{outside}:{outside}"]
    assert told["KAFKA_LOG_DIRS"] in mounts_of(kafka)


def test_the_job_finds_its_file_and_keeps_all_it_has_on_a_volume(
    services: dict[str, Any], compose: dict[str, Any]
) -> None:
    _, file, setting = services["job"]["command"][:3]
    run_dir = setting.removeprefix("--set=job.run_dir=")
    mounted = mounts_of(services["job"])
    assert mounted[file] == "./job.toml"
    home = read_stages((DOCKER / "Dockerfile").read_text(encoding="utf-8"))[-1].one("WORKDIR")
    assert mounted[home] in compose["volumes"]
    job = load_job(DOCKER / "job.toml", [f"job.run_dir={run_dir}"])
    for path in (job.job.run_dir, job.recovery.dir):
        assert Path(home) in Path(str(path)).parents
    assert services["job"]["restart"] == "always"


def test_producer_and_job_mean_the_same_samples(services: dict[str, Any]) -> None:
    command = services["producer"]["command"]
    source = load_job(DOCKER / "job.toml").source
    assert f"--topic={source.topics[0]}" in command
    assert f"--partitions={len(load_job(DOCKER / 'job.toml').network.names)}" in command
    outside = mounts_of(services["producer"])[command[1]]
    header = (DOCKER / outside).read_text(encoding="utf-8").splitlines()[0].split(",")
    assert source.features is not None
    assert {*source.features, source.label} <= set(header)


def test_variables_have_defaults() -> None:
    text = (DOCKER / "compose.yaml").read_text(encoding="utf-8")
    assert text.count("${") == text.count(":-")
