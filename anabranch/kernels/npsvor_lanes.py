"""A row's visit in all planes at once, in vector registers.

For plane k and a row of rank r, with s = -1 where r < k, +1 where r > k, and 0 where r = k:

    beta' = clip(soft(beta - G/A, e/A), low, high)      G = w'x + slope beta - s
    w'    = w + (beta' - beta) x                        A = |x|^2 + slope

soft(u, t) = max(u - t, 0) + min(u + t, 0); e is eps where r = k and 0 elsewhere; the bounds are
[-cap, cap] where r = k, else 0 and s cap; slope and cap are those of C1 or C2.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.extending import intrinsic

from anabranch.kernels.sparse_lanes import SparseRow
from anabranch.kernels.vectors import Lanes, Registers, lane_numbers, spread, vector_kind
from anabranch.protocol import Array

__all__ = ["visit"]

_SHORT = ir.IntType(32)
_FLAT = 1e-30
"""Least curvature: under L1 the dual of a row of zeros has none, and beta goes to its bound."""


@dataclass(frozen=True)
class _Numbers:
    """What the step is made of, in every lane."""

    square: Lanes
    eps: Lanes
    near_slope: Lanes
    near_cap: Lanes
    far_slope: Lanes
    far_cap: Lanes
    field: Lanes


@dataclass(frozen=True)
class _Masks:
    """Which lanes are the plane of the row's rank, of a lower rank, and a plane at all."""

    own: Any
    below: Any
    real: Any


def _masks(builder: Any, offset: Any, rank: Any, planes: Any, width: int) -> _Masks:
    lane = lane_numbers(builder, offset, width)
    ranks, ends = (
        spread(builder, builder.trunc(number, _SHORT), width) for number in (rank, planes)
    )
    signed = builder.icmp_signed
    return _Masks(signed("==", lane, ranks), signed("<", lane, ranks), signed("<", lane, ends))


def _soft(u: Lanes, t: Lanes, zero: Lanes) -> Lanes:
    return (u - t).above(zero) + (u + t).below(zero)


def _stepped(
    registers: Registers, masks: _Masks, z: Lanes, beta: Lanes, row: _Numbers
) -> tuple[Lanes, Lanes]:
    """Give beta' - beta and the size of the projected gradient at beta; both 0 beyond planes."""
    zero, one = registers.constant(0.0), registers.constant(1.0)
    side = zero.where(masks.own, one.where(masks.below, -one))
    slope = row.near_slope.where(masks.own, row.far_slope)
    low = (-row.near_cap).where(masks.own, zero.where(masks.below, -row.far_cap))
    high = row.near_cap.where(masks.own, row.far_cap.where(masks.below, zero))
    e = row.eps.where(masks.own, zero)
    inverse = one / (row.square + slope).above(registers.constant(_FLAT))
    gradient = z + slope * beta - side
    new = _soft(beta - gradient * inverse, e * inverse, zero).above(low).below(high)
    pull = (gradient + e).where(beta > zero, gradient - e)
    pull = pull.where(beta.differs(zero), _soft(gradient, e, zero))
    pull = pull.where(high > beta, pull.above(zero))
    pull = pull.where(beta > low, pull.below(zero))
    return (new - beta).where(masks.real, zero), pull.above(-pull).where(masks.real, zero)


def _emit(context: Any, builder: Any, sig: Any, args: Any, width: int) -> None:
    registers = Registers(builder, vector_kind(sig.args[0].dtype, width))
    row = SparseRow(context, registers, sig, args)
    beta, bias, worst = (
        context.make_array(kind)(context, builder, value).data
        for kind, value in zip(sig.args[7:10], args[7:10], strict=True)
    )
    first, rank, planes, ahead = args[10:14]
    numbers = _Numbers(*(registers.every(scalar) for scalar in args[14:]))
    place = registers.at(beta, builder.add(first, row.offset))
    intercept, top = registers.at(bias, row.offset), registers.at(worst, row.offset)
    z = row.gathered() + numbers.field * registers.load(intercept)
    before = registers.load(place)
    masks = _masks(builder, row.offset, rank, planes, width)
    change, wrong = _stepped(registers, masks, z, before, numbers)
    registers.store(registers.load(top).above(wrong), top)
    moved = builder.bitcast(change.differs(registers.constant(0.0)), ir.IntType(width))
    with builder.if_then(builder.icmp_unsigned("!=", moved, ir.Constant(moved.type, 0))):
        registers.store(before + change, place)
        registers.store(registers.load(intercept) + numbers.field * change, intercept)
        asks = builder.icmp_signed("!=", ahead, ir.Constant(ahead.type, 0))
        with builder.if_else(asks) as (large, small):
            with large:
                row.scatter(change, ahead)
            with small:
                row.scatter(change)


def _intrinsic(width: int) -> Any:
    def visit(
        context: Any, W: Any, indices: Any, values: Any, stride: Any, offset: Any, start: Any,
        end: Any, beta: Any, bias: Any, worst: Any, first: Any, rank: Any, planes: Any, ahead: Any,
        square: Any, eps: Any, near_slope: Any, near_cap: Any, far_slope: Any, far_cap: Any,
        field: Any,
    ) -> tuple[Any, Callable[..., Any]]:  # fmt: skip
        whole, scalars = types.int64, (W.dtype,) * 7
        sig = types.void(
            W, indices, values, *(whole,) * 4, beta, bias, worst, *(whole,) * 4, *scalars
        )

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            _emit(context, builder, sig, args, width)
            return context.get_dummy_value()

        return sig, codegen

    compiled: Any = intrinsic
    return compiled(visit)


_visit4, _visit8, _visit16 = (_intrinsic(width) for width in (4, 8, 16))


@njit(cache=True, nogil=True, inline="always")
def visit(
    W: Array, indices: Array, values: Array, start: int, end: int, beta: Array, B: Array,
    worst: Array, first: int, rank: int, planes: int, ahead: int, square: float, eps: float,
    near: tuple[float, float], far: tuple[float, float], field: float, lanes: int,
) -> None:  # fmt: skip
    """Step in all planes at one row, nonzeros [start, end), its beta at [first, first + lanes).

    `near` and `far` are slope and cap for the own rank and for the others, `field` the value of
    the bias field; `worst` (lanes,) is raised to the sizes of the projected gradients. Unless
    `ahead` is 0, the cache is asked for the rows of W of as many nonzeros from start + ahead on.
    """
    kind = B.dtype.type
    s, e, f = kind(square), kind(eps), kind(field)
    a, b, c, d = kind(near[0]), kind(near[1]), kind(far[0]), kind(far[1])
    if lanes == 4:
        _visit4(
            W, indices, values, 4, 0, start, end, beta, B, worst, first, rank, planes, ahead,
            s, e, a, b, c, d, f,
        )  # fmt: skip
    elif lanes == 8:
        _visit8(
            W, indices, values, 8, 0, start, end, beta, B, worst, first, rank, planes, ahead,
            s, e, a, b, c, d, f,
        )  # fmt: skip
    else:
        for offset in range(0, lanes, 16):
            _visit16(
                W, indices, values, lanes, offset, start, end, beta, B, worst, first, rank, planes,
                ahead, s, e, a, b, c, d, f,
            )  # fmt: skip
