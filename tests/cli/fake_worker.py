"""Stands in for a worker process: does what the job file's "script" says, per process."""

import json
import os
import signal
import sys
import time
from pathlib import Path

from pipelines.stopping import tell_supervisor
from pipelines.supervise import exit_with_parent


def main() -> None:
    exit_with_parent()
    job = Path(sys.argv[1])
    process = int(sys.argv[sys.argv.index("--process") + 1])
    words = job.read_text(encoding="utf-8") if not job.is_dir() else "[]"
    script = json.loads(words)[process]
    starts = job.with_name(f"starts-{process}")
    with starts.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"pid": os.getpid(), "arguments": sys.argv[1:]}) + "\n")
    attempt = len(starts.read_text(encoding="utf-8").splitlines())
    act(script[min(attempt, len(script)) - 1])


def act(what: str) -> None:
    verb, _, number = what.partition(" ")
    if verb == "exit":
        print("leaving", number)
        sys.exit(int(number))
    elif verb == "drain":
        stopped: list[int] = []

        def heard(*_: object) -> None:
            stopped.append(1)
            tell_supervisor()

        signal.signal(signal.SIGTERM, heard)
        print("ready", flush=True)
        while not stopped:
            time.sleep(0.01)
        sys.exit(int(number or 0))
    elif verb == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(60)
    elif verb == "sleep":
        time.sleep(float(number))
    elif verb == "kill":
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
