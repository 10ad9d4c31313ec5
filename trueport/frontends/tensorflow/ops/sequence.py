"""Lists of tensors: TensorArray, and what map_fn, scan and recurrent layers are made of."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import BITWISE
from trueport.frontends.tensorflow.control.lists import (
    as_rows,
    as_sequence,
    concatenated,
    declared_shape,
    get_item,
    known_dims,
    length,
    lengthened,
    merged_shape,
    need_list,
    reserve,
    resized,
    set_item,
    zeros,
)
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.frontends.tensorflow.translate.values import Listing, Translated
from trueport.mapping.declare import maps

__all__: list[str] = []


def _element_type(t: Translation, dtype: ir.DataType | None) -> ir.DataType:
    if dtype is None:
        raise t.fail("makes a list of lists or of handles; ONNX's lists hold tensors", "keep tensors in it")
    return dtype


@maps("TensorListReserve", domain=TF, fidelity=BITWISE)
def tensor_list_reserve(
    t: Translation, element_shape: ir.Value, num_elements: ir.Value, *, element_dtype: ir.DataType | None
) -> Listing:
    return reserve(t, _element_type(t, element_dtype), declared_shape(t, element_shape), num_elements)


@maps("EmptyTensorList", domain=TF, fidelity=BITWISE)
def empty_tensor_list(
    t: Translation, element_shape: ir.Value, max_num_elements: ir.Value, *, element_dtype: ir.DataType | None
) -> Listing:
    return Listing(_element_type(t, element_dtype), declared_shape(t, element_shape), elements=())


@maps("TensorListFromTensor", domain=TF, fidelity=BITWISE)
def tensor_list_from_tensor(t: Translation, tensor: ir.Value, element_shape: ir.Value) -> Listing:
    rows = known_dims(tensor)
    shape = merged_shape(declared_shape(t, element_shape), None if rows is None else rows[1:])
    return Listing(t.dtype(tensor), shape, stacked=tensor)


@maps("TensorListGetItem", domain=TF, fidelity=BITWISE)
def tensor_list_get_item(
    t: Translation, input_handle: Translated, index: ir.Value, element_shape: ir.Value
) -> ir.Value:
    return get_item(t, need_list(t, input_handle), index, declared_shape(t, element_shape))


@maps("TensorListSetItem", domain=TF, fidelity=BITWISE)
def tensor_list_set_item(
    t: Translation,
    input_handle: Translated,
    index: ir.Value,
    item: ir.Value,
    *,
    resize_if_index_out_of_bounds: bool,
) -> Listing:
    return set_item(t, need_list(t, input_handle), index, item, resize=resize_if_index_out_of_bounds)


@maps("TensorListStack", domain=TF, fidelity=BITWISE, ignores={"num_elements": "the list has as many"})
def tensor_list_stack(t: Translation, input_handle: Translated, element_shape: ir.Value) -> ir.Value:
    return as_rows(t, need_list(t, input_handle), declared_shape(t, element_shape))


@maps("TensorListPushBack", domain=TF, fidelity=BITWISE)
def tensor_list_push_back(t: Translation, input_handle: Translated, tensor: ir.Value) -> Listing:
    listing = need_list(t, input_handle)
    if listing.elements is not None and listing.count is None:
        return Listing(listing.dtype, listing.shape, elements=(*listing.elements, tensor))
    sequence = t.op.SequenceInsert(as_sequence(t, listing, known_dims(tensor)), tensor)
    return Listing(listing.dtype, listing.shape, sequence=sequence)


@maps("TensorListPopBack", domain=TF, fidelity=BITWISE)
def tensor_list_pop_back(t: Translation, input_handle: Translated, element_shape: ir.Value) -> tuple[Listing, ir.Value]:
    listing = need_list(t, input_handle)
    dims = merged_shape(listing.shape, declared_shape(t, element_shape))
    if listing.elements and listing.count is None:
        *kept, last = listing.elements
        taken = zeros(t, listing.dtype, dims) if last is None else last
        return Listing(listing.dtype, listing.shape, elements=tuple(kept)), taken
    sequence = as_sequence(t, listing, dims)
    last_place = np.array(-1, np.int64)
    rest = Listing(listing.dtype, listing.shape, sequence=t.op.SequenceErase(sequence, last_place))
    return rest, t.op.SequenceAt(sequence, last_place)


@maps("TensorListLength", domain=TF, fidelity=BITWISE)
def tensor_list_length(t: Translation, input_handle: Translated) -> ir.Value:
    found = length(t, need_list(t, input_handle))
    known = t.static(found)
    return t.cast(found, ir.DataType.INT32) if known is None else t.op.const(known.astype(np.int32))


@maps("TensorListElementShape", domain=TF, fidelity=BITWISE)
def tensor_list_element_shape(t: Translation, input_handle: Translated, *, shape_type: ir.DataType) -> ir.Value:
    """What was declared: -1 for an open dim, a scalar -1 for any rank."""
    declared = need_list(t, input_handle).shape
    dims = np.array(-1 if declared is None else [-1 if dim is None else dim for dim in declared], np.int64)
    return t.op.const(dims if shape_type == ir.DataType.INT64 else dims.astype(np.int32))


@maps("TensorListGather", domain=TF, fidelity=BITWISE)
def tensor_list_gather(
    t: Translation, input_handle: Translated, indices: ir.Value, element_shape: ir.Value
) -> ir.Value:
    rows = as_rows(t, need_list(t, input_handle), declared_shape(t, element_shape))
    return t.op.Gather(rows, indices, axis=0)


@maps("TensorListConcatLists", domain=TF, fidelity=BITWISE)
def tensor_list_concat_lists(t: Translation, input_a: Translated, input_b: Translated) -> Listing:
    return concatenated(t, need_list(t, input_a), need_list(t, input_b))


def _joined(t: Translation, listing: Listing, dims: tuple[int | None, ...] | None) -> tuple[ir.Value, ir.Value]:
    """All elements one after the other along their first axis, and how long each is."""
    if listing.sequence is not None:
        return t.op.ConcatFromSequence(listing.sequence, axis=0), _lengths(t, listing.sequence)
    if listing.elements and listing.count is None and None not in listing.elements:
        parts = [value for value in listing.elements if value is not None]
        lengths = [t.op.Shape(value, start=0, end=1) for value in parts]
        return t.op.Concat(*parts, axis=0), t.op.Concat(*lengths, axis=0)
    rows = as_rows(t, listing, dims)
    flat = t.op.Concat([-1], t.op.Shape(rows, start=2), axis=0)
    return t.op.Reshape(rows, flat), t.op.Expand(t.op.Shape(rows, start=1, end=2), t.op.Shape(rows, start=0, end=1))


def _lengths(t: Translation, sequence: ir.Value) -> ir.Value:
    place = ir.Value(name="place", type=ir.TensorType(ir.DataType.INT64), shape=ir.Shape([]))
    going = ir.Value(name="going", type=ir.TensorType(ir.DataType.BOOL), shape=ir.Shape([]))
    inner = t.inside([place, going])
    size = inner.op.Shape(inner.op.SequenceAt(sequence, place), start=0, end=1)
    body = inner.close([going, inner.op.Reshape(size, np.array([], np.int64))])
    made: ir.Value = t.op.Loop(t.op.SequenceLength(sequence), np.array(True), body=body)
    made.type, made.shape = ir.TensorType(ir.DataType.INT64), ir.Shape([None])
    return made


@maps("TensorListConcatV2", domain=TF, fidelity=BITWISE)
def tensor_list_concat_v2(
    t: Translation, input_handle: Translated, element_shape: ir.Value, leading_dims: ir.Value
) -> tuple[ir.Value, ir.Value]:
    return _joined(t, need_list(t, input_handle), declared_shape(t, element_shape))


@maps("TensorListConcat", domain=TF, fidelity=BITWISE)
def tensor_list_concat(
    t: Translation, input_handle: Translated, *, element_shape: tuple[int | None, ...] | None
) -> tuple[ir.Value, ir.Value]:
    return _joined(t, need_list(t, input_handle), element_shape)


@maps("TensorListSplit", domain=TF, fidelity=BITWISE)
def tensor_list_split(t: Translation, tensor: ir.Value, element_shape: ir.Value, lengths: ir.Value) -> Listing:
    sequence = t.op.SplitToSequence(tensor, t.int64(lengths), axis=0)
    return Listing(t.dtype(tensor), declared_shape(t, element_shape), sequence=sequence)


@maps("TensorListResize", domain=TF, fidelity=BITWISE)
def tensor_list_resize(t: Translation, input_handle: Translated, size: ir.Value) -> Listing:
    return resized(t, need_list(t, input_handle), size)


def _scattered(t: Translation, rows: ir.Value, indices: ir.Value, tensor: ir.Value) -> ir.Value:
    return t.op.ScatterND(rows, t.op.Unsqueeze(t.int64(indices), [-1]), tensor)


def _blank(t: Translation, count: ir.Value, tensor: ir.Value) -> ir.Value:
    shape = t.op.Concat(count, t.op.Shape(tensor, start=1), axis=0)
    return t.op.Expand(zeros(t, t.dtype(tensor), ()), shape)


def _highest(t: Translation, indices: ir.Value) -> ir.Value:
    """One more than the highest index, as a vector; 0 where there is none."""
    bounded = t.op.Concat(t.int64(indices), [-1], axis=0)
    return t.op.Add(t.op.ReduceMax(bounded, [0], keepdims=1), [1])


@maps("TensorListScatter", domain=TF, fidelity=BITWISE)
def tensor_list_scatter(t: Translation, tensor: ir.Value, indices: ir.Value, element_shape: ir.Value) -> Listing:
    rows = _scattered(t, _blank(t, _highest(t, indices), tensor), indices, tensor)
    return Listing(t.dtype(tensor), declared_shape(t, element_shape), stacked=rows)


@maps("TensorListScatterV2", domain=TF, fidelity=BITWISE)
def tensor_list_scatter_v2(
    t: Translation, tensor: ir.Value, indices: ir.Value, element_shape: ir.Value, num_elements: ir.Value
) -> Listing:
    known = t.static(num_elements)
    count = t.op.Reshape(t.int64(num_elements), [1])
    if known is None:
        count = t.op.Where(t.op.Less(count, [0]), _highest(t, indices), count)
    elif known < 0:
        count = _highest(t, indices)
    rows = _scattered(t, _blank(t, count, tensor), indices, tensor)
    return Listing(t.dtype(tensor), declared_shape(t, element_shape), stacked=rows)


@maps("TensorListScatterIntoExistingList", domain=TF, fidelity=BITWISE)
def tensor_list_scatter_into_existing_list(
    t: Translation, input_handle: Translated, tensor: ir.Value, indices: ir.Value
) -> Listing:
    """A list that is too short is made longer."""
    listing, highest = need_list(t, input_handle), _highest(t, indices)
    have = t.op.Reshape(length(t, listing), [1])
    if any(value is not None for value in listing.elements or ()) or listing.elements is None:
        rows = lengthened(t, as_rows(t, listing), t.op.Max(t.op.Sub(highest, have), [0]))
    else:
        rows = _blank(t, t.op.Max(have, highest), tensor)
    return Listing(listing.dtype, listing.shape, stacked=_scattered(t, rows, indices, tensor))
