"""Old opsets end here: every node is raised, step by step, to the canonical version of its operator.

An adapter handles one real change between two versions of an operator:

    @upgrades("Softmax", 11, 13)
    def softmax_11_to_13(op, input, *, axis):
        ...

It is bound from the schema of the OLD version and builds with ``op`` nodes that mean what they mean at the
NEW version; those are raised further if need be. Between two versions without an adapter the node is only
relabelled: a test proves that such a change widens dtypes alone, or is named in ``RELABELS`` with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
import onnx_ir as ir
from onnx.defs import OpSchema
from onnx_ir.passes.common import InlinePass
from onnx_ir.tape import Tape

from trueport.errors import InvalidModel
from trueport.ir.build import Several
from trueport.ir.places import op_id, place
from trueport.ir.replace import replace_node
from trueport.ir.schemas import CANONICAL_OPSETS, history, schema_at
from trueport.mapping.bind import bind_by_schema, bind_by_signature
from trueport.passes.shapes import infer_shapes

__all__ = ["EXPERIMENTAL", "Adapter", "AdapterBuilder", "adapters_of", "upgrade_model", "upgrades"]

Adapter = Callable[..., Any]
_A = TypeVar("_A", bound=Adapter)
Adapters = Mapping[tuple[str, str, int], tuple[int, Adapter]]
_ATTRIBUTE = "__trueport_upgrades__"
EXPERIMENTAL = 0
"""The version of operators that ONNX had on trial, before they got a schema or went."""
_LONG_NAME = "ai.onnx"
"""The other name of the domain whose name is empty."""
_FIRST_IR_WITH_OPSETS = 3
"""Older models import no opset; they mean the first."""


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


class AdapterBuilder:
    """Builds the replacement of a node: ``op.Add(a, b)``; ``op.node`` is the old one.

    Attributes are keywords (None leaves one out); ``op.several(n)`` builds nodes of n outputs, ``domain=``
    names another domain than ONNX's own. New nodes mean what they mean at the version that the adapter leads to;
    ``op.at(13)`` builds as of opset 13, for operators that are younger than that.
    """

    def __init__(self, node: ir.Node, version: int, tape: Tape | None = None) -> None:
        self.node = node
        self._tape = Tape() if tape is None else tape
        self._version = version

    def __getattr__(self, op_type: str) -> Callable[..., ir.Value]:
        if op_type.startswith("_"):
            raise AttributeError(op_type)
        return lambda *inputs, **options: self.add_several(op_type, 1, inputs, options)[0]

    def several(self, count: int) -> Several:
        """Nodes of several outputs: ``op.several(2).TopK(x, k)`` gives a tuple of two values."""
        return Several(self, count)

    def add_several(
        self, op_type: str, count: int, inputs: Sequence[Any], options: Mapping[str, Any]
    ) -> tuple[ir.Value, ...]:
        """One node; its values."""
        attributes = {name: value for name, value in options.items() if value is not None}
        domain = attributes.pop("domain", "")
        version = self._version if domain == self.node.domain else CANONICAL_OPSETS[domain]
        while inputs and inputs[-1] is None:
            inputs = inputs[:-1]
        made = self._tape.op_multi_out(op_type, inputs, attributes, num_outputs=count, domain=domain, version=version)
        return tuple(made)

    @property
    def nodes(self) -> Sequence[ir.Node]:
        """All nodes built so far."""
        return self._tape.nodes

    def at(self, version: int) -> AdapterBuilder:
        """The same builder, for nodes as of another opset."""
        return AdapterBuilder(self.node, version, self._tape)

    def again(self, *inputs: ir.Value | None, **attributes: Any) -> Any:
        """The same operator with as many outputs as the old node has."""
        count = len(self.node.outputs)
        made = self.add_several(self.node.op_type, count, inputs, {**attributes, "domain": self.node.domain})
        return made[0] if count == 1 else made

    def wants(self, index: int) -> bool:
        """Whether the old node has this output."""
        return index < len(self.node.outputs) and bool(self.node.outputs[index].name)

    def const(self, array: Any, dtype: Any = None) -> ir.Value:
        """A constant; Python ints become int64."""
        value = np.asarray(array) if dtype is None else np.asarray(array, dtype=dtype)
        return self.Constant(value=ir.tensor(value))

    def like(self, number: float, value: ir.Value) -> ir.Value:
        """A scalar of another value's element type."""
        if value.dtype is None:
            return self.at(15).CastLike(self.const(np.float32(number)), value)
        with np.errstate(over="ignore"):
            return self.const(np.array(number).astype(value.dtype.numpy()))

    def reshape_as(self, value: ir.Value, model: ir.Value) -> ir.Value:
        """``value`` in the shape of another; a dim of 0 is a dim of 0."""
        return self.at(14).Reshape(value, self.Shape(model), allowzero=1)

    def rank(self, value: ir.Value) -> ir.Value:
        """The number of dims, as a vector of one."""
        return self.Shape(self.Shape(value))

    @staticmethod
    def known(value: ir.Value | None) -> np.ndarray | None:
        """The value of a constant; None for anything that a caller of the model can change."""
        if value is None or value.is_graph_input():
            return None
        tensor = ir.convenience.get_const_tensor(value)
        return None if tensor is None else tensor.numpy()


