"""A supervisor in a process of its own, to be sent signals: JOB PROCESSES RESTARTS."""

import sys
from pathlib import Path

from pipelines.supervise import supervise


def main() -> None:
    job = Path(sys.argv[1])
    outcome = supervise(
        job,
        int(sys.argv[2]),
        restarts=int(sys.argv[3]),
        log=lambda process: job.with_name(f"log-{process}"),
        module="tests.cli.fake_worker",
        grace=0.5,
        pauses=[0.05],
        say=lambda text: print(text, flush=True),
    )
    print(outcome.reason)
    sys.exit(outcome.code)


if __name__ == "__main__":
    main()
