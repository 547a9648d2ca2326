"""A broker's process: started, watched, ended."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["BrokerError", "Process"]

_DIES_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of Linux."""


class BrokerError(Exception):
    """A broker did not start, or ended by itself."""


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGKILL)


class Process:
    """A process with its output in a file; it ends at the latest with the process of the tests.

    Parameters
    ----------
    command : program and arguments
    log : file that its output is added to
    """

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self._log = log
        with open(log, "ab") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_die_with_parent if sys.platform == "linux" else None,
            )

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    def check(self) -> None:
        """Raise `BrokerError`, with the end of the log, if the process has ended."""
        if self._process.poll() is not None:
            raise BrokerError(
                f"the broker ended with code {self._process.returncode}; its log ends:\n"
                + self._log.read_text(encoding="utf-8", errors="replace")[-3000:]
            )

    def stop(self, seconds: float = 60) -> None:
        """Ask it to end and wait; kill it if it does not."""
        self._process.terminate()
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End it at once, as `kill -9` does."""
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        """Stop it in its tracks: its connections stay open and nothing answers."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        os.kill(self.pid, signal.SIGCONT)
