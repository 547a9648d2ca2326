"""Vector registers in compiled code: floats in lanes, their arithmetic, and where they live.

For kernels whose inner loop is over a few columns. What is written with `Lanes` is vector code by
construction, not if the compiler sees fit; without fused or reordered operations.
"""

from dataclasses import dataclass
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types

__all__ = ["Lanes", "Registers", "lane_numbers", "spread", "vector_kind"]

_SHORT = ir.IntType(32)


def vector_kind(dtype: Any, width: int) -> Any:
    """Give the type of so many lanes of float32 or float64."""
    return ir.VectorType(ir.FloatType() if dtype == types.float32 else ir.DoubleType(), width)


@dataclass(frozen=True)
class Lanes:
    """Floats in lanes, with arithmetic lane by lane; comparisons give masks for `where`."""

    builder: Any
    value: Any

    def _with(self, value: Any) -> "Lanes":
        return Lanes(self.builder, value)

    def __add__(self, other: "Lanes") -> "Lanes":
        return self._with(self.builder.fadd(self.value, other.value))

    def __sub__(self, other: "Lanes") -> "Lanes":
        return self._with(self.builder.fsub(self.value, other.value))

    def __mul__(self, other: "Lanes") -> "Lanes":
        return self._with(self.builder.fmul(self.value, other.value))

    def __truediv__(self, other: "Lanes") -> "Lanes":
        return self._with(self.builder.fdiv(self.value, other.value))

    def __neg__(self) -> "Lanes":
        return self._with(self.builder.fneg(self.value))

    def __gt__(self, other: "Lanes") -> Any:
        return self.builder.fcmp_ordered(">", self.value, other.value)

    def differs(self, other: "Lanes") -> Any:
        """Give a mask of the lanes that are unequal."""
        return self.builder.fcmp_ordered("!=", self.value, other.value)

    def where(self, mask: Any, other: "Lanes") -> "Lanes":
        """Take these where the mask is set, the other's elsewhere."""
        return self._with(self.builder.select(mask, self.value, other.value))

    def above(self, other: "Lanes") -> "Lanes":
        """Give the larger of the two; the other's where one is not a number."""
        return self.where(self > other, other)

    def below(self, other: "Lanes") -> "Lanes":
        """Give the smaller of the two; the other's where one is not a number."""
        return self.where(other > self, other)


class Registers:
    """Makes lanes of one kind from scalars and from memory."""

    def __init__(self, builder: Any, kind: Any) -> None:
        self.builder, self.kind = builder, kind
        self._align = 4 if kind.element == ir.FloatType() else 8

    def every(self, scalar: Any) -> Lanes:
        """Give a scalar of the lanes' own precision, in every lane."""
        return Lanes(self.builder, spread(self.builder, scalar, self.kind.count))

    def constant(self, number: float) -> Lanes:
        """Give a number in every lane."""
        return Lanes(self.builder, ir.Constant(self.kind, [number] * self.kind.count))

    def load(self, place: Any) -> Lanes:
        """Read the lanes at a place."""
        return Lanes(self.builder, self.builder.load(place, align=self._align))

    def store(self, lanes: Lanes, place: Any) -> None:
        """Write the lanes to a place."""
        self.builder.store(lanes.value, place, align=self._align)

    def at(self, data: Any, index: Any) -> Any:
        """Give the place of the lanes that begin at an element."""
        return self.builder.bitcast(self.builder.gep(data, [index]), self.kind.as_pointer())


def spread(builder: Any, scalar: Any, width: int) -> Any:
    """Give a vector that holds a scalar in every lane."""
    kind = ir.VectorType(scalar.type, width)
    undefined = ir.Constant(kind, ir.Undefined)
    one = builder.insert_element(undefined, scalar, ir.Constant(_SHORT, 0))
    mask = ir.Constant(ir.VectorType(_SHORT, width), [0] * width)
    return builder.shuffle_vector(one, undefined, mask)


def lane_numbers(builder: Any, offset: Any, width: int) -> Any:
    """Give offset, offset + 1, ... as 32-bit integers, of an offset of 64 bits."""
    first = spread(builder, builder.trunc(offset, _SHORT), width)
    steps = ir.Constant(ir.VectorType(_SHORT, width), list(range(width)))
    return builder.add(first, steps)
