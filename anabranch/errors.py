"""Everything anabranch raises, as one tree."""

from difflib import get_close_matches

__all__ = [
    "AnabranchError",
    "ConfigurationError",
    "DisconnectedGraphError",
    "DuplicateEdgeError",
    "IsolatedNodeError",
    "MessageError",
    "ModelError",
    "NetworkError",
    "SampleError",
    "SelfLoopError",
    "UnknownNodeError",
    "WeightsError",
    "nearest",
]


class AnabranchError(Exception):
    """Base of every error raised on purpose."""


class ConfigurationError(AnabranchError):
    """A setting is wrong; the message names the key, the value and what is allowed."""


class NetworkError(ConfigurationError):
    """The graph or its weights cannot be used."""


class UnknownNodeError(NetworkError):
    """A node is named that the graph does not have."""


class DuplicateEdgeError(NetworkError):
    """An edge is given twice."""


class SelfLoopError(NetworkError):
    """An edge joins a node to itself."""


class DisconnectedGraphError(NetworkError):
    """Some nodes cannot reach each other."""


class IsolatedNodeError(DisconnectedGraphError):
    """A node has no neighbour at all."""


class WeightsError(NetworkError):
    """The combination weights do not lead to consensus on this graph."""


class SampleError(AnabranchError):
    """A sample cannot be learned: wrong shape, not finite, or a label out of range."""


class MessageError(AnabranchError):
    """A parameter message cannot be accepted."""


class ModelError(AnabranchError):
    """A saved model or state cannot be read."""


def nearest(name: str, allowed: list[str]) -> str:
    """Say which allowed name was probably meant, as the end of an error message.

    >>> nearest("raedius", ["radius", "seed"])
    "; did you mean 'radius'? (allowed: radius, seed)"
    """
    close = get_close_matches(name, allowed, n=1)
    listed = ", ".join(sorted(allowed))
    return f"; did you mean '{close[0]}'? (allowed: {listed})" if close else f"; allowed: {listed}"
