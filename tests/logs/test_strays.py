"""Whatever Python itself tells while a job's log lasts is a line of it."""

import json
import threading
import warnings

import pytest

from pipelines.config.logs import Logs
from pipelines.logs import logged


def test_warnings_and_the_death_of_threads_are_lines(capsys: pytest.CaptureFixture[str]) -> None:
    before = warnings.showwarning, threading.excepthook
    lines: list[str] = []
    with (
        warnings.catch_warnings(),
        logged(Logs(format="json"), lines.append, process=1),
    ):
        warnings.simplefilter("always")
        warnings.warn("a mean of nothing", RuntimeWarning, stacklevel=1)
        dies = threading.Thread(target=int, args=("x",), name="status")
        dies.start()
        dies.join()
    warned, died = map(json.loads, lines)
    assert (warned["level"], warned["part"], warned["process"]) == ("warning", "run", 1)
    assert warned["message"] == "RuntimeWarning: a mean of nothing"
    assert __file__ in warned["place"]
    assert (died["level"], "ValueError" in died["error"]) == ("critical", True)
    assert died["message"].startswith("thread status has ended: ValueError: invalid literal")
    assert capsys.readouterr().err == ""
    assert (warnings.showwarning, threading.excepthook) == before
