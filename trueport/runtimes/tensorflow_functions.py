"""The library of a TensorFlow graph: a function's body by its name."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from trueport.errors import InvalidModel
from trueport.quoting import one_line

__all__ = ["FunctionLibrary", "called_functions"]

_FILLS = ("InitializeTable", "LookupTable")
"""How the names of operations begin that change a table, which is no variable."""


class FunctionLibrary:
    """Finds bodies: in the graph that was traced, in those around it, in the process's own list."""

    def __init__(self) -> None:
        self._bodies: dict[tuple[str, ...], Any] = {}

    def body(self, graph: Any, name: str, shapes: Sequence[Any] | None = None) -> Any:
        """A FuncGraph; ``shapes`` are what is known of its inputs where it has to be made from a definition."""
        key = (name, *(str(shape) for shape in shapes or ()))
        if key not in self._bodies:
            self._bodies[key] = self._find(graph, name, shapes)
        return self._bodies[key]

    def acts(self, graph: Any, operation: Any) -> bool:
        """Whether an operation does more than make its outputs: sets a variable, prints, checks."""
        if not operation.op_def.is_stateful:
            return False
        bodies = [self.body(graph, name) for name in called_functions(operation)]
        return not operation.outputs or any(self.acts(body, op) for body in bodies for op in body.get_operations())

    def written(self, graph: Any) -> frozenset[int]:
        """Inputs of a function that are handles of variables which it sets."""
        places = {tensor.name: index for index, tensor in enumerate(graph.inputs) if tensor.dtype.name == "resource"}
        found: set[int] = set()
        for operation in graph.get_operations():
            handles = [(at, places[t.name]) for at, t in enumerate(operation.inputs) if t.name in places]
            if handles and not operation.outputs and not operation.type.startswith(_FILLS):
                found.update(place for _, place in handles)
            for body in (self.body(graph, name) for name in called_functions(operation)) if handles else ():
                # What comes before a function's own inputs chooses the function.
                before = len(operation.inputs) - len(body.inputs)
                inside = self.written(body)
                found.update(place for at, place in handles if at - before in inside)
        return frozenset(found)

    def _find(self, graph: Any, name: str, shapes: Sequence[Any] | None) -> Any:
        # None of this is public: TensorFlow offers no other way from a call to the called function's graph.
        known = graph._get_function(name) if hasattr(graph, "_get_function") else None
        traced = getattr(known, "graph", None)
        if traced is not None:
            return traced
        context = importlib.import_module("tensorflow.python.eager.context").context()
        definition = known.cached_definition if known is not None else None
        if definition is None:
            definition = next((f for f in graph.as_graph_def().library.function if f.signature.name == name), None)
        if definition is None and context.has_function(name):
            definition = context.get_function_def(name)
        if definition is None:
            raise InvalidModel(
                "the model calls it and does not hold it",
                where=f"function {name!r}",
                remedy="save the model again with its functions",
            )
        to_graph = importlib.import_module("tensorflow.python.framework.function_def_to_graph")
        try:
            # Functions that the function calls are looked up in the graph that is current.
            with graph.as_default():
                return to_graph.function_def_to_graph(definition, input_shapes=None if shapes is None else list(shapes))
        except (TypeError, ValueError) as error:
            raise InvalidModel(
                f"TensorFlow can't make its graph: {one_line(error, 200)}",
                where=f"function {name!r}",
                remedy="save the model again with TensorFlow 2, which writes functions with all their types",
            ) from error


def called_functions(operation: Any) -> list[str]:
    """Names of the functions that an operation runs."""
    attributes = operation.node_def.attr.values()
    single = [a.func.name for a in attributes if a.WhichOneof("value") == "func"]
    return single + [f.name for a in attributes if a.WhichOneof("value") == "list" for f in a.list.func]
