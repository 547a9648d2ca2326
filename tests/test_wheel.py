"""The built wheel, installed in a clean environment, does the default job from anywhere."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("anabranch", "operators", "connectors", "pipelines")


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command without anything of this environment's Python; give what it prints."""
    private = ("PYTHON", "VIRTUAL_ENV", "COV_", "PYTEST_")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(private)}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    shown = " ".join(str(part) for part in command)
    assert done.returncode == 0, f"{shown} ended with {done.returncode}:\n{done.stdout[-4000:]}"
    return done.stdout


def build_wheel(folder: Path) -> Path:
    """Build from a copy: a build in the tree leaves files there and picks up old ones."""
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in PARTS:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    run(sys.executable, "-m", "build", "--wheel", "--outdir", folder / "dist", cwd=source)
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel


@pytest.mark.timeout(1500)
def test_installed_wheel_runs_the_default_job(tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "env", cwd=elsewhere)
    programs = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin")
    # A pip for it, and compiling modules that the job never loads, would take half the time.
    pip = (sys.executable, "-m", "pip", "--python", programs / "python")
    run(*pip, "install", "--quiet", "--no-compile", f"{wheel}[report]", cwd=elsewhere)

    for part in PARTS:
        show = f"import {part}; print(*{part}.__path__)"
        origin = run(programs / "python", "-c", show, cwd=elsewhere)
        assert str(tmp_path / "env") in origin

    run(programs / "anabranch", "run", "--set", "source.rows=2000", cwd=elsewhere)
    (summary,) = elsewhere.rglob("summary.json")
    assert json.loads(summary.read_text(encoding="utf-8"))["samples"] > 0
    page = summary.with_name("report.html").read_text(encoding="utf-8")
    assert "<html" in page.lower()
