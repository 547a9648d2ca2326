"""Reading saved states without trusting them."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from anabranch.errors import ConfigurationError, ModelError
from anabranch.protocol import Array

__all__ = ["SCHEMA", "check_header", "from_config", "saved_array", "saved_value", "saved_whole"]

T = TypeVar("T")

SCHEMA = 1
"""Version of the states written here."""


def check_header(state: Mapping[str, Any], kind: str) -> None:
    """Refuse a state of another kind or a newer schema.

    Raises
    ------
    ModelError
        Says which kind and schema are read.
    """
    schema = state.get("schema")
    if not isinstance(schema, int) or not 1 <= schema <= SCHEMA:
        raise ModelError(f"unknown schema: schema={schema!r}; allowed: 1 to {SCHEMA}")
    if state.get("kind") != kind:
        raise ModelError(f"another learner: kind={state.get('kind')!r}; allowed: {kind!r}")


def from_config(state: Mapping[str, Any], kind: str, build: Callable[[Any], T]) -> T:
    """Check the header, and give what `build` makes of the settings in a state.

    Raises
    ------
    ModelError
        As `check_header`, or the settings are missing or none that this version knows.
    """
    check_header(state, kind)
    try:
        return build(saved_value(state, "config"))
    except (KeyError, TypeError, ValueError, ConfigurationError) as error:
        raise ModelError(f"damaged state: config; {error}") from error


def saved_value(state: Mapping[str, Any], name: str) -> Any:
    """Give an entry.

    Raises
    ------
    ModelError
        It is missing.
    """
    if name not in state:
        raise ModelError(f"damaged state: {name} is missing")
    return state[name]


def saved_whole(state: Mapping[str, Any], name: str, most: int) -> int:
    """Give a whole number from 0 to `most`.

    Raises
    ------
    ModelError
        It is missing, or no such number.
    """
    value = saved_value(state, name)
    if not isinstance(value, int) or not 0 <= value <= most:
        raise ModelError(f"damaged state: {name}={value!r}; allowed: 0 to {most}")
    return value


def saved_array(
    state: Mapping[str, Any], name: str, shape: tuple[int, ...], *, finite: bool = True
) -> Array:
    """Copy a float64 array, finite unless allowed otherwise; -1 stands for any length.

    Raises
    ------
    ModelError
        It is missing, of another shape, or not finite.
    """
    try:
        array = np.array(saved_value(state, name), dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise ModelError(f"damaged state: {name} is no array of numbers") from error
    fits = array.ndim == len(shape) and all(
        want in (-1, have) for want, have in zip(shape, array.shape, strict=False)
    )
    if not fits:
        raise ModelError(f"damaged state: {name} has shape {array.shape}; allowed: {shape}")
    if finite and not np.isfinite(array).all():
        raise ModelError(f"damaged state: {name} is not finite")
    return array
