"""New lines of growing files: the newest scores, the number of dead letters."""

import json
from pathlib import Path
from typing import Any

from pipelines.run_dir import RunDirectory

__all__ = ["Follower", "Tail"]


class Tail:
    """Gives a file's whole lines since the last look.

    Examples
    --------
    >>> Tail(Path("no such file")).lines()
    []
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def lines(self) -> list[bytes]:
        """Read what is new; a line still being written is left for later."""
        try:
            # A file is cut back when a job restarts from an older snapshot.
            self._offset = min(self._offset, self._path.stat().st_size)
            with self._path.open("rb") as file:
                file.seek(self._offset)
                text = file.read()
        except OSError:
            return []
        whole = text[: text.rfind(b"\n") + 1]
        self._offset += len(whole)
        return whole.splitlines()


class Follower:
    """Puts a run's status together while it lasts; without a file of dead letters, by counts."""

    def __init__(self, run_dir: RunDirectory, dead_letters: Path | None) -> None:
        self._run_dir = run_dir
        self._scores = Tail(run_dir.scores)
        self._dead = None if dead_letters is None else Tail(dead_letters)
        self._seen: dict[str, Any] = {"dead": 0}

    def status(self) -> dict[str, Any] | None:
        """Give samples, rate, round, scores, disagreement; None before the first word."""
        status = self._run_dir.read_status()
        if self._dead is None:
            self._seen["dead"] = sum(self._run_dir.read_dead_counts().values())
        else:
            self._seen["dead"] += len(self._dead.lines())
        for line in reversed(self._scores.lines()):
            row = _read(line)
            if row.get("learner") == "cooperative" and row.get("node") is None:
                self._seen |= {
                    "round": row.get("round"),
                    "score": row.get("window"),
                    "disagreement": row.get("disagreement"),
                }
                break
        return None if status is None else {**status, **self._seen}


def _read(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError:
        return {}
    return row if isinstance(row, dict) else {}
