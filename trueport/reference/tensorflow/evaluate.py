"""A captured function evaluated in float64, operation by operation, by TensorFlow's kernels run eagerly.

Every float in it is widened; an operator without a kernel for float64 runs in its own type on rounded inputs. Control
flow is walked here. With ``noise`` each operation also errs as a float of the model's own type may.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from trueport.errors import NoOracle
from trueport.frontends.tensorflow._tf import tf
from trueport.frontends.tensorflow.source.capture import Captured
from trueport.frontends.tensorflow.source.dtypes import is_tensor_type
from trueport.frontends.tensorflow.source.eager import run_operation
from trueport.frontends.tensorflow.source.state import changes_state
from trueport.ir.ports import Port
from trueport.quoting import plain_text
from trueport.runtimes.tensorflow_functions import FunctionLibrary

__all__ = ["OperationNoise", "Walk", "as_array", "evaluate_wide", "widened"]

OperationNoise = Callable[[Any, Sequence[Any], Callable[[Sequence[Any]], list[Any]]], list[Any]]
_WIDE = {"float32": "float64", "float16": "float64", "bfloat16": "float64", "complex64": "complex128"}


def evaluate_wide(
    captured: Captured,
    feeds: Mapping[str, Any],
    fetch: Collection[str] | None = None,
    noise: OperationNoise | None = None,
) -> dict[str, Any]:
    """Outputs by name, or the tensors of the main graph named by ``fetch``."""
    walk = Walk(noise)
    inputs = [widened(tf.constant(_given(port, feeds[port.name]))) for port in captured.inputs]
    held = list(captured.function.captured_inputs)
    ports = {port.name: captured.function.structured_outputs[port.parts[0]] for port in captured.outputs}
    if fetch is None:
        values = walk.run(captured.graph, [*inputs, *held], list(ports.values()))
        found = (as_array(value) for value in values)
        return {port.name: _taken(port, value) for port, value in zip(captured.outputs, found, strict=True)}
    wanted = {name: captured.graph.get_tensor_by_name(name if ":" in name else f"{name}:0") for name in fetch}
    values = walk.run(captured.graph, [*inputs, *held], list(wanted.values()))
    return {name: as_array(value) for name, value in zip(wanted, values, strict=True)}


def _given(port: Port, value: Any) -> Any:
    """What TensorFlow takes of a value at an input: pairs of reals are complex numbers."""
    array = np.asarray(value)
    is_pair = port.kind == "pair" and array.dtype.kind != "c"
    return array[..., 0] + 1j * array[..., 1].astype(np.complex128) if is_pair else value


def _taken(port: Port, value: Any) -> Any:
    """A result as the source's runs give it: complex numbers as pairs of reals in a last axis."""
    return np.stack([value.real, value.imag], axis=-1) if port.kind == "pair" else value


