"""Age and size of the snapshots of a running job, at the price of a few `stat` calls."""

import time
from pathlib import Path

__all__ = ["measure"]


def measure(folder: Path) -> tuple[float, int] | None:
    """Give the seconds since a snapshot was last written, and the bytes of all files.

    Nothing is opened, so that a running job is never in the way, nor waits.

    Parameters
    ----------
    folder : the recovery directory

    Returns
    -------
    None where there are no snapshots.
    """
    size, newest = 0, None
    for path in folder.glob("part-*.sqlite3*"):
        try:
            found = path.stat()
        except FileNotFoundError:  # the last to close a file removes what is beside it
            continue
        size += found.st_size
        # The index beside a file's log changes with every reader.
        if not path.name.endswith("-shm"):
            newest = max(found.st_mtime, newest or 0.0)
    return None if newest is None else (max(0.0, time.time() - newest), size)
