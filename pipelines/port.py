"""The TCP port that a job answers at, taken before anything is changed."""

import os
import socket

from anabranch.errors import ConfigurationError

__all__ = ["listen", "parse_address", "url"]

BACKLOG = 128
"""Connections that wait to be accepted."""
HERE = "127.0.0.1"


def parse_address(text: str) -> tuple[str, int]:
    """Read PORT or HOST:PORT; this machine alone unless a host is given.

    Raises
    ------
    ConfigurationError
        It is neither.

    >>> parse_address("8080"), parse_address("0.0.0.0:80"), parse_address("[::1]:80")
    (('127.0.0.1', 8080), ('0.0.0.0', 80), ('::1', 80))
    """
    host, _, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    host = host[1:-1] if bracketed else host
    plain = bracketed == (":" in host) and not set(host) & set("[]@/ ")
    number = port.isascii() and port.isdecimal() and len(port) < 6
    if not plain or not number or int(port) >= 1 << 16:
        raise ConfigurationError(
            f"--http is {text!r}; it must be PORT, HOST:PORT or [IPV6]:PORT, such as 8080"
        )
    return host or HERE, int(port)


def listen(address: tuple[str, int]) -> socket.socket:
    """Take a port; who connects waits until somebody serves.

    Raises
    ------
    ConfigurationError
        The port cannot be used.
    """
    host, port = address
    try:
        return _listen(host, port)
    except (socket.gaierror, ValueError):  # ValueError: what no host can be called
        why = "there is no such host"
    except OSError as error:
        why = os.strerror(error.errno or 0)
    where = f"[{host}]" if ":" in host else host
    raise ConfigurationError(f"--http names {where}:{port}, which cannot be used: {why}")


def _listen(host: str, port: int) -> socket.socket:
    family, kind, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listening = socket.socket(family, kind)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
        listening.listen(BACKLOG)
    except BaseException:
        listening.close()
        raise
    return listening


def url(listening: socket.socket) -> str:
    """Give the address of the page there."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
