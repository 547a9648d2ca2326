"""The compiler of the text kernels, typed."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

__all__ = ["inlined", "kernel"]

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile a function of plain loops; it runs without the interpreter's lock."""
    return cast(F, njit(cache=True, nogil=True)(function))


def inlined(function: F) -> F:
    """Compile a function as part of those that call it: for what runs once a value."""
    return cast(F, njit(cache=True, nogil=True, forceinline=True)(function))