def upgrade_model(model: ir.Model, adapters: Adapters) -> None:
    """Raise a model, in place, to the canonical opsets; calls of its own functions are inlined on the way.

    A function may import another opset than the model, and its attributes may refer to those of the call:
    each node takes its opset along into the inlining, and is adapted when its attributes have values.
    """
    if not model.opset_imports and model.ir_version < _FIRST_IR_WITH_OPSETS:
        model.opset_imports[""] = 1
    for imports in (model.opset_imports, *(function.opset_imports for function in model.functions.values())):
        if _LONG_NAME in imports:
            imports[""] = imports.pop(_LONG_NAME)
    one_opset = all(
        model.opset_imports.get(domain, version) == version
        for function in model.functions.values()
        for domain, version in function.opset_imports.items()
    )
    _stamp(model.graph, model.opset_imports)
    for function in model.functions.values():
        _stamp(function.graph, function.opset_imports)
        function.opset_imports.update(
            {domain: model.opset_imports.get(domain, version) for domain, version in function.opset_imports.items()}
        )
    InlinePass()(model)
    model.functions.clear()  # those that are left are never called
    if one_opset and any(_first_step(node, adapters) for node in model.graph.all_nodes()):
        # Ranks and types make the adapters' results simpler; none depends on them where ONNX does not.
        infer_shapes(model)
    _upgrade_graph(model.graph, adapters)
    for node in model.graph.all_nodes():
        node.version = None
    raised = {domain: CANONICAL_OPSETS.get(domain, version) for domain, version in model.opset_imports.items()}
    model.opset_imports.update({"": CANONICAL_OPSETS[""]} | raised)


def _stamp(graph: ir.Graph, opsets: Mapping[str, int]) -> None:
    for node in graph.all_nodes():
        node.version = opsets.get(node.domain)


def _upgrade_graph(graph: ir.Graph, adapters: Adapters) -> None:
    for node in list(graph):
        _upgrade_node(node, adapters)


def _upgrade_node(node: ir.Node, adapters: Adapters) -> None:
    for subgraph in _subgraphs(node):
        _upgrade_graph(subgraph, adapters)
    step = _first_step(node, adapters)
    if step is None:
        node.version = CANONICAL_OPSETS.get(node.domain)
        return
    old, new, adapter = step
    for made in _replace(node, old, new, adapter):
        _upgrade_node(made, adapters)


def _first_step(node: ir.Node, adapters: Adapters) -> tuple[OpSchema | None, int, Adapter] | None:
    """The next real change on a node's way up: the schema it follows there, the version after it, the adapter."""
    if node.version is None:
        return None
    versions = history(node.op_type, node.domain)
    schema = schema_at(node.op_type, node.domain, node.version)
    if schema is None:
        experimental = adapters.get((node.domain, node.op_type, EXPERIMENTAL))
        if experimental is not None:
            return None, *experimental
        if not versions:
            return None
        raise InvalidModel(
            f"{op_id(node)} does not exist in opset {node.version}",
            where=place(node),
            remedy=f"it came with opset {versions[0].since_version}; raise the model's opset_import",
        )
    for old in versions:
        step = adapters.get((node.domain, node.op_type, old.since_version))
        # The version is asked too: an onnx older than the canonical opset has no schema for where the last step led.
        if step is not None and old.since_version >= schema.since_version and node.version < step[0]:
            return old, *step
    return None


def _subgraphs(node: ir.Node) -> Iterable[ir.Graph]:
    for attribute in node.attributes.values():
        if attribute.type == ir.AttributeType.GRAPH:
            yield attribute.as_graph()
        elif attribute.type == ir.AttributeType.GRAPHS:
            yield from attribute.as_graphs()


def _replace(node: ir.Node, old: OpSchema | None, new: int, adapter: Adapter) -> list[ir.Node]:
    bound = bind_by_schema(node, old) if old else bind_by_signature(node, adapter)
    builder = AdapterBuilder(node, new)
    made = bound.call(adapter, builder, lambda value: value)
    results = list(made) if isinstance(made, (tuple, list)) else [made]
    base = next((value.name for value in node.outputs if value.name), op_id(node))
    _name(builder.nodes, results, f"{base}.{new}", node.name)
    by = f"upgrade:{node.op_type}-{old.since_version if old else EXPERIMENTAL}-{new}"
    replace_node(node, results, builder.nodes, by=by)
    return list(builder.nodes)


def _name(nodes: Iterable[ir.Node], results: Sequence[ir.Value], base: str, name: str | None) -> None:
    """Names that no other graph of the model uses, for inner values and the nodes that make them."""
    inner = 0
    for node in nodes:
        made = [value for value in node.outputs if value not in results]
        for value in made:
            value.name = f"{base}.{inner}"
            inner += 1
        node.name = f"{name}.{base}.{inner}" if name and len(made) == len(node.outputs) else name
