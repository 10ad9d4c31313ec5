"""One operation of a graph, run now on given tensors."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from trueport.frontends.tensorflow._tf import tf

__all__ = ["run_operation"]


def run_operation(
    operation: Any, inputs: Sequence[Any], retyped: Callable[[Any], Any] = lambda dtype: dtype
) -> list[Any]:
    """The outputs of an operation on other inputs; ``retyped`` gives the dtype that stands for one in its attributes.

    By the call that TensorFlow's own wrappers end in: some of these rename attributes, so they can't be called by name.
    """
    execute = importlib.import_module("tensorflow.python.eager.execute").execute
    context = importlib.import_module("tensorflow.python.eager.context").context()
    context.ensure_initialized()
    attributes: list[Any] = []
    for definition in operation.op_def.attr:
        attributes += [definition.name, _plain(operation.get_attr(definition.name), retyped)]
    with tf.init_scope():
        made: list[Any] = execute(
            operation.type.encode(), len(operation.outputs), list(inputs), tuple(attributes), context
        )
    return list(made or [])


def _plain(value: Any, retyped: Callable[[Any], Any]) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(item, retyped) for item in value]
    if isinstance(value, tf.DType):
        return retyped(value).as_datatype_enum
    if type(value).__name__ == "TensorShapeProto":
        shape = tf.TensorShape(value)
        return None if shape.rank is None else shape.as_list()
    return value
