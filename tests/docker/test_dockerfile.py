"""The image: built in stages from what is in the repository, run by nobody special."""

import fnmatch
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.docker.files import DOCKER, ROOT, Stage, read_stages

KNOWN = {
    "ARG",
    "CMD",
    "COPY",
    "ENTRYPOINT",
    "ENV",
    "EXPOSE",
    "HEALTHCHECK",
    "LABEL",
    "RUN",
    "STOPSIGNAL",
    "USER",
    "WORKDIR",
}


@pytest.fixture(scope="module")
def stages() -> list[Stage]:
    return read_stages((DOCKER / "Dockerfile").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def final(stages: list[Stage]) -> Stage:
    return stages[-1]


def sources(copy: str) -> list[str]:
    """Give what a COPY takes, without options and the destination."""
    return [word for word in copy.split() if not word.startswith("--")][:-1]


def test_every_instruction_is_known(stages: list[Stage]) -> None:
    assert len(stages) == 2
    found = {name for stage in stages for name, _ in stage.steps}
    assert found <= KNOWN


def test_everything_copied_is_there_and_not_ignored(stages: list[Stage]) -> None:
    lines = (DOCKER / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "*"
    let_in = [line.removeprefix("!") for line in lines if line.startswith("!")]
    copied = set()
    for stage in stages:
        for copy in stage.all("COPY"):
            if "--from=" in copy:
                assert f"--from={stages[0].name} " in copy
                continue
            for source in sources(copy):
                assert (ROOT / source).exists(), source
                assert any(fnmatch.fnmatch(source, pattern) for pattern in let_in), source
                copied.add(source)
    assert copied == set(let_in)
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "benchmarks"}
    assert packages <= copied, "the wheel lacks a package"


def test_what_the_image_runs_comes_from_the_build_stage(stages: list[Stage], final: Stage) -> None:
    build = stages[0]
    (installed,) = [run for run in build.all("RUN") if "pip install" in run and "whl" in run]
    assert "[kafka,report]" in installed
    venv = installed.split("/bin/pip")[0]
    assert any(run.endswith(f"-m venv {venv}") for run in build.all("RUN"))
    assert f"--from={build.name} {venv} {venv}" in final.all("COPY")
    assert f"PATH={venv}/bin:$PATH" in final.one("ENV").split()
    assert stages[0].image == final.image, "a venv works with the Python it was made by only"
    assert final.image.endswith("-slim")


def test_it_runs_as_a_user_who_owns_its_folder(final: Stage) -> None:
    user, home = final.one("USER"), final.one("WORKDIR")
    assert user.isdigit()
    assert int(user) > 0
    (made,) = [run for run in final.all("RUN") if run.startswith("useradd ")]
    assert f"--uid {user} " in made
    assert f"--create-home --home-dir {home} " in made
    order = [name for name, _ in final.steps]
    assert order.index("USER") > max(i for i, name in enumerate(order) if name in ("RUN", "COPY"))
    (cache,) = [word for word in final.one("ENV").split() if word.startswith("NUMBA_CACHE_DIR=")]
    assert cache.startswith(f"NUMBA_CACHE_DIR={home}/")


def test_programs_are_named_without_a_shell(final: Stage) -> None:
    assert final.words("ENTRYPOINT") == ["anabranch"]
    assert final.words("CMD") == ["--help"]


@pytest.fixture
def healthcheck(final: Stage) -> list[str]:
    options, _, command = final.one("HEALTHCHECK").partition("CMD ")
    assert {option.split("=")[0] for option in options.split()} == {
        "--interval",
        "--timeout",
        "--start-period",
        "--retries",
    }
    words: list[str] = json.loads(command)
    assert words[0] == "python"
    assert f":{final.one('EXPOSE')}/health" in words[-1]
    return [sys.executable, *words[1:-1], words[-1]]


@pytest.fixture
def server() -> Iterator[HTTPServer]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(self.server.code)  # type: ignore[attr-defined]
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.mark.parametrize(("code", "well"), [(200, True), (503, False), (404, False)])
def test_the_healthcheck_knows_red(
    healthcheck: list[str], final: Stage, server: HTTPServer, code: int, well: bool
) -> None:
    server.code = code  # type: ignore[attr-defined]
    port = final.one("EXPOSE")
    healthcheck[-1] = healthcheck[-1].replace(f":{port}/", f":{server.server_port}/")
    done = subprocess.run(healthcheck, capture_output=True, check=False)
    assert (done.returncode == 0) is well


def test_the_healthcheck_knows_when_nobody_answers(healthcheck: list[str], final: Stage) -> None:
    healthcheck[-1] = healthcheck[-1].replace(f":{final.one('EXPOSE')}/", ":1/")
    assert subprocess.run(healthcheck, capture_output=True, check=False).returncode != 0
