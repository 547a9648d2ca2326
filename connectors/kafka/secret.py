"""Passwords, kept out of everything that is shown or logged."""

import logging

__all__ = ["Secret", "guard_logs"]

_TALKATIVE = ("kafka.protocol.parser", "kafka.net.connection")
"""Loggers that show each request when debugging, those with a password too."""


class Secret(str):
    """A text whose `repr` does not show it: clients log their settings when debugging.

    >>> {"sasl_plain_password": Secret("hunter2")}
    {'sasl_plain_password': '***'}
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


def _is_news(record: logging.LogRecord) -> bool:
    return record.levelno > logging.DEBUG


def guard_logs() -> None:
    """Keep logins out of the client's logs, whatever their level."""
    for name in _TALKATIVE:
        logging.getLogger(name).addFilter(_is_news)  # one that is there is not added again
