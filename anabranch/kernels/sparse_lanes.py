"""Sparse rows times a narrow matrix: all its columns in one pass over the row.

Row j of the matrix W (features, lanes) belongs to feature j, so that one load of a nonzero
serves every column. The lanes are vector registers by construction, not loops that a compiler
may or may not vectorise; each lane sums in the order of the nonzeros.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from anabranch.protocol import Array

__all__ = ["gather", "lanes_for", "scatter"]

_INT, _MASK = ir.IntType(64), ir.IntType(32)
_WIDEST = 16


def lanes_for(columns: int) -> int:
    """Give the number of lanes for so many columns: 4, 8, or a multiple of 16.

    >>> lanes_for(3), lanes_for(5), lanes_for(17)
    (4, 8, 32)
    """
    return next((lanes for lanes in (4, 8) if columns <= lanes), -(-columns // _WIDEST) * _WIDEST)


class _Row:
    """The nonzeros of a row, and the vectors of W where they stand."""

    def __init__(self, context: Any, builder: Any, sig: Any, args: Any, width: int) -> None:
        self.builder = builder
        self._table, self._indices, self._values, self._vector = (
            context.make_array(kind)(context, builder, value).data
            for kind, value in zip(sig.args[:4], args[:4], strict=True)
        )
        self._stride, self._offset, self._start, self._end = args[4:]
        single = sig.args[0].dtype == types.float32
        self.kind = ir.VectorType(ir.FloatType() if single else ir.DoubleType(), width)
        self._align = 4 if single else 8

    def load(self, pointer: Any) -> Any:
        return self.builder.load(pointer, align=self._align)

    def store(self, value: Any, pointer: Any) -> None:
        self.builder.store(value, pointer, align=self._align)

    def lanes(self) -> Any:
        """The place of the lanes that are summed into, or spread from."""
        return self._at(self._vector, self._offset)

    def _at(self, data: Any, index: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(data, [index]), self.kind.as_pointer())

    def each(self, act: Callable[[Any, Any], None]) -> None:
        """Emit `act` for each nonzero: its value in every lane, and its place in W."""
        builder, step = self.builder, ir.Constant(_INT, 1)
        with cgutils.for_range_slice(builder, self._start, self._end, step, inc=True) as (t, _):
            index = builder.zext(builder.load(builder.gep(self._indices, [t])), _INT)
            place = builder.add(builder.mul(index, self._stride), self._offset)
            act(self._spread(builder.gep(self._values, [t])), self._at(self._table, place))

    def _spread(self, pointer: Any) -> Any:
        undefined = ir.Constant(self.kind, ir.Undefined)
        one = self.builder.insert_element(
            undefined, self.builder.load(pointer), ir.Constant(_MASK, 0)
        )
        mask = ir.Constant(ir.VectorType(_MASK, self.kind.count), [0] * self.kind.count)
        return self.builder.shuffle_vector(one, undefined, mask)


def _gathered(row: _Row) -> None:
    builder = row.builder
    new: Callable[..., Any] = cgutils.alloca_once
    total = new(builder, row.kind)
    builder.store(row.load(row.lanes()), total)

    def add(value: Any, place: Any) -> None:
        builder.store(
            builder.fadd(builder.load(total), builder.fmul(row.load(place), value)), total
        )

    row.each(add)
    row.store(builder.load(total), row.lanes())


def _scattered(row: _Row) -> None:
    builder, change = row.builder, row.load(row.lanes())

    def add(value: Any, place: Any) -> None:
        row.store(builder.fadd(row.load(place), builder.fmul(change, value)), place)

    row.each(add)


def _intrinsic(emit: Callable[[_Row], None], width: int) -> Any:
    def typed(
        context: Any, table: Any, indices: Any, values: Any, vector: Any,
        stride: Any, offset: Any, start: Any, end: Any,
    ) -> tuple[Any, Callable[..., Any]]:  # fmt: skip
        whole = (types.int64,) * 4
        sig = types.void(table, indices, values, vector, *whole)

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            emit(_Row(context, builder, sig, args, width))
            return context.get_dummy_value()

        return sig, codegen

    compiled: Any = intrinsic
    return compiled(typed)


_gather4, _gather8, _gather16 = (_intrinsic(_gathered, width) for width in (4, 8, 16))
_scatter4, _scatter8, _scatter16 = (_intrinsic(_scattered, width) for width in (4, 8, 16))


@njit(cache=True, nogil=True)
def gather(W: Array, indices: Array, values: Array, start: int, end: int, z: Array) -> None:
    """z += sum_t W[indices[t]] values[t], t in [start, end).

    `W` (features * lanes,) flat, `indices` uint32, `z` (lanes,); `lanes_for` says how many.
    """
    lanes = len(z)
    if lanes == 4:
        _gather4(W, indices, values, z, 4, 0, start, end)
    elif lanes == 8:
        _gather8(W, indices, values, z, 8, 0, start, end)
    else:
        for offset in range(0, lanes, 16):
            _gather16(W, indices, values, z, lanes, offset, start, end)


@njit(cache=True, nogil=True)
def scatter(W: Array, indices: Array, values: Array, start: int, end: int, change: Array) -> None:
    """W[indices[t]] += change values[t], t in [start, end); shapes as for `gather`."""
    lanes = len(change)
    if lanes == 4:
        _scatter4(W, indices, values, change, 4, 0, start, end)
    elif lanes == 8:
        _scatter8(W, indices, values, change, 8, 0, start, end)
    else:
        for offset in range(0, lanes, 16):
            _scatter16(W, indices, values, change, lanes, offset, start, end)
