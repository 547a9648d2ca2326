"""Several rows of a matrix at once: their products with a vector, and their weighted sum.

Each row's products are summed in eight lanes, as in `lanes`. The rows of a call share the
loads of the vector, and their sums do not wait for each other. Rows are of the vector's type,
or half-precision numbers, handed over as uint16: these halve the memory that is read, and
are made single as they are loaded.
"""

from collections.abc import Callable, Iterator
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from anabranch.kernels.lanes import WIDTH, add_halves, spread
from anabranch.protocol import Array

__all__ = ["ROWS", "add_row", "add_rows", "dot_row", "dot_rows"]

ROWS = 8
"""Rows of `dot_rows` and `add_rows`."""

_LINE = 64
"""Bytes that memory gives at a time."""

_INT = ir.IntType(64)
_REAL = {types.float32: ir.FloatType(), types.float64: ir.DoubleType(), types.uint16: ir.HalfType()}

_BYTES = {ir.FloatType: 4, ir.DoubleType: 8, ir.HalfType: 2}
_AHEAD = 16
"""Calls ahead that memory is asked for rows: far enough that they come in time, and near
enough that the second nearest cache keeps them. The nearest has too few places to wait in."""

_AT_ONCE = 4
"""Lines asked for with a run of lanes: what else must come, the other loop asks for."""


class _Rows:
    """Rows one behind the other in a flat array, a vector as long, and a number for each row."""

    def __init__(self, context: Any, builder: Any, sig: Any, args: Any, count: int) -> None:
        self.builder, self.count, self.length = builder, count, args[2]
        self._matrix, self.vector, self._numbers = (
            context.make_array(sig.args[i])(context, builder, args[i]).data for i in (0, 3, 4)
        )
        self._stored, self._real = _REAL[sig.args[0].dtype], _REAL[sig.args[3].dtype]
        self._starts = [
            builder.add(args[1], builder.mul(ir.Constant(_INT, r), self.length))
            for r in range(count)
        ]
        self.lanes = ir.VectorType(self._real, WIDTH)

    def number(self, row: int) -> Any:
        """The place of a row's number."""
        return self.builder.gep(self._numbers, [ir.Constant(_INT, row)])

    def _pointer(self, data: Any, index: Any, real: Any) -> Any:
        kind = ir.VectorType(real, WIDTH).as_pointer()
        return self.builder.bitcast(self.builder.gep(data, [index]), kind)

    def at(self, index: Any) -> Any:
        """The place of lanes of the vector."""
        return self._pointer(self.vector, index, self._real)

    def load(self, row: int, index: Any) -> Any:
        """Lanes of a row."""
        builder = self.builder
        place = self._pointer(self._matrix, builder.add(self._starts[row], index), self._stored)
        lanes = builder.load(place, align=2)
        return lanes if self._stored is self._real else builder.fpext(lanes, self.lanes)

    def fused(self, a: Any, b: Any, c: Any) -> Any:
        """a b + c, in one instruction where the machine has it."""
        name, bits = "llvm.fmuladd", {ir.FloatType: 32, ir.DoubleType: 64}[type(self._real)]
        kind = ir.FunctionType(self.lanes, [self.lanes] * 3)
        fused = self.builder.module.declare_intrinsic(f"{name}.v{WIDTH}f{bits}", fnty=kind)
        return self.builder.call(fused, [a, b, c])

    def each(self) -> Iterator[Any]:
        """Emit what the caller does with the index of each run of lanes."""
        start, step = ir.Constant(_INT, 0), ir.Constant(_INT, WIDTH)
        with cgutils.for_range_slice(self.builder, start, self.length, step, inc=True) as (j, _):
            yield j

    def fetch_ahead(self, index: Any, lines: slice) -> None:
        """Ask memory for rows further on, as many bytes of them as a run of lanes of these.

        They come while arithmetic goes on, which alone would leave memory idle.
        """
        builder, byte, flag = self.builder, ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch.p0", fnty=kind)
        rows = builder.add(builder.mul(self.length, ir.Constant(_INT, _AHEAD)), index)
        place = builder.add(self._starts[0], builder.mul(rows, ir.Constant(_INT, self.count)))
        start = builder.bitcast(builder.gep(self._matrix, [place]), byte)
        flags = [ir.Constant(flag, number) for number in (0, 2, 1)]
        for offset in range(0, self.count * WIDTH * _BYTES[type(self._stored)], _LINE)[lines]:
            builder.call(prefetch, [builder.gep(start, [ir.Constant(_INT, offset)]), *flags])


def _dots(rows: _Rows) -> None:
    builder, zero = rows.builder, ir.Constant(rows.lanes, [0.0] * WIDTH)
    new: Callable[..., Any] = cgutils.alloca_once_value
    sums = [new(builder, zero) for _ in range(rows.count)]
    for j in rows.each():
        shared = builder.load(rows.at(j), align=4)
        if rows.count == ROWS:
            rows.fetch_ahead(j, slice(_AT_ONCE, None))
        for row, total in enumerate(sums):
            builder.store(rows.fused(rows.load(row, j), shared, builder.load(total)), total)
    for row, total in enumerate(sums):
        builder.store(add_halves(builder, builder.load(total)), rows.number(row))


def _sums(rows: _Rows) -> None:
    builder = rows.builder
    factors = [spread(builder, builder.load(rows.number(row))) for row in range(rows.count)]
    for j in rows.each():
        # Two sums, which do not wait for each other.
        sums = [builder.load(rows.at(j), align=4), ir.Constant(rows.lanes, [0.0] * WIDTH)]
        for row, factor in enumerate(factors):
            sums[row % 2] = rows.fused(rows.load(row, j), factor, sums[row % 2])
        builder.store(builder.fadd(*sums), rows.at(j), align=4)
        if rows.count == ROWS:
            rows.fetch_ahead(j, slice(_AT_ONCE))


def _intrinsic(emit: Callable[[_Rows], None], count: int) -> Any:
    def typed(context: Any, matrix: Any, place: Any, length: Any, vector: Any, numbers: Any) -> Any:
        sig = types.void(matrix, types.int64, types.int64, vector, numbers)

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            emit(_Rows(context, builder, sig, args, count))
            return context.get_dummy_value()

        return sig, codegen

    compiled: Any = intrinsic
    return compiled(typed)


_Kernel = Callable[[Array, int, int, Array, Array], None]

dot_rows: _Kernel = _intrinsic(_dots, ROWS)
"""(matrix, place, length, vector, out): out_r = product of row r with the vector.

`matrix` is flat, its rows lie at `place`, `length` numbers each, a multiple of `WIDTH`."""

dot_row: _Kernel = _intrinsic(_dots, 1)
"""As `dot_rows`, of one row."""

add_rows: _Kernel = _intrinsic(_sums, ROWS)
"""(matrix, place, length, vector, factors): vector += sum_r factors_r row r."""

add_row: _Kernel = _intrinsic(_sums, 1)
"""As `add_rows`, of one row."""
