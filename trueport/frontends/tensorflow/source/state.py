"""Variables that a function writes while it runs: which operations do, and calls that leave them as they were."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["changes_state", "keeping_state"]

_WRITES = ("Assign", "ResourceApply", "ResourceScatter", "ResourceStridedSliceAssign")
"""How the names of operations begin that set a variable, as a whole or in parts."""
_CALLS = frozenset({"StatefulPartitionedCall", "If", "Case", "While"})


def changes_state(operation: Any) -> bool:
    """Whether an operation sets a variable, or calls what may do so."""
    if operation.type.startswith(_WRITES):
        return True
    return operation.type in _CALLS and any(tensor.dtype.name == "resource" for tensor in operation.inputs)


def keeping_state(function: Any) -> Any:
    """The function, called so that its variables hold afterwards what they held before.

    Comparing a model must not change it, and every run has to start from the same state.
    """
    if not any(operation.startswith(_WRITES) for operation in _operations(function.graph)):
        return function
    variables = list(function.variables)

    def call(**tensors: Any) -> Any:
        before = [variable.numpy() for variable in variables]
        try:
            return function(**tensors)
        finally:
            for variable, value in zip(variables, before, strict=True):
                variable.assign(value)

    return call


def _operations(graph: Any) -> Iterator[str]:
    """Types of all operations, those of the functions that are called included."""
    definition = graph.as_graph_def()
    yield from (node.op for node in definition.node)
    yield from (node.op for function in definition.library.function for node in function.node_def)
