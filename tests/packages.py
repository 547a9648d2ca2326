"""Programs of Debian's that tests run: found on the PATH, or installed where that is allowed.

`python -m tests.packages` installs them all beforehand, so that it does not count in a test's time.
"""

import fcntl
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

__all__ = ["PROGRAMS", "ProgramMissingError", "debian_program", "find_or_install"]

PROGRAMS = {"prometheus": "prometheus", "chromium": "chromium"}
"""Programs, and the packages that hold them."""

_CACHE = Path(__file__).resolve().parent.parent / ".cache"
_LONGEST = 150
"""Seconds apt-get may take."""

_VAIN = 1800
"""Seconds in which what could not be installed is not tried again."""


class ProgramMissingError(Exception):
    """A program cannot be had here; the text says why."""


def debian_program(program: str, package: str) -> str:
    """Give the path of a program, of a Debian package if need be; skip the test without it."""
    try:
        return find_or_install(program, package)
    except ProgramMissingError as error:
        pytest.skip(str(error))


def find_or_install(program: str, package: str) -> str:
    """Give the path of a program, installed if it is not there yet.

    Raises
    ------
    ProgramMissingError
        It is not on the PATH and cannot be installed.
    """
    found = shutil.which(program)
    if found is not None:
        return found
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise ProgramMissingError(
            f"there is no {program} on the PATH, and only root on Debian can install {package}"
        )
    _CACHE.mkdir(exist_ok=True)
    # Test processes start at once: one installs, the others wait and find the program.
    with open(_CACHE / "apt-lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if shutil.which(program) is None:
            _install_once(package)
    found = shutil.which(program)
    if found is None:
        raise ProgramMissingError(f"the package {package} is installed, but holds no {program}")
    return found


def _install_once(package: str) -> None:
    """Install a package, unless that was in vain a short while ago."""
    vain = _CACHE / f"apt-{package}-in-vain"
    if vain.exists() and time.time() - vain.stat().st_mtime < _VAIN:
        raise ProgramMissingError(vain.read_text(encoding="utf-8"))
    reason = _install(package)
    if reason is not None:
        text = f"apt-get could not install {package}: {reason}"
        vain.write_text(text, encoding="utf-8")
        raise ProgramMissingError(text)


def _install(package: str) -> str | None:
    """Install a package; give why that failed."""
    install = ("install", "-y", "-q", "--no-install-recommends", package)
    if _apt(*install) is None:
        return None
    return _apt("update", "-q") or _apt(*install)


def _apt(*words: str) -> str | None:
    """Run apt-get; give the last it said where it failed."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            ["apt-get", *words],
            capture_output=True,
            text=True,
            env=environment,
            timeout=_LONGEST,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"nothing after {_LONGEST} s"
    said = (done.stderr or done.stdout).strip().splitlines() or [f"exit code {done.returncode}"]
    return said[-1] if done.returncode else None


if __name__ == "__main__":
    for name, holder in PROGRAMS.items():
        try:
            print(find_or_install(name, holder))
        except ProgramMissingError as missing:
            print(missing)
