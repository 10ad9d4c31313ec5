"""TensorArrays of TensorFlow 1 as those of TensorFlow 2, which are lists that are handed on as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trueport.errors import ConversionError
from trueport.frontends.tensorflow._tf import tf

__all__ = ["Array", "run_array_operation"]


@dataclass(frozen=True)
class Array:
    """What a handle stands for; the elements are in the flow."""

    dtype: Any
    element_shape: Any
    dynamic: bool

    def elements(self, shape: Any = None) -> dict[str, Any]:
        """Arguments of list operators that describe the elements; ``shape`` replaces the declared one."""
        return {"element_shape": _vector(self.element_shape if shape is None else shape), "element_dtype": self.dtype}


def run_array_operation(operation: Any, inputs: Sequence[Any]) -> list[Any]:
    """The outputs of an operation on arrays; a flow is a TensorList in the place of a number."""
    if operation.type not in _OPERATIONS:
        raise ConversionError(
            "operates on an array of TensorFlow 1 in a way that lists of TensorFlow 2 do not have",
            where=f"{operation.name} ({operation.type})",
            remedy="save the model for inference, without gradients, or build it again with TensorFlow 2",
        )
    return _OPERATIONS[operation.type](operation, inputs)


def _make(operation: Any, inputs: Sequence[Any]) -> list[Any]:
    attribute = operation.get_attr
    array = Array(attribute("dtype"), tf.TensorShape(attribute("element_shape")), attribute("dynamic_size"))
    return [array, tf.raw_ops.TensorListReserve(num_elements=inputs[0], name=operation.name, **array.elements())]


def _write(operation: Any, inputs: Sequence[Any]) -> list[Any]:
    array, index, value, flow = inputs
    longer = {"resize_if_index_out_of_bounds": True} if array.dynamic else {}
    return [tf.raw_ops.TensorListSetItem(input_handle=flow, index=index, item=value, **longer)]


def _read(operation: Any, inputs: Sequence[Any]) -> list[Any]:
    array, index, flow = inputs
    return [tf.raw_ops.TensorListGetItem(input_handle=flow, index=index, **array.elements())]


def _gather(operation: Any, inputs: Sequence[Any]) -> list[Any]:
    array, indices, flow = inputs
    size = _counted_to(operation.inputs[1])
    if size is not None and size.op.type == "TensorArraySizeV3" and size.op.inputs[0] is operation.inputs[0]:
        return [tf.raw_ops.TensorListStack(input_handle=flow, **array.elements())]
    return [tf.raw_ops.TensorListGather(input_handle=flow, indices=indices, **array.elements())]


def _scatter(operation: Any, inputs: Sequence[Any]) -> list[Any]:
    array, indices, value, flow = inputs
    # As many indices as there are rows: counted from 0 they are all rows in their order.
    if _counted_to(operation.inputs[1]) is not None and operation.inputs[3].op.type == "TensorArrayV3":
        shape = value.shape[1:] if array.element_shape.rank is None else array.element_shape
        return [tf.raw_ops.TensorListFromTensor(tensor=value, element_shape=_vector(shape))]
    return [tf.raw_ops.TensorListScatterIntoExistingList(input_handle=flow, tensor=value, indices=indices)]


def _concat(operation: Any, inputs: Sequence[Any]) -> list[Any]:
    array, flow = inputs
    rank = array.element_shape.rank
    shape = tf.TensorShape(None) if not rank else tf.TensorShape([None]).concatenate(array.element_shape[1:])
    made = tf.raw_ops.TensorListConcatV2(
        input_handle=flow, leading_dims=tf.zeros([0], tf.int64), **array.elements(shape)
    )
    return [made.tensor, made.lengths]


def _split(operation: Any, inputs: Sequence[Any]) -> list[Any]:
    array, value, lengths, _ = inputs
    shape = _vector(array.element_shape)
    return [tf.raw_ops.TensorListSplit(tensor=value, element_shape=shape, lengths=lengths)]


def _size(operation: Any, inputs: Sequence[Any]) -> list[Any]:
    return [tf.raw_ops.TensorListLength(input_handle=inputs[1])]


def _close(operation: Any, inputs: Sequence[Any]) -> list[Any]:
    return []


_OPERATIONS: Mapping[str, Callable[[Any, Sequence[Any]], list[Any]]] = {
    "TensorArrayV3": _make,
    "TensorArrayWriteV3": _write,
    "TensorArrayReadV3": _read,
    "TensorArrayGatherV3": _gather,
    "TensorArrayScatterV3": _scatter,
    "TensorArrayConcatV3": _concat,
    "TensorArraySplitV3": _split,
    "TensorArraySizeV3": _size,
    "TensorArrayCloseV3": _close,
}


def _counted_to(indices: Any) -> Any:
    """The bound of a Range from 0 in steps of 1; None for other indices."""
    if indices.op.type != "Range":
        return None
    start, limit, step = (
        tf.get_static_value(tensor) if n != 1 else tensor for n, tensor in enumerate(indices.op.inputs)
    )
    return limit if start == 0 and step == 1 else None


def _vector(shape: Any) -> Any:
    """A shape as an operand: -1 for a dim that is not known, a scalar -1 for an unknown rank."""
    return tf.constant(-1 if shape.rank is None else [-1 if dim is None else dim for dim in shape.as_list()], tf.int32)
