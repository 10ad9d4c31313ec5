"""Constants of TensorFlow operations: what they hold, what the variables that they read hold, those of bodies too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trueport.errors import InvalidModel
from trueport.lazy import LazyModule
from trueport.runtimes.tensorflow_functions import FunctionLibrary, called_functions

__all__ = ["constants_of"]

tf: Any = LazyModule("tensorflow", "TensorFlow", "tensorflow")
_DEEPEST = 4
"""Bodies within bodies that are looked into."""


def constants_of(graph: Any, tensors: Iterable[str], variables: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield names and arrays of what makes the tensors; ``variables``: by the placeholders that stand for them."""
    known = {operation.name for operation in graph.get_operations()}
    names = dict.fromkeys(tensor.split(":")[0] for tensor in tensors)
    operations = [graph.get_operation_by_name(name) for name in names if name in known]
    yield from _held(graph, operations, variables, FunctionLibrary(), _DEEPEST)


def _held(
    graph: Any, operations: Iterable[Any], variables: Mapping[str, Any], library: FunctionLibrary, deepest: int
) -> Iterator[tuple[str, Any]]:
    for operation in operations:
        if operation.type == "Const":
            yield operation.name, tf.make_ndarray(operation.get_attr("value"))
        elif operation.type == "Placeholder" and operation.outputs[0].name in variables:
            variable = variables[operation.outputs[0].name]
            yield variable.name.split(":")[0], variable.numpy()
        for name in called_functions(operation) if deepest else ():
            body = _body(graph, name, library)
            if body is not None:
                yield from _held(body, body.get_operations(), {}, library, deepest - 1)


def _body(graph: Any, name: str, library: FunctionLibrary) -> Any:
    """A function's graph; None where TensorFlow can't make it."""
    try:
        return library.body(graph, name)
    except InvalidModel:
        return None
