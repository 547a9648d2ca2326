"""Checks of settings: each names the key, the value and what is allowed."""

from collections.abc import Sequence
from math import isfinite
from numbers import Integral, Real
from typing import Any

from anabranch.errors import ConfigurationError

__all__ = ["check_between", "check_choice", "check_flag", "check_names", "check_whole"]


def check_choice(key: str, value: Any, allowed: Sequence[str]) -> None:
    """Refuse what is not one of some words.

    Raises
    ------
    ConfigurationError
        It is none of them.

    >>> check_choice("shape", "graph", ("server", "graph"))
    """
    if value not in allowed:
        raise ConfigurationError(f"unknown {key}: {key}={value!r}; allowed: {', '.join(allowed)}")


def check_flag(key: str, value: Any) -> None:
    """Refuse what is neither true nor false.

    Raises
    ------
    ConfigurationError
        It is neither.

    >>> check_flag("bias", True)
    """
    if not isinstance(value, bool):
        raise ConfigurationError(f"not a truth: {key}={value!r}; allowed: true, false")


def check_whole(key: str, value: Any, least: int) -> None:
    """Refuse what is no whole number from `least` on.

    Raises
    ------
    ConfigurationError
        It is none.

    >>> check_whole("features", 3, 1)
    """
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not least <= value < 1 << 63:
        raise ConfigurationError(f"out of range: {key}={value!r}; allowed: whole, >= {least}")


def check_between(
    key: str, value: Any, low: float, high: float | None = None, *, above: bool = False
) -> None:
    """Refuse what is no finite number from `low` to `high`; with `above`, low itself too.

    Raises
    ------
    ConfigurationError
        It is none.

    >>> check_between("relax", 1.6, 0.0, 2.0, above=True)
    >>> check_between("decay", 0.0, 0.0, 1.0, above=True)
    Traceback (most recent call last):
    ...
    anabranch.errors.ConfigurationError: out of range: decay=0.0; allowed: > 0, up to 1
    """
    number = isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)
    if number and (value > low if above else value >= low) and (high is None or value <= high):
        return
    if above:
        allowed = f"> {low:g}" if high is None else f"> {low:g}, up to {high:g}"
    else:
        allowed = f">= {low:g}" if high is None else f"{low:g} to {high:g}"
    raise ConfigurationError(f"out of range: {key}={value!r}; allowed: {allowed}")


def check_names(names: Sequence[str], features: int) -> None:
    """Refuse names that are not one for each field, all different.

    Raises
    ------
    ConfigurationError
        They are not.

    >>> check_names(["a", "b"], 2)
    """
    if len(set(names)) != features or len(names) != features:
        raise ConfigurationError(
            f"not one name per feature: names={list(names)}; allowed: {features} different names"
        )
