"""Reading a snapshot without trust: numbers, texts and the project's own plain values."""

import builtins
import io
import pickle
from importlib import import_module
from typing import Any

__all__ = ["DamagedStateError", "StrangeStateError", "read_snapshot"]

_PLAIN = {
    "builtins": {"bytearray", "complex", "frozenset", "range", "set", "slice"},
    "_codecs": {"encode"},
    "collections": {"Counter", "OrderedDict", "deque"},
    "numpy": {"dtype", "ndarray"},
    "numpy._core.multiarray": {"_reconstruct", "scalar"},
    "numpy._core.numeric": {"_frombuffer"},
}
_OWN = ("anabranch.", "connectors.", "operators.")


class StrangeStateError(ValueError):
    """A snapshot holds something that is not ours, such as a model of another library."""


class DamagedStateError(ValueError):
    """A snapshot cannot be read."""


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if name in _PLAIN.get(module, ()):
            return getattr(builtins if module == "builtins" else import_module(module), name)
        if module.startswith(_OWN):
            found = getattr(import_module(module), name, None)
            if isinstance(found, type) or name.startswith("_unpack"):
                return found
        raise StrangeStateError(f"it holds a {module}.{name}, which is not looked into")


def read_snapshot(data: bytes) -> Any:
    """Give what a step left in a snapshot.

    Raises
    ------
    StrangeStateError
        It holds an object of another library.
    DamagedStateError
        It is cut short, or no snapshot.

    Examples
    --------
    >>> read_snapshot(pickle.dumps({"round": 3}))
    {'round': 3}
    >>> read_snapshot(pickle.dumps(print))
    Traceback (most recent call last):
    pipelines.state.unpickle.StrangeStateError: it holds a builtins.print, which is not looked into
    """
    try:
        return _Reader(io.BytesIO(data)).load()
    except (
        pickle.UnpicklingError,
        EOFError,
        AttributeError,
        ImportError,
        TypeError,
        IndexError,
    ) as error:
        raise DamagedStateError(f"it is damaged: {error}") from error
