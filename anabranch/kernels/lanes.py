"""Dot products in a fixed number of lanes.

A strict left-to-right sum cannot use vector registers, and `fastmath` would let the order
of summation depend on the compiler. Here the order is part of the definition: lane l sums
the products at l, l + 8, l + 16, ..., and the lanes are then added in halves.
"""

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from anabranch.protocol import Array

__all__ = ["WIDTH", "add_halves", "dot", "dots", "largest", "padded", "spread"]

WIDTH = 8
"""Lanes of a dot product; lengths given to `dot` are multiples of it."""

_LANES = ir.VectorType(ir.DoubleType(), WIDTH)
_SINGLES = ir.VectorType(ir.FloatType(), WIDTH)
_INT = ir.IntType(64)


def padded(length: int) -> int:
    """Give the next multiple of `WIDTH`.

    >>> padded(20), padded(24)
    (24, 24)
    """
    return -(-length // WIDTH) * WIDTH


def _load(builder: Any, data: Any, index: Any) -> Any:
    single = isinstance(data.type.pointee, ir.FloatType)
    kind = _SINGLES if single else _LANES
    pointer = builder.bitcast(builder.gep(data, [index]), kind.as_pointer())
    lanes = builder.load(pointer, align=4 if single else 8)
    return builder.fpext(lanes, _LANES) if single else lanes


def add_halves(builder: Any, value: Any) -> Any:
    """Add the upper half of the lanes to the lower until one is left."""
    width = WIDTH
    while width > 1:
        half = width // 2
        undefined = ir.Constant(value.type, ir.Undefined)
        mask = ir.VectorType(ir.IntType(32), half)
        low, high = (
            builder.shuffle_vector(
                value, undefined, ir.Constant(mask, list(range(start, start + half)))
            )
            for start in (0, half)
        )
        value, width = builder.fadd(low, high), half
    return builder.extract_element(value, ir.Constant(ir.IntType(32), 0))


def spread(builder: Any, value: Any) -> Any:
    """Put a number into every lane."""
    undefined = ir.Constant(ir.VectorType(value.type, WIDTH), ir.Undefined)
    one = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
    return builder.shuffle_vector(one, undefined, mask)


def _emit(context: Any, builder: Any, sig: Any, args: Any) -> list[Any]:
    """Emit the loop: every array but the last times the last one, over `length` numbers."""
    arrays = [
        context.make_array(kind)(context, builder, value).data
        for kind, value in zip(sig.args[:-1], args[:-1], strict=True)
    ]
    zero = ir.Constant(_LANES, [0.0] * WIDTH)
    new: Callable[..., Any] = cgutils.alloca_once_value
    sums = [new(builder, zero) for _ in arrays[:-1]]
    start, step = ir.Constant(_INT, 0), ir.Constant(_INT, WIDTH)
    with cgutils.for_range_slice(builder, start, args[-1], step, inc=True) as (index, _):
        right = _load(builder, arrays[-1], index)
        for total, array in zip(sums, arrays[:-1], strict=True):
            product = builder.fmul(_load(builder, array, index), right)
            builder.store(builder.fadd(builder.load(total), product), total)
    return [add_halves(builder, builder.load(total)) for total in sums]


def _dots(context: Any, a: Any, b: Any, z: Any, length: Any) -> tuple[Any, Callable[..., Any]]:
    pair: Any = types.UniTuple(types.float64, 2)  # type: ignore[no-untyped-call]
    sig = pair(a, b, z, types.int64)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return context.make_tuple(builder, sig.return_type, _emit(context, builder, sig, args))

    return sig, codegen


def _dot(context: Any, a: Any, z: Any, length: Any) -> tuple[Any, Callable[..., Any]]:
    sig = types.float64(a, z, types.int64)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _emit(context, builder, sig, args)[0]

    return sig, codegen


def _greater(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


def _emit_largest(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    data = context.make_array(sig.args[0])(context, builder, args[0]).data
    kind = ir.VectorType(data.type.pointee, WIDTH)
    suffix = "f32" if isinstance(data.type.pointee, ir.FloatType) else "f64"
    absolute = builder.module.declare_intrinsic(
        f"llvm.fabs.v{WIDTH}{suffix}", fnty=ir.FunctionType(kind, [kind])
    )
    new: Callable[..., Any] = cgutils.alloca_once
    most = new(builder, kind)
    builder.store(ir.Constant(kind, [0.0] * WIDTH), most)
    start, step = ir.Constant(_INT, 0), ir.Constant(_INT, WIDTH)
    with cgutils.for_range_slice(builder, start, args[1], step, inc=True) as (index, _):
        place = builder.bitcast(builder.gep(data, [index]), kind.as_pointer())
        lanes = builder.call(absolute, [builder.load(place, align=4)])
        builder.store(_greater(builder, lanes, builder.load(most)), most)
    found = builder.load(most)
    numbers = [builder.extract_element(found, ir.Constant(ir.IntType(32), i)) for i in range(WIDTH)]
    return reduce(partial(_greater, builder), numbers)


def _largest(context: Any, vector: Any, length: Any) -> tuple[Any, Callable[..., Any]]:
    return vector.dtype(vector, types.int64), _emit_largest


_compile: Any = intrinsic

dots: Callable[[Array, Array, Array, int], tuple[float, float]] = _compile(_dots)
"""(a'z, b'z) over the first `length` entries of C-contiguous vectors, float64 or float32."""

dot: Callable[[Array, Array, int], float] = _compile(_dot)
"""a'z, as `dots` does it."""

largest: Callable[[Array, int], float] = _compile(_largest)
"""max|v| of the first `length` entries of a C-contiguous vector, 0 where there are none."""
