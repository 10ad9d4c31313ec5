"""Taking elements by their indices, and indices from elements."""

from __future__ import annotations

import onnx_ir as ir

from trueport.fidelity import BITWISE
from trueport.formulas.indexing.indices import gathered, integer_of, positions, within
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.frontends.tensorflow.translate.values import Translated
from trueport.frontends.tensorflow.translate.variables import read_variable
from trueport.mapping.declare import maps

__all__: list[str] = []

_CHECKED = {"validate_indices": "ONNX always checks them"}


@maps("GatherV2", domain=TF, fidelity=BITWISE)
def gather_v2(t: Translation, params: ir.Value, indices: ir.Value, axis: ir.Value, *, batch_dims: int) -> ir.Value:
    return gathered(t, params, indices, integer_of(t, axis, "axis"), batch_dims)


@maps("Gather", domain=TF, fidelity=BITWISE, ignores=_CHECKED)
def gather(t: Translation, params: ir.Value, indices: ir.Value) -> ir.Value:
    return gathered(t, params, indices, 0)


@maps("ResourceGather", domain=TF, fidelity=BITWISE, ignores=_CHECKED)
def resource_gather(
    t: Translation, resource: Translated, indices: ir.Value, *, batch_dims: int, dtype: ir.DataType
) -> ir.Value:
    return gathered(t, read_variable(t, resource, dtype), indices, batch_dims, batch_dims)


@maps("ResourceGatherNd", domain=TF, fidelity=BITWISE)
def resource_gather_nd(t: Translation, resource: Translated, indices: ir.Value, *, dtype: ir.DataType) -> ir.Value:
    return _gathered_nd(t, read_variable(t, resource, dtype), indices)


@maps("GatherNd", domain=TF, fidelity=BITWISE)
def gather_nd(t: Translation, params: ir.Value, indices: ir.Value, *, bad_indices_policy: str) -> ir.Value:
    if bad_indices_policy != "IGNORE":
        return _gathered_nd(t, params, indices)
    depth = t.dims(indices)[-1]
    if depth is None:
        raise t.fail("the length of an index is not known", "give the indices' last dim a fixed size")
    where = t.int64(indices)
    valid = within(t, where, t.op.Shape(params, start=0, end=depth))
    whole = t.op.Cast(t.op.ReduceMin(t.op.Cast(valid, to=ir.DataType.INT32), [-1], keepdims=0), to=ir.DataType.BOOL)
    found = _gathered_nd(t, params, t.op.Where(valid, where, 0))
    added = t.rank(params) - depth
    mask = t.op.Unsqueeze(whole, list(range(-added, 0))) if added else whole
    return t.op.Where(mask, found, t.op.like("" if params.dtype == ir.DataType.STRING else 0, params))


def _gathered_nd(t: Translation, params: ir.Value, indices: ir.Value) -> ir.Value:
    if t.dims(indices)[-1] == 0:  # an index of no numbers means all of params; ONNX has none such
        shape = t.op.Concat(t.op.Shape(indices, end=-1), t.op.Shape(params), axis=0)
        return t.op.Expand(params, shape)
    return t.op.GatherND(params, t.int64(indices))


@maps("OneHot", domain=TF, fidelity=BITWISE)
def one_hot(
    t: Translation, indices: ir.Value, depth: ir.Value, on_value: ir.Value, off_value: ir.Value, *, axis: int
) -> ir.Value:
    # Compared with each position: ONNX's OneHot counts a negative index from the end, TensorFlow has it off everywhere.
    count = t.int64(depth)
    places = indices if indices.dtype == ir.DataType.INT32 else t.int64(indices)
    rank = t.rank(indices)
    after = rank - axis if axis >= 0 else 0
    numbers = t.cast(positions(t, count), t.dtype(places))
    here = t.op.Equal(t.op.Unsqueeze(places, [axis]), t.op.Unsqueeze(numbers, list(range(1, 1 + after))))
    known = [t.static(value) for value in (off_value, on_value)]
    if on_value.dtype != ir.DataType.STRING and [array is not None and float(array) for array in known] == [0, 1]:
        return t.cast(here, t.dtype(on_value))
    return t.op.Where(here, on_value, off_value)


@maps("Where", domain=TF, fidelity=BITWISE)
def where_true(t: Translation, input: ir.Value) -> ir.Value:
    return t.op.Transpose(t.op.NonZero(t.cast(input, ir.DataType.BOOL)), perm=[1, 0])


@maps("InvertPermutation", domain=TF, fidelity=BITWISE)
def invert_permutation(t: Translation, x: ir.Value) -> ir.Value:
    order = t.op.Range(t.op.like(0, x), t.cast(t.op.Size(x), t.dtype(x)), t.op.like(1, x))
    return t.op.ScatterElements(order, x, order)
