"""The file that network.edges names."""

from pathlib import Path

from anabranch.errors import NetworkError

__all__ = ["read_edges"]


def read_edges(path: str) -> list[str]:
    """Read the lines of an edge list.

    Raises
    ------
    NetworkError
        The file cannot be read.
    """
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise NetworkError(f'network.edges is "{path}", which cannot be read: {reason}') from None
