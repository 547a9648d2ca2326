"""What Linux tells of running processes: children, memory, open files."""

import os
from pathlib import Path

__all__ = ["children", "folder_bytes", "memory", "open_files", "threads"]

_PROC = Path("/proc")


def children(parent: int) -> list[int]:
    """Give the processes that a process started, sorted; none where there is no /proc."""
    found = []
    for entry in _PROC.glob("[0-9]*"):
        try:
            # The name in parentheses may hold blanks: the parent is the second field after it.
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.append(int(entry.name))
    return sorted(found)


def memory(pid: int, key: str = "VmRSS") -> int | None:
    """Give a process's resident memory in bytes, now (VmRSS) or at its highest (VmHWM)."""
    kilobytes = _status(pid, key)
    return None if kilobytes is None else kilobytes * 1024


def threads(pid: int) -> int | None:
    """Count a process's threads."""
    return _status(pid, "Threads")


def _status(pid: int, key: str) -> int | None:
    try:
        lines = (_PROC / str(pid) / "status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{key}:")), None)


def open_files(pid: int) -> int | None:
    """Count a process's open file handles."""
    try:
        return len(os.listdir(_PROC / str(pid) / "fd"))
    except OSError:
        return None


def folder_bytes(folder: Path) -> int:
    """Add up the sizes of a folder's files, at any depth."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:  # replaced while we looked
            continue
    return total
