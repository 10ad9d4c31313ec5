"""TensorLists: lists of tensors of one type, kept in the form that makes the fewest nodes.

A list that is made from a tensor stays that tensor, one that is written at known places stays single values; only
what is known of neither becomes an ONNX sequence. An element that was never written is zero, as in TensorFlow.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import onnx_ir as ir

from trueport.frontends.tensorflow.translate.context import Translation
from trueport.frontends.tensorflow.translate.values import Listing, Translated
from trueport.ir.dtypes import numpy_dtype

__all__ = [
    "as_rows",
    "as_sequence",
    "can_stack",
    "concatenated",
    "declared_shape",
    "get_item",
    "known_dims",
    "length",
    "lengthened",
    "merged_shape",
    "need_list",
    "reserve",
    "resized",
    "set_item",
    "zeros",
]

Dims = tuple[int | None, ...] | None

_FEW = 64
"""Elements up to which a list that is written at known places is held one by one."""


def need_list(t: Translation, value: Translated) -> Listing:
    """The list behind a handle; refuses the node for any other handle."""
    if not isinstance(value, Listing):
        raise t.fail("uses a list of tensors that was made outside of the model", "make the list inside the function")
    return value


def declared_shape(t: Translation, element_shape: ir.Value) -> Dims:
    """The shape that TensorFlow declares for elements: a vector with -1 for open dims, or a scalar for any rank."""
    known = t.static(element_shape)
    if known is None or known.ndim == 0:
        return None
    return tuple(None if dim < 0 else int(dim) for dim in known)


def merged_shape(*shapes: Dims) -> Dims:
    """What several descriptions of one shape say together."""
    known = [shape for shape in shapes if shape is not None]
    if not known:
        return None
    return tuple(next((dim for dim in dims if dim is not None), None) for dims in zip(*known, strict=True))


def reserve(t: Translation, dtype: ir.DataType, shape: Dims, count: ir.Value) -> Listing:
    """A list of elements that nothing was written to yet."""
    known = t.static(count)
    if known is not None and known <= _FEW:
        return Listing(dtype, shape, elements=(None,) * int(known))
    return Listing(dtype, shape, elements=(), count=count)


def length(t: Translation, listing: Listing) -> ir.Value:
    """How many elements there are, as an int64 scalar."""
    if listing.count is not None:
        return t.int64(listing.count)
    if listing.elements is not None:
        return t.op.const(np.array(len(listing.elements), np.int64))
    if listing.stacked is not None:
        return t.op.Squeeze(t.op.Shape(listing.stacked, start=0, end=1), [0])
    return t.op.SequenceLength(listing.sequence)


def zeros(t: Translation, dtype: ir.DataType, dims: Dims, *before: ir.Value, like: ir.Value | None = None) -> ir.Value:
    """Zeros of a known shape or that of ``like``, ``before`` it dims that are computed."""
    if dims is not None and None not in dims:
        shape: ir.Value = t.op.const(np.array(dims, np.int64))
    elif like is not None:
        shape = t.op.Shape(like)
    else:
        raise t.fail(
            "reads an element of a list that was not written, and its shape is not known",
            "give the TensorArray an element_shape without open dims",
        )
    if before:
        shape = t.op.Concat(*(t.op.Reshape(dim, [1]) for dim in before), shape, axis=0)
    if dtype == ir.DataType.STRING:
        return t.op.Expand(t.op.const(np.array("", object)), shape)
    return t.op.ConstantOfShape(shape, value=ir.tensor(np.zeros(1, numpy_dtype(dtype)), dtype=dtype))


def lengthened(t: Translation, rows: ir.Value, by: ir.Value) -> ir.Value:
    """Rows with as many rows of zeros behind them."""
    zero = zeros(t, t.dtype(rows), ())
    return t.op.Concat(rows, t.op.Expand(zero, t.op.Concat(by, t.op.Shape(rows, start=1), axis=0)), axis=0)


def as_rows(t: Translation, listing: Listing, shape: Dims = None) -> ir.Value:
    """All elements stacked along a new first axis."""
    dims = merged_shape(listing.shape, shape)
    if listing.stacked is not None:
        return listing.stacked
    if listing.sequence is not None:
        return _sequence_rows(t, listing.dtype, listing.sequence, dims)
    elements = listing.elements or ()
    rows = [t.op.Unsqueeze(value, [0]) for value in _filled(t, listing, elements, dims)]
    if listing.count is not None or not elements:
        spare = t.op.Sub(length(t, listing), len(elements)) if elements else length(t, listing)
        rows.append(zeros(t, listing.dtype, dims, spare, like=elements[0] if elements else None))
    return t.op.Concat(*rows, axis=0) if len(rows) > 1 else rows[0]


def _sequence_rows(t: Translation, dtype: ir.DataType, sequence: ir.Value, dims: Dims) -> ir.Value:
    if dims is None or None in dims:
        return t.op.ConcatFromSequence(sequence, axis=0, new_axis=1)
    # An empty sequence can't be stacked, one with a row in front can.
    guarded = t.op.SequenceInsert(sequence, zeros(t, dtype, dims), 0)
    return t.op.Slice(t.op.ConcatFromSequence(guarded, axis=0, new_axis=1), [1], [np.iinfo(np.int64).max], [0])


def _filled(t: Translation, listing: Listing, elements: Sequence[ir.Value | None], dims: Dims) -> list[ir.Value]:
    """Elements with zeros where nothing was written: of the declared shape, or of that of another element."""
    if None not in elements:
        return [value for value in elements if value is not None]
    known = next((value for value in elements if value is not None), None)
    blank = zeros(t, listing.dtype, dims, like=known)
    return [blank if value is None else value for value in elements]


def as_sequence(t: Translation, listing: Listing, shape: Dims = None) -> ir.Value:
    """The list as an ONNX sequence; elements without a value and without a known shape are empty tensors."""
    dims = merged_shape(listing.shape, shape)
    if listing.sequence is not None:
        return listing.sequence
    if listing.count is None and listing.elements == ():
        return t.op.SequenceEmpty(dtype=listing.dtype)
    if listing.count is None and any(value is not None for value in listing.elements or ()):
        return t.op.SequenceConstruct(*_filled(t, listing, listing.elements or (), dims))
    if listing.stacked is None and dims is None:
        raise t.fail(
            "keeps tensors of unknown rank in a list, of which those that are not written are to be zeros",
            "give the TensorArray an element_shape",
        )
    rows = listing.stacked
    if rows is None:
        empty = replace(listing, shape=tuple(dim or 0 for dim in dims or ()))
        rows = as_rows(t, listing if listing.elements else empty)
    return t.op.SplitToSequence(rows, axis=0, keepdims=0)


def can_stack(listing: Listing) -> bool:
    """True if the elements can be the rows of one tensor: their shapes do not differ, and one of them is known."""
    if listing.sequence is not None or listing.stacked is not None:
        return listing.stacked is not None
    shapes = [known_dims(value) for value in listing.elements or () if value is not None]
    known = [shape for shape in shapes if shape is not None]
    if any(len({*dims} - {None}) > 1 for dims in itertools.zip_longest(*known, fillvalue=-1)):
        return False
    return bool(shapes) or listing.count is not None or (listing.shape is not None and None not in listing.shape)


def get_item(t: Translation, listing: Listing, index: ir.Value, shape: Dims) -> ir.Value:
    """One element."""
    at = t.static(index)
    dims = merged_shape(listing.shape, shape)
    if listing.elements is not None and at is not None and (listing.count is None or at < len(listing.elements)):
        found = listing.elements[int(at)]
        return zeros(t, listing.dtype, dims) if found is None else found
    if listing.sequence is not None:
        return t.op.SequenceAt(listing.sequence, index)
    return t.op.Gather(as_rows(t, listing, dims), index, axis=0)


def set_item(t: Translation, listing: Listing, index: ir.Value, value: ir.Value, *, resize: bool) -> Listing:
    """The list with one element replaced; ``resize``: the place after the last one may be written, too."""
    at = t.static(index)
    if listing.elements is not None and at is not None and _is_near(listing, int(at), resize):
        elements = (*listing.elements, *(None,) * (int(at) + 1 - len(listing.elements)))
        return replace(listing, elements=(*elements[: int(at)], value, *elements[int(at) + 1 :]))
    dims = merged_shape(listing.shape, known_dims(value))
    if resize or listing.sequence is not None or (listing.stacked is None and (dims is None or None in dims)):
        sequence = as_sequence(t, listing, dims)
        kept = _erased(t, sequence, index) if resize else t.op.SequenceErase(sequence, index)
        return Listing(listing.dtype, listing.shape, sequence=t.op.SequenceInsert(kept, value, index))
    place = t.op.Reshape(t.int64(index), [1, 1])
    rows = t.op.ScatterND(as_rows(t, listing, dims), place, t.op.Unsqueeze(value, [0]))
    return Listing(listing.dtype, listing.shape, stacked=rows)


def _is_near(listing: Listing, at: int, resize: bool) -> bool:
    """Whether a place is among the single elements, or right behind them where there may be more."""
    have = len(listing.elements or ())
    return at < have or (at <= _FEW and (resize if listing.count is None else at == have))


def concatenated(t: Translation, one: Listing, two: Listing) -> Listing:
    """The elements of two lists, one after the other."""
    if all(each.elements is not None and each.count is None for each in (one, two)):
        return Listing(one.dtype, one.shape, elements=(*(one.elements or ()), *(two.elements or ())))
    if can_stack(one) and can_stack(two):
        return Listing(one.dtype, one.shape, stacked=t.op.Concat(*(as_rows(t, each) for each in (one, two)), axis=0))
    behind = as_sequence(t, two)
    return _pushed(t, one, length(t, two), lambda inner, place: inner.op.SequenceAt(behind, place))


def resized(t: Translation, listing: Listing, size: ir.Value) -> Listing:
    """The first elements of a list, as many as ``size`` says; further ones are zeros, or empty if of unknown shape."""
    known, count = t.static(size), t.int64(size)
    if listing.elements is not None and listing.count is None and known is not None:
        spare = (None,) * max(0, int(known) - len(listing.elements))
        return Listing(listing.dtype, listing.shape, elements=(*listing.elements[: int(known)], *spare))
    if listing.stacked is not None:
        wanted = t.op.Reshape(count, [1])
        spare_rows = t.op.Max(t.op.Sub(wanted, t.op.Shape(listing.stacked, start=0, end=1)), [0])
        rows = lengthened(t, t.op.Slice(listing.stacked, [0], wanted, [0]), spare_rows)
        return Listing(listing.dtype, listing.shape, stacked=rows)
    sequence, have = as_sequence(t, listing), length(t, listing)
    shape = listing.shape if listing.shape is not None and None not in listing.shape else (0,)

    def element(inner: Translation, place: ir.Value) -> ir.Value:
        sides = [inner.inside() for _ in range(2)]
        found = sides[0].op.SequenceAt(sequence, place), zeros(sides[1], listing.dtype, shape)
        then_branch, else_branch = (side.close([value]) for side, value in zip(sides, found, strict=True))
        made: ir.Value = inner.op.If(inner.op.Less(place, have), then_branch=then_branch, else_branch=else_branch)
        made.type = ir.TensorType(listing.dtype)
        return made

    return _pushed(t, Listing(listing.dtype, listing.shape, elements=()), count, element)


def _pushed(
    t: Translation, listing: Listing, count: ir.Value, element: Callable[[Translation, ir.Value], ir.Value]
) -> Listing:
    """A list with ``count`` elements more: ``element(inner, place)`` for each place from 0 on."""
    kind = ir.SequenceType(ir.TensorType(listing.dtype))
    place = ir.Value(name="place", type=ir.TensorType(ir.DataType.INT64), shape=ir.Shape([]))
    going = ir.Value(name="going", type=ir.TensorType(ir.DataType.BOOL), shape=ir.Shape([]))
    before = ir.Value(name="list", type=kind)
    inner = t.inside([place, going, before])
    body = inner.close([going, inner.op.SequenceInsert(before, element(inner, place))])
    made: ir.Value = t.op.Loop(count, np.array(True), as_sequence(t, listing), body=body)
    made.type = kind
    return Listing(listing.dtype, listing.shape, sequence=made)


def known_dims(value: ir.Value) -> Dims:
    """A value's dims, None where open."""
    return None if value.shape is None else tuple(dim if isinstance(dim, int) else None for dim in value.shape)


def _erased(t: Translation, sequence: ir.Value, index: ir.Value) -> ir.Value:
    """Without the element at a place, if the list reaches so far."""
    there = t.op.Less(t.int64(index), t.op.SequenceLength(sequence))
    branches = []
    for within in (True, False):
        inner = t.inside()
        branches.append(inner.close([inner.op.SequenceErase(sequence, index) if within else sequence]))
    made: ir.Value = t.op.If(there, then_branch=branches[0], else_branch=branches[1])
    made.type = sequence.type
    return made
