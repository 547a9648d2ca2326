"""The compiler of the text kernels, typed."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

__all__ = ["kernel"]

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile a function of plain loops; it runs without the interpreter's lock."""
    return cast(F, njit(cache=True, nogil=True)(function))
