"""Names and numbers of River's samples."""

from collections.abc import Hashable
from typing import Any

from anabranch.errors import SampleError
from anabranch.kernels.checks import LIMIT

__all__ = ["name_of", "number_of"]


def name_of(feature: Hashable) -> str:
    """Name a feature; 1 and "1" are two features.

    >>> name_of("1"), name_of(1)
    ('1', 'int:1')
    """
    return feature if isinstance(feature, str) else f"{type(feature).__name__}:{feature!r}"


def number_of(what: str, value: Any) -> float:
    """Give a value as a number.

    Raises
    ------
    SampleError
        It is none, or too large.
    """
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise SampleError(f"{what} is {value!r}; allowed: numbers") from error
    if not abs(number) <= LIMIT:
        raise SampleError(f"{what} is {number}; allowed: up to {LIMIT:g}")
    return number
