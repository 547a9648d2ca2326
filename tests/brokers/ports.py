"""Ports for brokers that go away and come back."""

import random
import socket
from pathlib import Path

__all__ = ["free_ports", "is_open"]

_FIRST = 20_000


def free_ports(count: int) -> list[int]:
    """Give free ports that no outgoing connection can take while their broker is down.

    So they lie below the range the system takes such ports from.
    """
    found: list[int] = []
    while len(found) < count:
        port = random.SystemRandom().randrange(_FIRST, _end())
        if port not in found and _is_free(port):
            found.append(port)
    return found


def _end() -> int:
    ranges = Path("/proc/sys/net/ipv4/ip_local_port_range")
    first = int(ranges.read_text().split()[0]) if ranges.exists() else 49_152
    return first if first > _FIRST + 1000 else 49_152


def _is_free(port: int) -> bool:
    with socket.socket() as tried:
        try:
            tried.bind(("localhost", port))
        except OSError:
            return False
    return True


def is_open(address: str) -> bool:
    """Tell whether something listens at host:port."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=1).close()
    except OSError:
        return False
    return True
