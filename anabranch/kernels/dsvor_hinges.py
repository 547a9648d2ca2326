"""Hinges' derivatives of several rows at once: a lane a row, and no row waits for another.

Derivatives are -1, 0 and 1, so their sums are exact in any order.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from anabranch.kernels.lanes import WIDTH, spread
from anabranch.protocol import Array

__all__ = ["slopes"]

_INT, _SHORT = ir.IntType(64), ir.IntType(32)
_NONE = ir.Constant(_INT, 0)


class _Hinges:
    """The margins' derivatives by f, of rows whose f = w'z and ranks are in lanes."""

    def __init__(self, builder: Any, f: Any, ranks: Any) -> None:
        self._builder, self._f, self._ranks = builder, f, ranks
        self._kind = f.type

    def number(self, value: float) -> Any:
        """The number in every lane."""
        return ir.Constant(self._kind, [value] * WIDTH)

    def slopes(self, b: Any, q: Any) -> Any:
        """The derivatives of threshold q, from 0. Without branches, which could not be foreseen.

        From the rank on it wants f <= b - 1, below it f >= b + 1.
        """
        builder, zero = self._builder, self.number(0.0)
        margin = builder.fsub(self._f, spread(builder, b))
        inside = builder.fcmp_ordered(">", margin, self.number(-1.0))
        up = builder.select(inside, self.number(1.0), zero)
        inside = builder.fcmp_ordered("<", margin, self.number(1.0))
        down = builder.select(inside, self.number(-1.0), zero)
        last = builder.trunc(builder.add(q, ir.Constant(_INT, 1)), _SHORT)
        above = builder.icmp_signed(">", self._ranks, spread(builder, last))
        return builder.select(above, down, up)


def _lanes_at(builder: Any, data: Any, index: Any) -> Any:
    kind = ir.VectorType(data.type.pointee, WIDTH).as_pointer()
    return builder.bitcast(builder.gep(data, [index]), kind)


def _emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    f, ranks, theta, totals, tallies = (
        context.make_array(sig.args[i])(context, builder, args[i]) for i in (0, 1, 3, 5, 6)
    )
    found = builder.load(_lanes_at(builder, f.data, _NONE), align=4)
    hinges = _Hinges(builder, found, builder.load(_lanes_at(builder, ranks.data, args[2]), align=4))
    new: Callable[..., Any] = cgutils.alloca_once
    total = new(builder, found.type)
    builder.store(hinges.number(0.0), total)
    each: Any = cgutils.for_range
    with each(builder, builder.sub(builder.extract_value(theta.shape, 0), args[4])) as loop:
        b = builder.load(builder.gep(theta.data, [builder.add(args[4], loop.index)]))
        h = hinges.slopes(b, loop.index)
        builder.store(builder.fadd(builder.load(total), h), total)
        place = builder.mul(loop.index, ir.Constant(_INT, WIDTH))
        tally = _lanes_at(builder, tallies.data, place)
        builder.store(builder.fadd(builder.load(tally, align=4), h), tally, align=4)
    builder.store(builder.load(total), _lanes_at(builder, totals.data, _NONE), align=4)
    return context.get_dummy_value()


def _typed(
    context: Any, f: Any, ranks: Any, row: Any, theta: Any, P: Any, totals: Any, tallies: Any
) -> tuple[Any, Callable[..., Any]]:
    return types.void(f, ranks, types.int64, theta, types.int64, totals, tallies), _emit


_compile: Any = intrinsic

slopes: Callable[[Array, Array, int, Array, int, Array, Array], None] = _compile(_typed)
"""(f, ranks, row, theta, P, totals, tallies): the derivatives of `WIDTH` rows from `row` on.

f (8,) has the rows' w'z, ranks are int32, theta[P:] the thresholds. Their sum over thresholds is
put into totals (8,), each is added to tallies (Q - 1, 8)."""
