"""Sparse rows times a narrow matrix: all its columns in one pass over the row.

Row j of the matrix W (features, lanes) belongs to feature j, so that one load of a nonzero
serves every column. The lanes are vector registers by construction, not loops that a compiler
may or may not vectorise; each lane sums the nonzeros at even and at odd places apart, in order.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from anabranch.kernels.vectors import Lanes, Registers, vector_kind
from anabranch.protocol import Array

__all__ = ["SparseRow", "fetch", "gather", "lane_zeros", "lanes_for", "scatter"]

_compiled: Any = intrinsic
_INT, _SHORT = ir.IntType(64), ir.IntType(32)
_WIDEST = 16
_LINE = 64
"""Bytes of a cache line."""
_FIRST, _SECOND = 3, 2
"""Levels of cache, as the instruction numbers them."""


def lanes_for(columns: int) -> int:
    """Give the number of lanes for so many columns: 4, 8, or a multiple of 16.

    >>> lanes_for(3), lanes_for(5), lanes_for(17)
    (4, 8, 32)
    """
    return next((lanes for lanes in (4, 8) if columns <= lanes), -(-columns // _WIDEST) * _WIDEST)


def lane_zeros(rows: int, lanes: int, dtype: Any) -> Array:
    """Give zeros (rows, lanes) from the beginning of a cache line on, so that rows share few.

    >>> lane_zeros(3, 8, np.float32).ctypes.data % 64
    0
    """
    size = rows * lanes * np.dtype(dtype).itemsize
    raw = np.zeros(size + _LINE, np.uint8)
    begin = -raw.ctypes.data % _LINE
    zeros: Array = raw[begin : begin + size].view(dtype).reshape(rows, lanes)
    return zeros


class SparseRow:
    """The nonzeros of a row, and the vectors of W where they stand.

    Arguments begin with W (flat), indices, values, stride, offset, start and end: the lanes of
    feature j are at W[j stride + offset], the nonzeros [start, end).
    """

    def __init__(self, context: Any, registers: Registers, sig: Any, args: Any) -> None:
        self.registers = registers
        self._table, self._indices, self._values = (
            context.make_array(kind)(context, registers.builder, value).data
            for kind, value in zip(sig.args[:3], args[:3], strict=True)
        )
        self._stride, self.offset, self._start, self._end = args[3:7]

    def gathered(self) -> Lanes:
        """Emit sum_t W[indices[t]] values[t]."""
        registers = self.registers
        new: Callable[..., Any] = cgutils.alloca_once
        totals = [new(registers.builder, registers.kind) for _ in range(2)]
        for total in totals:
            registers.store(registers.constant(0.0), total)

        def add(parity: int, value: Lanes, place: Any, t: Any) -> None:
            total = registers.load(totals[parity]) + registers.load(place) * value
            registers.store(total, totals[parity])

        self._each(add)
        return registers.load(totals[0]) + registers.load(totals[1])

    def scatter(self, change: Lanes, ahead: Any = None) -> None:
        """Emit W[indices[t]] += change values[t]; ask for W[indices[t + ahead]], if given."""
        registers = self.registers

        def add(parity: int, value: Lanes, place: Any, t: Any) -> None:
            if ahead is not None:
                builder = registers.builder
                _ask(builder, self._place(builder.add(t, ahead)), _SECOND)
            registers.store(registers.load(place) + change * value, place)

        self._each(add)

    def _each(self, act: Callable[[int, Lanes, Any, Any], None]) -> None:
        """Emit `act` for each nonzero: 0 or 1, its value in every lane, and its place in W."""
        builder, two = self.registers.builder, ir.Constant(_INT, 2)
        last = builder.sub(self._end, ir.Constant(_INT, 1))
        odd = builder.and_(builder.sub(self._end, self._start), ir.Constant(_INT, 1))
        with cgutils.for_range_slice(builder, self._start, last, two, inc=True) as (t, _):
            self._act(act, 0, t)
            self._act(act, 1, builder.add(t, ir.Constant(_INT, 1)))
        with builder.if_then(builder.icmp_signed("!=", odd, ir.Constant(_INT, 0))):
            self._act(act, 0, last)

    def _act(self, act: Callable[[int, Lanes, Any, Any], None], parity: int, t: Any) -> None:
        builder = self.registers.builder
        value = self.registers.every(builder.load(builder.gep(self._values, [t])))
        act(parity, value, self._place(t), t)

    def _place(self, t: Any) -> Any:
        builder = self.registers.builder
        index = builder.zext(builder.load(builder.gep(self._indices, [t])), _INT)
        place = builder.add(builder.mul(index, self._stride), self.offset)
        return self.registers.at(self._table, place)


def _ask(builder: Any, place: Any, level: int) -> None:
    """Emit a request for the line of a place, to be in the cache of a level when it is read."""
    place = builder.bitcast(place, ir.IntType(8).as_pointer())
    kind = ir.FunctionType(ir.VoidType(), [place.type, _SHORT, _SHORT, _SHORT])
    call = builder.module.declare_intrinsic("llvm.prefetch", (place.type,), kind)
    builder.call(call, [place, *(ir.Constant(_SHORT, number) for number in (0, level, 1))])


def _gathered(row: SparseRow, place: Any) -> None:
    row.registers.store(row.registers.load(place) + row.gathered(), place)


def _scattered(row: SparseRow, place: Any) -> None:
    row.scatter(row.registers.load(place))


def _intrinsic(emit: Callable[[SparseRow, Any], None], width: int) -> Any:
    def typed(
        context: Any, table: Any, indices: Any, values: Any, stride: Any, offset: Any,
        start: Any, end: Any, vector: Any,
    ) -> tuple[Any, Callable[..., Any]]:  # fmt: skip
        sig = types.void(table, indices, values, *(types.int64,) * 4, vector)

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            registers = Registers(builder, vector_kind(sig.args[0].dtype, width))
            row = SparseRow(context, registers, sig, args)
            data = context.make_array(sig.args[7])(context, builder, args[7]).data
            emit(row, registers.at(data, row.offset))
            return context.get_dummy_value()

        return sig, codegen

    return _compiled(typed)


_gather4, _gather8, _gather16 = (_intrinsic(_gathered, width) for width in (4, 8, 16))
_scatter4, _scatter8, _scatter16 = (_intrinsic(_scattered, width) for width in (4, 8, 16))


def _fetch(context: Any, array: Any, index: Any, line: Any) -> tuple[Any, Callable[..., Any]]:

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        place = builder.bitcast(builder.gep(data, [args[1]]), ir.IntType(8).as_pointer())
        _ask(builder, builder.gep(place, [builder.mul(args[2], ir.Constant(_INT, _LINE))]), _FIRST)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64), codegen


fetch = _compiled(_fetch)
"""fetch(array, index, line): ask the cache for array[index] of a flat array, or so many lines
behind it. Nothing is read: the array may end sooner."""


@njit(cache=True, nogil=True)
def gather(W: Array, indices: Array, values: Array, start: int, end: int, z: Array) -> None:
    """z += sum_t W[indices[t]] values[t], t in [start, end).

    `W` (features * lanes,) flat, `indices` uint32, `z` (lanes,); `lanes_for` says how many.
    """
    lanes = len(z)
    if lanes == 4:
        _gather4(W, indices, values, 4, 0, start, end, z)
    elif lanes == 8:
        _gather8(W, indices, values, 8, 0, start, end, z)
    else:
        for offset in range(0, lanes, 16):
            _gather16(W, indices, values, lanes, offset, start, end, z)


@njit(cache=True, nogil=True)
def scatter(W: Array, indices: Array, values: Array, start: int, end: int, change: Array) -> None:
    """W[indices[t]] += change values[t], t in [start, end); shapes as for `gather`."""
    lanes = len(change)
    if lanes == 4:
        _scatter4(W, indices, values, 4, 0, start, end, change)
    elif lanes == 8:
        _scatter8(W, indices, values, 8, 0, start, end, change)
    else:
        for offset in range(0, lanes, 16):
            _scatter16(W, indices, values, lanes, offset, start, end, change)
