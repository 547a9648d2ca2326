"""Durations as a person writes them: "10s", "500ms", "2m"."""

import re
from typing import Self

__all__ = ["Duration"]

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_FORM = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)")


class Duration(float):
    """A number of seconds, read from and written as text with a unit.

    >>> Duration.parse("500ms") + 1, str(Duration.parse("2m"))
    (1.5, '2m')
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read a duration from text.

        Raises
        ------
        ValueError
            The text is not a number followed by ms, s, m or h.
        """
        found = _FORM.fullmatch(text.strip()) if isinstance(text, str) else None
        if found is None:
            raise ValueError(f"{text!r} is not a duration")
        count = float(found[1])
        # 43 / 1000 is the double nearest to 0.043; 43 * 0.001 is not.
        return cls(count / 1000 if found[2] == "ms" else count * _UNITS[found[2]])

    def __str__(self) -> str:
        for unit in ("h", "m", "s"):
            count = float(self) / _UNITS[unit]
            if self > 0 and count == int(count):
                return f"{int(count)}{unit}"
        # Seconds are written in full, so that reading them back gives the same number.
        return "0s" if not self else f"{float(self):.17f}".rstrip("0").rstrip(".") + "s"

    def __repr__(self) -> str:
        return f"Duration({str(self)!r})"
