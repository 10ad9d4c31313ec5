"""Old opsets end here: every node is raised, step by step, to the canonical version of its operator.

An adapter handles one real change between two versions of an operator:

    @upgrades("Softmax", 11, 13)
    def softmax_11_to_13(op, input, *, axis):
        ...

It is bound from the schema of the OLD version and builds with ``op`` nodes that mean what they mean at the
NEW version; those are raised further if need be. Between two versions without an adapter the node is only
relabelled: a test proves that such a change widens dtypes alone, or the step is named in ``RELABELS`` with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, TypeVar, cast

import numpy as np
import onnx_ir as ir
from onnx_ir.tape import Tape

from trueport.errors import InvalidModel
from trueport.ir.places import op_id, place
from trueport.ir.provenance import inherit
from trueport.ir.schemas import CANONICAL_OPSETS, history, schema_at
from trueport.mapping.bind import bind_by_schema

__all__ = ["Adapter", "AdapterBuilder", "adapters_of", "upgrade_model", "upgrades"]

Adapter = Callable[..., Any]
_A = TypeVar("_A", bound=Adapter)
Adapters = Mapping[tuple[str, str, int], tuple[int, Adapter]]
_ATTRIBUTE = "__trueport_upgrades__"


def upgrades(op: str, old: int, new: int, *, domain: str = "") -> Callable[[_A], _A]:
    """Declare an adapter from version ``old`` of an operator to version ``new``, the next in its history."""

    def declare(adapter: _A) -> _A:
        steps = (*getattr(adapter, _ATTRIBUTE, ()), (domain, op, old, new))
        setattr(adapter, _ATTRIBUTE, steps)
        return adapter

    return declare


def adapters_of(*modules: ModuleType) -> Adapters:
    """All adapters that stand in modules, by (domain, op, old version)."""
    found: dict[tuple[str, str, int], tuple[int, Adapter]] = {}
    for module in modules:
        for item in vars(module).values():
            if getattr(item, "__module__", None) != module.__name__:
                continue
            for domain, op, old, new in getattr(item, _ATTRIBUTE, ()):
                if (domain, op, old) in found:
                    raise TypeError(f"two adapters for {op} {old} → {new}")
                found[domain, op, old] = (new, item)
    return found


class AdapterBuilder(Tape):
    """Builds the replacement of a node: ``op.Add(a, b)``; ``op.node`` is the old one.

    Attributes are keywords (None leaves one out); ``outputs=n`` gives a list of n values, ``domain=``
    another domain than ONNX's own. New nodes mean what they mean at the version that the adapter leads to.
    """

    def __init__(self, node: ir.Node, version: int) -> None:
        super().__init__()
        self.node = node
        self._to = version

    def __getattr__(self, op_type: str) -> Callable[..., Any]:
        if op_type.startswith("_"):
            raise AttributeError(op_type)
        return lambda *inputs, **options: self._add(op_type, inputs, options)

    def _add(self, op_type: str, inputs: Sequence[ir.Value | None], options: dict[str, Any]) -> Any:
        domain = options.pop("domain", "")
        outputs = options.pop("outputs", None)
        attributes = {name: value for name, value in options.items() if value is not None}
        version = self._to if domain == self.node.domain else CANONICAL_OPSETS[domain]
        if outputs is None:
            return self.op(op_type, inputs, attributes, domain=domain, version=version)
        return self.op_multi_out(
            op_type, inputs, attributes, num_outputs=outputs, domain=domain, version=version
        )

    def const(self, array: Any, dtype: Any = None) -> ir.Value:
        """A constant; Python ints become int64."""
        value = np.asarray(array) if dtype is None else np.asarray(array, dtype=dtype)
        return cast(ir.Value, self.Constant(value=ir.tensor(value)))


def upgrade_model(model: ir.Model, adapters: Adapters) -> None:
    """Raise the graph and all functions of a model, in place, to the canonical opsets."""
    for function in model.functions.values():
        _upgrade_graph(function.graph, dict(function.opset_imports), adapters)
        function.opset_imports.update(_raised(function.opset_imports))
    _upgrade_graph(model.graph, dict(model.opset_imports), adapters)
    model.opset_imports.update(_raised(model.opset_imports))


def _raised(opsets: Mapping[str, int]) -> dict[str, int]:
    return {domain: CANONICAL_OPSETS.get(domain, version) for domain, version in opsets.items()}


def _upgrade_graph(graph: ir.Graph, opsets: Mapping[str, int], adapters: Adapters) -> None:
    for node in list(graph):
        _upgrade_node(node, opsets, adapters)


def _upgrade_node(node: ir.Node, opsets: Mapping[str, int], adapters: Adapters) -> None:
    for subgraph in _subgraphs(node):
        _upgrade_graph(subgraph, opsets, adapters)
    opset = node.version or opsets.get(node.domain)
    node.version = None
    if opset is None or not history(node.op_type, node.domain):
        return
    schema = schema_at(node.op_type, node.domain, opset)
    if schema is None:
        raise InvalidModel(
            f"{op_id(node)} does not exist in opset {opset}",
            where=place(node),
            remedy=f"it came with opset {history(node.op_type, node.domain)[0].since_version}; "
            "raise the model's opset_import",
        )
    versions = [s.since_version for s in history(node.op_type, node.domain)]
    for version in versions[versions.index(schema.since_version) :]:
        step = adapters.get((node.domain, node.op_type, version))
        if step is None:
            continue
        new, adapter = step
        for made in _replace(node, version, new, adapter):
            _upgrade_node(made, opsets, adapters)
        return


def _subgraphs(node: ir.Node) -> Iterable[ir.Graph]:
    for attribute in node.attributes.values():
        if attribute.type == ir.AttributeType.GRAPH:
            yield attribute.as_graph()
        elif attribute.type == ir.AttributeType.GRAPHS:
            yield from attribute.as_graphs()


def _replace(node: ir.Node, old: int, new: int, adapter: Adapter) -> list[ir.Node]:
    schema = schema_at(node.op_type, node.domain, old)
    assert schema is not None
    bound = bind_by_schema(node, schema)
    builder = AdapterBuilder(node, new)
    made = bound.call(adapter, builder, lambda value: value)
    results = list(made) if isinstance(made, (tuple, list)) else [made]
    inherit(builder.nodes, node, by=f"upgrade:{node.op_type}-{old}-{new}")
    replaced = list(node.outputs)
    for value, result in zip(replaced, results, strict=False):
        _take_over(value, result)
    graph = node.graph
    assert graph is not None
    graph.insert_before(node, builder.nodes)
    for value, result in zip(replaced, results, strict=False):
        value.replace_all_uses_with(result, replace_graph_outputs=True)
    graph.remove(node, safe=True)
    return list(builder.nodes)


def _take_over(old: ir.Value, new: ir.Value) -> None:
    """The new value stands under the old one's name, type and shape."""
    name, old.name = old.name, None
    if new.producer() is not None:
        new.name = name
    new.type = new.type or old.type
    new.shape = new.shape or old.shape
