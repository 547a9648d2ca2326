"""The folder a run leaves behind: which file is what, and what may be written over."""

import json
import os
import platform
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from anabranch.errors import ConfigurationError
from pipelines.config.load import from_json, to_json
from pipelines.config.sections import Job
from pipelines.config.targets import Target
from pipelines.config.wording import show
from pipelines.files import read_lines, read_object, write_whole
from pipelines.output_files import remove_outputs
from pipelines.resume import changed_keys, renamed_outputs

__all__ = ["RunDirectory", "read_lines", "set_aside", "write_whole"]

_LIBRARIES = ("anabranch", "bytewax", "numpy", "scipy", "numba", "river", "scikit-learn", "msgspec")
_MANY = 0.01
_NEWEST = 1 << 20


@dataclass(frozen=True)
class RunDirectory:
    """Paths of everything in a run's folder.

    Examples
    --------
    >>> RunDirectory(Path("runs/trial")).scores.as_posix()
    'runs/trial/scores.jsonl'
    """

    path: Path

    @classmethod
    def of(cls, job: Job) -> "RunDirectory":
        """Give the run directory of a job."""
        return cls(Path(job.job.run_dir))

    @property
    def job(self) -> Path:
        """The job as resolved."""
        return self.path / "job.json"

    @property
    def environment(self) -> Path:
        """Python, platform and library versions."""
        return self.path / "environment.json"

    @property
    def scores(self) -> Path:
        """Scores over time, JSON Lines."""
        return self.path / "scores.jsonl"

    def status_of(self, process: int) -> Path:
        """How far a process has come; replaced every second while it lasts."""
        return self.path / f"status-{process}.json"

    def now_of(self, process: int) -> Path:
        """A process's nodes and edges; replaced every second while it lasts."""
        return self.path / f"now-{process}.json"

    @property
    def drift(self) -> Path:
        """Drifts found, JSON Lines."""
        return self.path / "drift.jsonl"

    @property
    def networks(self) -> Path:
        """The networks that the job has had, and from which round each holds."""
        return self.path / "networks.json"

    @property
    def start(self) -> Path:
        """Folder of the models that nodes start from."""
        return self.path / "start"

    @property
    def summary(self) -> Path:
        """Final scores and counts."""
        return self.path / "summary.json"

    @property
    def positions(self) -> Path:
        """Where the job begins and ends in its topics."""
        return self.path / "positions.json"

    @property
    def dead_counts(self) -> Path:
        """Counts of dead letters by reason, where the letters themselves go to a topic."""
        return self.path / "dead_letters.json"

    @property
    def report(self) -> Path:
        """The report page."""
        return self.path / "report.html"

    @property
    def models(self) -> Path:
        """Folder of one model file a node."""
        return self.path / "models"

    def log(self, process: int) -> Path:
        """What a process printed."""
        return self.path / f"process-{process}.log"

    def holds_run(self) -> bool:
        """Tell whether a run has been here."""
        return self.job.exists()

    def read_job(self) -> Job:
        """Read the job as it was resolved.

        Raises
        ------
        ConfigurationError
            There is no run here, or its job is not of this version.
        """
        try:
            return from_json(self.job.read_bytes())
        except OSError as error:
            raise ConfigurationError(f"{self.path} holds no run: {error.strerror}") from None

    def check(self, job: Job, *, resume: bool = False, overwrite: bool = False) -> None:
        """Tell whether `prepare` may be called; raises as it does, and changes nothing."""
        if resume:
            self._check_resume(job)
        elif self.holds_run() and not overwrite:
            raise ConfigurationError(
                f"job.run_dir is {show(str(self.path))}, which holds a run; choose another, "
                "or give --overwrite to replace it or --resume to continue it"
            )

    def prepare(
        self,
        job: Job,
        *,
        resume: bool = False,
        overwrite: bool = False,
        positions: str | None = None,
        networks: str | None = None,
        start: Path | None = None,
    ) -> None:
        """Make the folder ready for a run: create it, write job.json and what goes with it.

        Parameters
        ----------
        positions : where the job begins and ends in its topics, if it has any
        networks : which networks it has, and when
        start : folder of the models that nodes start from, if any; it is emptied and removed
        resume : the run here is continued; what decides results must be as it was
        overwrite : what an earlier run left here is deleted, no other file

        Raises
        ------
        ConfigurationError
            The folder holds a run and neither is set; or `resume` finds none, or one of a
            different job; or the folder or an output cannot be written.
        """
        self.check(job, resume=resume, overwrite=overwrite)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if not resume:
                self._clear(job)
            if start is not None:
                self._take_models(start)
            for path in (*self.path.glob("status-*.json"), *self.path.glob("now-*.json")):
                path.unlink()  # of processes that are no more
            self.models.mkdir(exist_ok=True)
            write_whole(self.environment, json.dumps(_environment(), indent=2))
            for path, text in ((self.positions, positions), (self.networks, networks)):
                if text is not None:
                    write_whole(path, text)
            write_whole(self.job, to_json(job))  # last: whoever finds it finds all
        except OSError as error:
            raise ConfigurationError(
                f"job.run_dir is {show(str(self.path))}, which cannot be written: {error.strerror}"
            ) from None

    def final_rows(self, newest: int | None = None) -> dict[str, dict[str, Any]]:
        """Give each learner's last row for the whole network; of the `newest` bytes alone."""
        rows = (row for row in read_lines(self.scores, newest) if row.get("node") is None)
        return {str(row["learner"]): row for row in rows if "learner" in row}

    def read_statuses(self) -> list[dict[str, Any]]:
        """Read how far each process has come; none before its first word."""
        found = (read_object(path) for path in sorted(self.path.glob("status-*.json")))
        return [part for part in found if part is not None]

    def read_status(self) -> dict[str, Any] | None:
        """Read how far the run has come, over all processes; None before the first word.

        Samples and rates are added up; every other value is the first process's.
        """
        parts = self.read_statuses()
        if not parts:
            return None
        sums = {key: sum(part.get(key) or 0 for part in parts) for key in ("samples", "rate")}
        return {**parts[0], **sums}

    def count_dead_letters(self, job: Job) -> dict[str, int]:
        """Count the dead letters by reason, sorted."""
        path = Target.of(job.output.dead_letters).path
        if path is None:
            return self.read_dead_counts()
        counts = Counter(str(letter.get("reason", "unknown")) for letter in read_lines(path))
        return dict(sorted(counts.items()))

    def read_dead_counts(self) -> dict[str, int]:
        """Read the counts by reason that are kept where the letters go to a topic."""
        return read_object(self.dead_counts) or {}

    def read_summary(self) -> dict[str, Any] | None:
        """Read the final counts; None for a run that did not reach its end."""
        return read_object(self.summary)

    def reached_end(self) -> bool:
        """Tell whether every learner wrote its scores after the last round."""
        # A job that goes on shows that in its newest rows; of months there are gigabytes.
        for newest in (_NEWEST, None):
            rows = self.final_rows(newest).values()
            if not all(row.get("final") for row in rows):
                return False
        return bool(rows)

    def is_complete(self) -> bool:
        """Tell whether the run here reached its end and left everything it leaves."""
        summary = self.read_summary() or {}
        return summary.get("stopped") == "end" and self.reached_end()

    def _check_resume(self, job: Job) -> None:
        if job.recovery.dir is None:
            raise ConfigurationError("--resume needs recovery.dir, the folder of the snapshots")
        if not self.holds_run():
            raise ConfigurationError(f"--resume finds no run in {self.path}; start one without it")
        before = self.read_job()
        changed = changed_keys(before, job) or renamed_outputs(before, job)
        if changed:
            key, (was, now) = next(iter(changed.items()))
            raise ConfigurationError(
                f"--resume continues the same job, but {key} was {show(was)} and is now "
                f"{show(now)}; put it back, or begin another job (job.name, job.run_dir)"
            )

    def _take_models(self, staged: Path) -> None:
        self.start.mkdir(exist_ok=True)
        for path in staged.iterdir():
            os.replace(path, self.start / path.name)
        staged.rmdir()

    def _clear(self, job: Job) -> None:
        remove_outputs(job)
        names = (self.scores, self.summary, self.report, self.positions, self.dead_counts,
                 self.networks, self.drift)  # fmt: skip
        folders = (self.models, self.path / "companions", self.start)
        left = [path for folder in folders for path in folder.glob("*.npz")]
        left += self.path.glob("process-*.log")
        for path in (*names, *left):
            path.unlink(missing_ok=True)


def set_aside(counts: Mapping[str, int], samples: int, place: str) -> str:
    """Warn of more than 1 % dead letters, counted by reason; empty where there are fewer.

    >>> set_aside({"malformed": 30, "unknown_node": 4000}, 8060, "dead.jsonl")
    '33 % of the records were set aside (unknown_node 4,000, malformed 30): dead.jsonl'
    """
    dead = sum(counts.values())
    share = dead / (dead + samples) if dead else 0.0
    if share <= _MANY:
        return ""
    ranked = sorted(counts.items(), key=lambda pair: -pair[1])
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in ranked)
    return f"{share:.0%} of the records were set aside ({reasons}): {place}".replace("%", " %", 1)


def _environment() -> dict[str, Any]:
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        "libraries": {name: _version(name) for name in _LIBRARIES},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
