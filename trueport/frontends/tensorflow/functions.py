"""The library of a TensorFlow graph: a function's body by its name."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from trueport.errors import InvalidModel

__all__ = ["FunctionLibrary"]


class FunctionLibrary:
    """Finds bodies: in the graph that was traced, in those around it, in the process's own list."""

    def __init__(self) -> None:
        self._bodies: dict[tuple[str, ...], Any] = {}

    def body(self, graph: Any, name: str, shapes: Sequence[Any]) -> Any:
        """A FuncGraph; ``shapes`` are what is known of its inputs where it has to be made from a definition."""
        key = (name, *(str(shape) for shape in shapes))
        if key not in self._bodies:
            self._bodies[key] = self._find(graph, name, shapes)
        return self._bodies[key]

    def _find(self, graph: Any, name: str, shapes: Sequence[Any]) -> Any:
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
            raise InvalidModel(f"there is no function {name!r} in the model", remedy="save it again with its functions")
        to_graph = importlib.import_module("tensorflow.python.framework.function_def_to_graph")
        return to_graph.function_def_to_graph(definition, input_shapes=list(shapes))