class Walk:
    """Runs graphs. What they write to variables is seen by what reads them later in the walk, and not kept."""

    def __init__(self, noise: OperationNoise | None) -> None:
        self._noise = noise
        self._library = FunctionLibrary()
        self._written: dict[int, tuple[Any, Any]] = {}

    def read(self, handle: Any, dtype: Any) -> Any:
        """A variable's value at this point of the walk."""
        if id(handle) in self._written:
            return self._written[id(handle)][1]
        return widened(tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype))

    def write(self, handle: Any, value: Any) -> None:
        """From here on the variable holds this value; the handle is kept so that its identity stays its own."""
        self._written[id(handle)] = handle, value

    def run(self, graph: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
        values = {tensor.name: value for tensor, value in zip(graph.inputs, inputs, strict=True)}
        writes = [operation for operation in graph.get_operations() if changes_state(operation)]
        needed = _ancestors([*outputs, *(tensor for write in writes for tensor in write.inputs)], values) | set(writes)
        for operation in graph.get_operations():
            if operation in needed:
                given = [values[tensor.name] for tensor in operation.inputs]
                for tensor, value in zip(operation.outputs, self.step(operation, given), strict=True):
                    values[tensor.name] = value
        return [values[tensor.name] for tensor in outputs]

    def step(self, operation: Any, inputs: Sequence[Any]) -> list[Any]:
        """One operation on tensors that are widened already."""
        special = _SPECIAL.get(operation.type)
        if special is not None:
            return special(self, operation, inputs)
        if changes_state(operation):
            raise NoOracle(
                "it sets parts of a variable, which is not followed in float64",
                where=f"{operation.name} ({operation.type})",
            )
        if self._noise is not None:
            return self._noise(operation, inputs, lambda given: _execute(operation, given))
        return _execute(operation, inputs)

    def call(self, operation: Any, function: str, inputs: Sequence[Any]) -> list[Any]:
        body = self._library.body(operation.graph, function, [tf.TensorShape(None)] * len(inputs))
        return self.run(body, inputs, body.outputs)


def _called(walk: Walk, operation: Any, inputs: Sequence[Any]) -> list[Any]:
    return walk.call(operation, operation.get_attr("f").name, inputs)


def _if(walk: Walk, operation: Any, inputs: Sequence[Any]) -> list[Any]:
    taken = "then_branch" if bool(np.any(as_array(inputs[0]))) else "else_branch"
    return walk.call(operation, operation.get_attr(taken).name, inputs[1:])


def _case(walk: Walk, operation: Any, inputs: Sequence[Any]) -> list[Any]:
    branches = operation.get_attr("branches")
    index = int(as_array(inputs[0]))
    return walk.call(operation, branches[index if 0 <= index < len(branches) else -1].name, inputs[1:])


def _while(walk: Walk, operation: Any, inputs: Sequence[Any]) -> list[Any]:
    state = list(inputs)
    while bool(np.any(as_array(walk.call(operation, operation.get_attr("cond").name, state)[0]))):
        state = walk.call(operation, operation.get_attr("body").name, state)
    return state


def _const(walk: Walk, operation: Any, inputs: Sequence[Any]) -> list[Any]:
    return [widened(tf.constant(tf.make_ndarray(operation.get_attr("value")), dtype=operation.outputs[0].dtype))]


def _read(walk: Walk, operation: Any, inputs: Sequence[Any]) -> list[Any]:
    return [walk.read(inputs[0], operation.get_attr("dtype"))]


def _assign(walk: Walk, operation: Any, inputs: Sequence[Any]) -> list[Any]:
    walk.write(inputs[0], inputs[1])
    return []


def _assign_sum(walk: Walk, operation: Any, inputs: Sequence[Any]) -> list[Any]:
    before = walk.read(inputs[0], operation.get_attr("dtype"))
    walk.write(inputs[0], before + inputs[1] if operation.type == "AssignAddVariableOp" else before - inputs[1])
    return []


def _handed_on(walk: Walk, operation: Any, inputs: Sequence[Any]) -> list[Any]:
    return list(inputs)


def _gather(walk: Walk, operation: Any, inputs: Sequence[Any]) -> list[Any]:
    table = _read(walk, operation, inputs)[0]
    return [tf.gather(table, inputs[1], batch_dims=operation.get_attr("batch_dims"))]


_SPECIAL: Mapping[str, Callable[[Walk, Any, Sequence[Any]], list[Any]]] = {
    "PartitionedCall": _called,
    "StatefulPartitionedCall": _called,
    "If": _if,
    "StatelessIf": _if,
    "Case": _case,
    "StatelessCase": _case,
    "While": _while,
    "StatelessWhile": _while,
    "Const": _const,
    "ReadVariableOp": _read,
    "AssignVariableOp": _assign,
    "AssignAddVariableOp": _assign_sum,
    "AssignSubVariableOp": _assign_sum,
    "Identity": _handed_on,
    "ResourceGather": _gather,
}


def _ancestors(outputs: Sequence[Any], given: Mapping[str, Any]) -> set[Any]:
    waiting = [tensor.op for tensor in outputs if tensor.name not in given]
    found = set(waiting)
    while waiting:
        for tensor in waiting.pop().inputs:
            if tensor.name not in given and tensor.op not in found:
                found.add(tensor.op)
                waiting.append(tensor.op)
    return found


def _execute(operation: Any, inputs: Sequence[Any]) -> list[Any]:
    """The operation in float64; in its own type where TensorFlow has no kernel for that."""
    try:
        return [widened(value) for value in run_operation(operation, inputs, _wide_type)]
    except (TypeError, ValueError, tf.errors.OpError):
        given = [_narrowed(value, tensor) for value, tensor in zip(inputs, operation.inputs, strict=True)]
    try:
        return [widened(value) for value in run_operation(operation, given)]
    except (TypeError, ValueError, tf.errors.OpError) as error:
        raise NoOracle(
            f"it can't be evaluated by itself: {_words(error)[:200]}",
            where=f"{operation.name} ({operation.type})",
        ) from error


def _words(error: Exception) -> str:
    """What TensorFlow says, without where in its runtime it says so."""
    return " ".join(re.sub(r"\{\{.*?\}\}|\[Op:.*?\]", "", plain_text(error)).split())


def _wide_type(dtype: Any) -> Any:
    return tf.as_dtype(_WIDE[dtype.name]) if dtype.name in _WIDE else dtype


def widened(value: Any) -> Any:
    """A tensor as the evaluation takes it: floats in float64, complex numbers in as much."""
    return tf.cast(value, _WIDE[value.dtype.name]) if value.dtype.name in _WIDE else value


def _narrowed(value: Any, tensor: Any) -> Any:
    return tf.cast(value, tensor.dtype) if tensor.dtype.name in _WIDE else value


def as_array(value: Any) -> Any:
    """What NumPy can hold as an array; handles and lists as they are."""
    return value.numpy() if is_tensor_type(value.dtype) else value
