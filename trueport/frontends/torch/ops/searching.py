"""Places and ranks: sorted rows, running extremes, medians, the most frequent."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.formulas.iteration import any_of, iterate
from trueport.formulas.linear.matrices import transposed
from trueport.formulas.numeric import is_float
from trueport.formulas.writer import Writer
from trueport.frontends.torch.registry import maps_torch
from trueport.frontends.torch.shared.numbers import promoted
from trueport.frontends.torch.translate.recording import TorchTranslation, recorded
from trueport.ir.marks import mark_nan_ignored

__all__: list[str] = []

_D = ir.DataType
Value = ir.Value


@maps_torch("aten::searchsorted.Tensor")
@maps_torch("aten::searchsorted.Scalar")
@recorded
def searchsorted(
    t: TorchTranslation,
    rows: Value,
    sought: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Value | None = None,
) -> Value:
    if sorter is not None:
        axis = t.rank(rows) - 1
        rows = t.op.GatherElements(rows, sorter, axis=axis)
    return _counted_below(t, rows, sought, right=right or side == "right", small=out_int32)


@maps_torch("aten::bucketize.Tensor")
@maps_torch("aten::bucketize.Scalar")
@recorded
def bucketize(
    t: TorchTranslation, sought: Any, bounds: Value, *, out_int32: bool = False, right: bool = False
) -> Value:
    return _counted_below(t, bounds, sought, right=right, small=out_int32)


def _counted_below(t: TorchTranslation, rows: Value, sought: Any, *, right: bool, small: bool) -> Value:
    """How many of a row do not reach a number; what is no number is beyond all."""
    row, value = promoted(t, rows, sought)
    last = t.rank(value)
    across = row if t.rank(row) == 1 else t.op.Unsqueeze(row, [t.rank(row) - 1])
    sought_for = t.op.Unsqueeze(value, [last])
    below = (t.op.LessOrEqual if right else t.op.Less)(across, sought_for)
    if is_float(value):
        below = t.op.Or(below, t.op.IsNaN(sought_for))
    kind = _D.INT32 if small else _D.INT64
    return t.op.ReduceSum(t.op.Cast(below, to=kind), [last], keepdims=0)


@maps_torch("aten::cummax")
@recorded
def cummax(t: TorchTranslation, x: Value, dim: int) -> tuple[Value, Value]:
    return _running(t, x, dim, largest=True)


@maps_torch("aten::cummin")
@recorded
def cummin(t: TorchTranslation, x: Value, dim: int) -> tuple[Value, Value]:
    return _running(t, x, dim, largest=False)


def _running(t: TorchTranslation, x: Value, dim: int, *, largest: bool) -> tuple[Value, Value]:
    """The extreme of each prefix and the last place where it stands; from the first NaN on, the last NaN."""
    rank = t.rank(x)
    if rank == 0:
        return t.op.Identity(x), t.op.const(np.array(0, np.int64))
    axis = dim % rank
    order = [*(a for a in range(rank) if a != axis), axis]
    back = [int(place) for place in np.argsort(order)]
    turned = transposed(t, x, order)
    places = t.op.Range(0, t.op.Squeeze(t.op.Shape(x, start=axis, end=axis + 1), [0]), 1)
    before = t.op.LessOrEqual(t.op.Unsqueeze(places, [0]), t.op.Unsqueeze(places, [1]))
    # ONNX has no extremes of 16-bit integers and of booleans.
    across = t.op.Unsqueeze(turned if is_float(x) else t.cast(turned, _D.INT64), [rank - 1])
    found = _last_extreme(t, across, before, largest=largest)
    made = t.op.GatherElements(turned, found, axis=rank - 1)
    return transposed(t, made, back), transposed(t, found, back)


def _last_extreme(t: TorchTranslation, across: Value, before: Value, *, largest: bool) -> Value:
    """[..., n]: for each row of ``before`` the last position, among those it allows, that has the extreme."""
    axis = t.rank(across)
    lowest = t.op.like(_worst(t, across, largest=largest), across)
    usable = t.op.And(t.op.Not(t.op.IsNaN(across)), before) if is_float(across) else before
    reduce = t.op.ReduceMax if largest else t.op.ReduceMin
    best = mark_nan_ignored(reduce(t.op.Where(usable, across, lowest), [axis - 1], keepdims=1))
    # A position that is not allowed holds the worst number, which an allowed one may hold as well.
    here = t.op.And(t.op.Equal(across, best), before)
    if is_float(across):
        odd = t.op.And(t.op.IsNaN(across), before)
        here = t.op.Or(here, odd)
        some = t.op.ReduceMax(t.op.Cast(odd, to=_D.INT32), [axis - 1], keepdims=1)
        here = t.op.And(here, t.op.Or(odd, t.op.Equal(some, t.op.like(0, some))))
    return t.op.ArgMax(t.op.Cast(here, to=_D.INT32), axis=axis - 1, keepdims=0, select_last_index=1)


def _worst(t: TorchTranslation, x: Value, *, largest: bool) -> Any:
    if is_float(x):
        return -np.inf if largest else np.inf
    limits = np.iinfo(t.dtype(x).numpy())
    return limits.min if largest else limits.max


@maps_torch("aten::cumprod")
@recorded
def cumprod(t: TorchTranslation, x: Value, dim: int, dtype: int = -1) -> Value:
    """The products of all prefixes; of whole numbers in 64 bits."""
    wanted = t.dtype(x) if is_float(x) else _D.INT64
    value = t.cast(x, wanted if dtype in (None, -1) else ir.DataType(dtype))
    rank = t.rank(value)
    if rank == 0:
        return t.op.Identity(value)
    axis = dim % rank
    order = [*(a for a in range(rank) if a != axis), axis]
    turned = transposed(t, value, order)
    places = t.op.Range(0, t.op.Squeeze(t.op.Shape(value, start=axis, end=axis + 1), [0]), 1)
    before = t.op.LessOrEqual(t.op.Unsqueeze(places, [0]), t.op.Unsqueeze(places, [1]))
    factors = t.op.Where(before, t.op.Unsqueeze(turned, [rank - 1]), t.op.like(1, value))
    made = t.op.ReduceProd(factors, [rank], keepdims=0)
    return transposed(t, made, [int(place) for place in np.argsort(order)])


@maps_torch("aten::median.dim")
@recorded
def median_dim(t: TorchTranslation, x: Value, dim: int, keepdim: bool = False) -> tuple[Value, Value]:
    return _middle(t, x, dim, keepdim)


def _middle(t: TorchTranslation, x: Value, dim: int, keepdim: bool) -> tuple[Value, Value]:
    if t.rank(x) == 0:
        return t.op.Identity(x), t.op.const(np.array(0, np.int64))
    axis = dim % max(t.rank(x), 1)
    size = t.op.Shape(x, start=axis, end=axis + 1)
    middle = t.op.Div(t.op.Sub(size, 1), 2)
    value, place = _ranked(t, x, axis, middle)
    if is_float(x):
        odd = t.op.Cast(t.op.IsNaN(x), to=_D.INT32)
        some = t.op.Cast(t.op.ReduceMax(odd, [axis], keepdims=1), to=_D.BOOL)
        value = t.op.Where(some, t.op.like(np.nan, x), value)
        place = t.op.Where(some, t.op.ArgMax(odd, axis=axis, keepdims=1), place)
    return _kept(t, value, axis, keepdim), _kept(t, place, axis, keepdim)


@maps_torch("aten::median")
@recorded
def median(t: TorchTranslation, x: Value) -> Value:
    flat = t.op.Reshape(x, [-1])
    middle = t.op.Div(t.op.Sub(t.op.Shape(flat), 1), 2)
    value = t.op.Squeeze(_ranked(t, flat, 0, middle)[0], [0])
    if not is_float(x):
        return value
    return t.op.Where(any_of(t, t.op.IsNaN(flat)), t.op.like(np.nan, x), value)


@maps_torch("aten::nanmedian")
@recorded
def nanmedian(t: TorchTranslation, x: Value) -> Value:
    flat = t.op.Reshape(x, [-1])
    if not is_float(x):
        last = t.op.Sub(t.op.Shape(flat), 1)
        return t.op.Squeeze(_ranked(t, flat, 0, t.op.Div(last, 2))[0], [0])
    odd = t.op.IsNaN(flat)
    count = t.op.ReduceSum(t.op.Cast(t.op.Not(odd), to=_D.INT64), [0], keepdims=1)
    # NaN counts as the largest, beyond the infinities, of which there are as many as there are.
    middle = t.op.Div(t.op.Max(t.op.Sub(count, 1), 0), 2)
    value = _ranked(t, t.op.Where(odd, t.op.like(np.inf, x), flat), 0, middle)[0]
    found = t.op.Where(t.op.Equal(count, 0), t.op.like(np.nan, x), value)
    return t.op.Squeeze(found, [0])


@maps_torch("aten::nanmedian.dim")
@recorded
def nanmedian_dim(t: TorchTranslation, x: Value, dim: int, keepdim: bool = False) -> tuple[Value, Value]:
    """The lower median of what is not NaN: NaN counts as the largest, behind all ranks that are asked for."""
    if not is_float(x) or t.rank(x) == 0:
        return _middle(t, x, dim, keepdim)
    axis = dim % t.rank(x)
    odd = t.op.IsNaN(x)
    count = t.op.ReduceSum(t.op.Cast(t.op.Not(odd), to=_D.INT64), [axis], keepdims=1)
    middle = t.op.Div(t.op.Max(t.op.Sub(count, 1), 0), 2)
    size = t.op.Shape(x, start=axis, end=axis + 1)
    values, places = t.op.several(2).TopK(t.op.Where(odd, t.op.like(np.inf, x), x), size, axis=axis, largest=0)
    value = t.op.GatherElements(values, middle, axis=axis)
    place = t.op.GatherElements(places, middle, axis=axis)
    none = t.op.Equal(count, 0)
    value = t.op.Where(none, t.op.like(np.nan, x), value)
    return _kept(t, value, axis, keepdim), _kept(t, t.op.Where(none, 0, place), axis, keepdim)


@maps_torch("aten::kthvalue")
@recorded
def kthvalue(t: TorchTranslation, x: Value, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Value, Value]:
    axis = dim % max(t.rank(x), 1)
    value, place = _ranked(t, x, axis, t.op.const(np.array([k - 1], np.int64)))
    return _kept(t, value, axis, keepdim), _kept(t, place, axis, keepdim)


def _ranked(t: TorchTranslation, x: Value, axis: int, rank: Value) -> tuple[Value, Value]:
    """What stands at a rank when sorted, with the axis kept, and where it stood."""
    size = t.op.Shape(x, start=axis, end=axis + 1)
    values, places = t.op.several(2).TopK(x, size, axis=axis, largest=0)
    return t.op.Gather(values, rank, axis=axis), t.op.Gather(places, rank, axis=axis)


def _kept(t: TorchTranslation, value: Value, axis: int, keepdim: bool) -> Value:
    return value if keepdim else t.op.Squeeze(value, [axis])


@maps_torch("aten::mode")
@recorded
def mode(t: TorchTranslation, x: Value, dim: int = -1, keepdim: bool = False) -> tuple[Value, Value]:
    """The most frequent, of several the least, and the last place where it stands."""
    rank = t.rank(x)
    axis = dim % rank
    order = [*(a for a in range(rank) if a != axis), axis]
    turned = transposed(t, x, order)
    same = t.op.Equal(t.op.Unsqueeze(turned, [rank - 1]), t.op.Unsqueeze(turned, [rank]))
    counts = t.op.ReduceSum(t.op.Cast(same, to=_D.INT64), [rank], keepdims=0)
    most = t.op.Equal(counts, t.op.ReduceMax(counts, [rank - 1], keepdims=1))
    highest = t.op.like(np.inf if is_float(x) else np.iinfo(t.dtype(x).numpy()).max, x)
    value = t.op.ReduceMin(t.op.Where(most, turned, highest), [rank - 1], keepdims=1)
    here = t.op.Cast(t.op.Equal(turned, value), to=_D.INT32)
    place = t.op.ArgMax(here, axis=rank - 1, keepdims=1, select_last_index=1)
    back = [int(place) for place in np.argsort(order)]
    return tuple(_kept(t, transposed(t, part, back), axis, keepdim) for part in (value, place))  # type: ignore[return-value]


@maps_torch("aten::gcd")
@recorded
def gcd(t: TorchTranslation, a: Value, b: Value) -> Value:
    return _divisor(t, *promoted(t, a, b))


@maps_torch("aten::lcm")
@recorded
def lcm(t: TorchTranslation, a: Value, b: Value) -> Value:
    first, second = promoted(t, a, b)
    divisor = _divisor(t, first, second)
    none = t.op.Equal(divisor, t.op.like(0, divisor))
    share = t.op.Div(first, t.op.Where(none, t.op.like(1, divisor), divisor))
    return t.op.Abs(t.op.Mul(share, second))


def _divisor(t: TorchTranslation, a: Value, b: Value) -> Value:
    """Euclid's remainders, until none is left."""
    zeros = t.op.Mul(t.op.Add(a, b), t.op.like(0, a))
    starts = [t.op.Abs(t.op.Add(a, zeros)), t.op.Abs(t.op.Add(b, zeros))]

    def step(body: Writer, _: Value, x: Value, y: Value) -> list[Value]:
        none = body.op.Equal(y, body.op.like(0, y))
        rest = body.op.Mod(x, body.op.Where(none, body.op.like(1, y), y))
        following = [body.op.Where(none, x, y), body.op.Where(none, y, rest)]
        return [any_of(body, body.op.Not(body.op.Equal(following[1], body.op.like(0, y)))), *following]

    return iterate(t, starts, step)[0]


@maps_torch("aten::sort.stable")
@recorded
def sort_stable(
    t: TorchTranslation, x: Value, *, stable: bool | None = None, dim: int = -1, descending: bool = False
) -> tuple[Value, Value]:
    """Of equals ONNX's TopK takes the first one first, in both directions."""
    if t.rank(x) == 0:
        return t.op.Identity(x), t.op.const(np.array(0, np.int64))
    axis = dim % t.rank(x)
    size = t.op.Shape(x, start=axis, end=axis + 1)
    values, places = t.op.several(2).TopK(x, size, axis=axis, largest=int(descending))
    return values, places
