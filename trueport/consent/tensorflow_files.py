"""TensorFlow's files: operators that touch files, processes or the network, found in the stored graph.

A SavedModel's graph is parsed, not loaded: loading runs initializers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from trueport.consent.refusing import refuse_without_trust
from trueport.consent.tensorflow_operators import FROM_ASSETS, RESTORES, SAVES, effect_of, named_in
from trueport.lazy import load

__all__ = ["check_graph_def", "check_saved_model", "check_tflite"]

_INITIALIZERS = ("saved_model_main_op", "legacy_init_op", "table_initializer")
_NUMBERED = re.compile(r"^(?:__inference_)?(.*?)(?:_\d+)?$")
_HANDED_ON = ("Identity", "ReadVariableOp")


def check_saved_model(folder: Path) -> None:
    """Refuse a SavedModel whose graph has such operators, or whose assets lie outside of its folder."""
    loader: Any = load("tensorflow.python.saved_model.loader_impl")
    try:
        stored = loader.parse_saved_model(str(folder))
    except OSError:
        return  # TensorFlow says what is wrong with it when it is loaded
    reasons: list[str] = []
    for graph in stored.meta_graphs:
        reasons += [*_assets(graph, folder), *_Stored(graph).reasons()]
    refuse_without_trust(folder, reasons)


def check_graph_def(graph_def: Any, outputs: Iterable[str] | None, where: str | Path) -> None:
    """Refuse a GraphDef that has such operators on the way to its outputs; None means everywhere."""
    nodes = {node.name: node for node in graph_def.node}
    reached = _ancestors(nodes, [_node_name(name) for name in outputs]) if outputs is not None else set(nodes)
    functions = {function.signature.name: function for function in graph_def.library.function}
    called = _called_from(functions, [nodes[name] for name in reached])
    bodies = [node for name in called for node in functions[name].node_def]
    refuse_without_trust(
        where, [_said(node) for node in [*map(nodes.__getitem__, reached), *bodies] if effect_of(node)]
    )


def check_tflite(content: bytes, where: str) -> None:
    """Refuse a TFLite file with such operators of TensorFlow among its Flex operators."""
    refuse_without_trust(
        where, [f"operator {name} of TensorFlow touches files or runs code" for name in named_in(content)]
    )


def _said(node: Any, function: str = "") -> str:
    plain = _NUMBERED.sub(r"\1", function)  # TensorFlow numbers the functions of a process
    place = f" in function {plain!r}" if function else ""
    return f"operator {node.op} (node {node.name!r}{place}) {effect_of(node)}"


def _assets(graph: Any, folder: Path) -> Iterator[str]:
    home = folder.resolve()
    for asset in graph.asset_file_def:
        if not (home / "assets" / asset.filename).resolve().is_relative_to(home):
            yield f"asset {asset.filename!r} is read from outside of the model's folder"


class _Stored:
    """A MetaGraphDef: which of its nodes are run by us, which only by those who save or restore variables."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self._nodes = {node.name: node for node in graph.graph_def.node}
        self._functions = {function.signature.name: function for function in graph.graph_def.library.function}

    def reasons(self) -> list[str]:
        """Return one reason per node with an effect, except what each SavedModel has to save and restore variables."""
        saver = self._graph.saver_def
        restoring = _ancestors(self._nodes, [saver.restore_op_name])
        running = _ancestors(self._nodes, self._roots())
        bystanders = set(self._nodes) - restoring - running
        own = set(self._graph.object_graph_def.concrete_functions)
        run = self._called(running) | _closed(self._functions, own & set(self._functions))
        restored = self._called(restoring) - run
        others = set(self._functions) - run - restored
        return [
            *self._found(running, run, frozenset()),
            *self._found(restoring - running, restored, RESTORES),
            *self._found(bystanders, others, SAVES | RESTORES),
        ]

    def _roots(self) -> list[str]:
        """Return what is run: outputs of signatures, and what initializes the model when it is loaded."""
        signatures = [info.name for s in self._graph.signature_def.values() for info in s.outputs.values()]
        collections = self._graph.collection_def
        initializers = [
            name for key in _INITIALIZERS for name in collections[key].node_list.value if key in collections
        ]
        return [_node_name(name) for name in (*signatures, *initializers)]

    def _called(self, names: Collection[str]) -> set[str]:
        return _called_from(self._functions, [self._nodes[name] for name in names])

    def _found(self, names: Iterable[str], functions: Iterable[str], allowed: Collection[str]) -> list[str]:
        nodes = [("", self._nodes[name]) for name in names]
        nodes += [(name, node) for name in functions for node in self._functions[name].node_def]
        return [
            _said(node, function)
            for function, node in nodes
            if effect_of(node) and node.op not in allowed and not self._reads_asset(function, node)
        ]

    def _reads_asset(self, function: str, node: Any) -> bool:
        """True if a table is filled from a file that belongs to the model."""
        if node.op not in FROM_ASSETS:
            return False
        scope = self._nodes if not function else {n.name: n for n in self._functions[function].node_def}
        source = _origin(scope, _node_name(node.input[1]))
        if not function:
            return source in {_node_name(asset.tensor_info.name) for asset in self._graph.asset_file_def}
        arguments = [argument.name for argument in self._functions[function].signature.input_arg]
        stored = self._graph.object_graph_def
        if source not in arguments or function not in stored.concrete_functions:
            return False
        bound = list(stored.concrete_functions[function].bound_inputs)
        index = arguments.index(source) - (len(arguments) - len(bound))
        return index >= 0 and stored.nodes[bound[index]].WhichOneof("kind") == "asset"


def _origin(nodes: Mapping[str, Any], name: str) -> str:
    """Return the node, or the argument, that a value is handed on from."""
    seen: set[str] = set()
    while name in nodes and name not in seen and nodes[name].op in _HANDED_ON and nodes[name].input:
        seen.add(name)
        name = _node_name(nodes[name].input[0])
    return name


def _node_name(tensor: str) -> str:
    return tensor.lstrip("^").partition(":")[0]


def _ancestors(nodes: Mapping[str, Any], names: Iterable[str]) -> set[str]:
    """Return the nodes that must run for some to run, these included."""
    waiting, found = list(names), set()
    while waiting:
        name = waiting.pop()
        if name in nodes and name not in found:
            found.add(name)
            waiting += [_node_name(source) for source in nodes[name].input]
    return found


def _called_from(functions: Mapping[str, Any], nodes: Iterable[Any]) -> set[str]:
    return _closed(functions, {name for node in nodes for name in _references(functions, node)})


def _closed(functions: Mapping[str, Any], names: Iterable[str]) -> set[str]:
    """Return functions with all that they call."""
    waiting, found = list(names), set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [inner for node in functions[name].node_def for inner in _references(functions, node)]
    return found


def _references(functions: Mapping[str, Any], node: Any) -> Iterator[str]:
    """Yield the functions that a node names, also those that it hands on to others."""
    waiting, named = list(node.attr.values()), [node.op]
    while waiting:
        value = waiting.pop()
        for function in (value.func, *value.list.func):
            named.append(function.name)
            waiting += function.attr.values()
    return (name for name in named if name in functions)
