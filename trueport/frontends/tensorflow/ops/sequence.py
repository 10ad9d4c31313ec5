"""Lists of tensors: TensorArray, and what map_fn, scan and recurrent layers are made of."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import BITWISE
from trueport.frontends.tensorflow.context import Translation
from trueport.frontends.tensorflow.lists import (
    as_rows,
    as_sequence,
    declared_shape,
    get_item,
    known_dims,
    length,
    merged_shape,
    need_list,
    reserve,
    set_item,
    zeros,
)
from trueport.frontends.tensorflow.nodes import TF
from trueport.frontends.tensorflow.values import Listing, Translated
from trueport.mapping.declare import maps

__all__: list[str] = []


def _element_type(t: Translation, dtype: ir.DataType | None) -> ir.DataType:
    if dtype is None:
        raise t.fail("makes a list of lists or of handles", "keep tensors in it")
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
    lists = need_list(t, input_a), need_list(t, input_b)
    shape = lists[0].shape
    if all(one.elements is not None and one.count is None for one in lists):
        return Listing(lists[0].dtype, shape, elements=(*(lists[0].elements or ()), *(lists[1].elements or ())))
    rows = t.op.Concat(*(as_rows(t, one, shape) for one in lists), axis=0)
    return Listing(lists[0].dtype, shape, stacked=rows)
