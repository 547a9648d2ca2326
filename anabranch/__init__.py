"""Online machine learning on many nodes that never share their samples: the mathematics.

The names below are loaded when first used, so that `import anabranch` stays quick.
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anabranch.model_file import load, save

__all__ = ["load", "save"]

_HOMES = {
    "load": "anabranch.model_file",
    "save": "anabranch.model_file",
}

# What is logged is for whoever asks for it; without this, Python prints warnings by itself.
logging.getLogger("anabranch").addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'anabranch' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
