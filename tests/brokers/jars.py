"""The jars of Apache Kafka: fetched once by Maven, then kept in the repository's cache folder."""

import fcntl
import os
import re
import shutil
import subprocess
from pathlib import Path
from tempfile import mkdtemp

__all__ = ["KAFKA_VERSION", "ApacheMissingError", "classpath", "why_not"]

_HERE = Path(__file__).resolve().parent
_CACHE = _HERE.parent.parent / ".cache"
_FETCH = 280
"""Seconds Maven may take."""

_POM = (_HERE / "pom.xml").read_text(encoding="utf-8")
KAFKA_VERSION = re.findall(r"kafka_2\.13</artifactId>\s*<version>([\d.]+)<", _POM)[0]


class ApacheMissingError(Exception):
    """Apache Kafka cannot run here; the text says why."""


def _folder() -> Path:
    return _CACHE / f"kafka-{KAFKA_VERSION}"


def why_not() -> str | None:
    """Say what keeps Apache Kafka from running here, without fetching anything."""
    if shutil.which("java") is None:
        return "there is no java on the PATH"
    if not _folder().is_dir() and shutil.which("mvn") is None:
        return "its jars are not in .cache, and there is no mvn on the PATH to fetch them"
    return None


def classpath() -> str:
    """Give the class path of the broker, fetching the jars if they are not there yet.

    Raises
    ------
    ApacheMissingError
        Java or Maven is absent, or Maven could not fetch the jars.
    """
    reason = why_not()
    if reason is not None:
        raise ApacheMissingError(reason)
    _CACHE.mkdir(exist_ok=True)
    # Test processes start at once: one fetches, the others wait and find the folder.
    with open(_CACHE / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _folder().is_dir():
            _fetch(_folder())
    return f"{_folder()}/*"


def _fetch(folder: Path) -> None:
    part = Path(mkdtemp(dir=_CACHE, prefix="fetching-"))
    command = ["mvn", "-q", "-B", "-f", str(_HERE / "pom.xml"), "dependency:copy-dependencies"]
    try:
        done = subprocess.run(
            [*command, f"-DoutputDirectory={part}", "-DincludeScope=runtime"],
            capture_output=True,
            text=True,
            timeout=_FETCH,
            check=False,
        )
        if done.returncode:
            raise ApacheMissingError(f"Maven could not fetch its jars: {_first_words(done.stdout)}")
        os.replace(part, folder)
    except subprocess.TimeoutExpired:
        raise ApacheMissingError(f"Maven did not fetch its jars in {_FETCH} s") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _first_words(text: str) -> str:
    said = [line.removeprefix("[ERROR]").strip() for line in text.splitlines()]
    return next(filter(None, said), "it says nothing")[:300]


if __name__ == "__main__":
    print(classpath())
