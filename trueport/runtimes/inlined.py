"""A TensorFlow function with the functions that it calls written into it, so that every inner tensor has a name."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from typing import Any

from trueport.lazy import LazyModule
from trueport.quiet import tensorflow_lines_hidden

__all__ = ["argument_names", "inlined"]

tf: Any = LazyModule("tensorflow", "TensorFlow", "tensorflow")
_CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})


def inlined(function: Any) -> Any:
    """The same concrete function on one flat graph; loops and branches stay operations. Weights stay captured.

    Inner operations are named ``call/operation``. A function that calls none is returned as it is.
    """
    if not any(operation.type in _CALLS for operation in function.graph.get_operations()):
        return function
    # Not public, but what TensorFlow's own converters begin with; nothing else writes calls into a graph.
    module = importlib.import_module("tensorflow.python.framework.convert_to_constants")
    with tensorflow_lines_hidden():
        graph_def = module._run_inline_graph_optimization(function, lower_control_flow=False, aggressive_inlining=True)
    inputs = function.graph.inputs
    taken = function.captured_inputs
    own = inputs[: len(inputs) - len(taken)]
    names = argument_names(function, len(own))
    made = function.structured_outputs
    fetched = [tensor.name for tensor in function.graph.outputs]

    def call(*tensors: Any) -> Any:
        graph = tf.compat.v1.get_default_graph()
        weights = [graph.capture(tensor) for tensor in taken]
        fed = {tensor.name: value for tensor, value in zip(inputs, [*tensors, *weights], strict=True)}
        # What is fed has a placeholder of its own here; one that nothing uses is left out by the inlining.
        known = {f"{node.name}:0" for node in graph_def.node}
        used = {name: value for name, value in fed.items() if name in known}
        found = tf.graph_util.import_graph_def(graph_def, input_map=used, return_elements=fetched, name="")
        return tf.nest.pack_sequence_as(made, found)

    # The imported operations keep their names: the inputs stand under others.
    specs = [tf.TensorSpec(tensor.shape, tensor.dtype, name=name) for name, tensor in zip(names, own, strict=True)]
    return tf.function(_named(call, names), input_signature=specs, autograph=False).get_concrete_function()


def argument_names(function: Any, count: int) -> list[str]:
    """In the order of the graph's inputs; a loaded signature is a dict in any order."""
    positional, named = function.structured_input_signature
    specs: Mapping[str, Any] = dict(named)
    order = list(getattr(function, "_arg_keywords", None) or [])
    names = order if len(order) == count else [*(spec.name for spec in positional), *sorted(specs)]
    return [str(name) for name in names]


def _named(call: Any, names: list[str]) -> Any:
    """The call with parameters of these names, so that the trace is called by them."""
    call.__signature__ = inspect.Signature(
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    )
    return call
