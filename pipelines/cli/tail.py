"""What grows while a run lasts: the newest scores, the number of dead letters."""

import json
from pathlib import Path
from typing import Any

from pipelines.run_dir import RunDirectory
from pipelines.tail import Tail

__all__ = ["Follower"]

_SCORES, _LETTERS = 1 << 20, 1 << 25
"""Bytes of scores read at the first look, and of dead letters at each."""


class Follower:
    """Puts a run's status together while it lasts; without a file of dead letters, by counts."""

    def __init__(self, run_dir: RunDirectory, dead_letters: Path | None) -> None:
        self._run_dir = run_dir
        # Those of a job that is taken up again may be gigabytes.
        self._scores = Tail(run_dir.scores, newest=_SCORES)
        self._dead = None if dead_letters is None else Tail(dead_letters, most=_LETTERS)
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
