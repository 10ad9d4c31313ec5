"""Old opsets end here: every node is raised, step by step, to the canonical version of its operator.

The engine is :mod:`trueport.passes.opset_steps`. An adapter, ``@upgrades("Softmax", 11, 13)``, is bound from the
schema of the OLD version and builds with ``op`` nodes that mean what they mean at the NEW version. Between two versions
without an adapter the node is only relabelled: a test proves that such a change widens dtypes alone, or is named in
``RELABELS`` with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
from onnx.defs import OpSchema
from onnx_ir.passes.common import InlinePass
from onnx_ir.tape import Tape

from trueport.errors import InvalidModel
from trueport.ir.build import Several
from trueport.ir.places import op_id, place
from trueport.ir.replace import replace_node
from trueport.ir.schemas import CANONICAL_OPSETS, history
from trueport.passes.opset_steps import ABSENT, Course, Direction
from trueport.passes.shapes import infer_shapes

__all__ = ["EXPERIMENTAL", "UP", "AdapterBuilder", "upgrade_model", "upgrades"]

UP = Direction("trueport.passes.upgrade", is_up=True)
upgrades = UP.step
"""Declare an adapter from a version of an operator to the next in its history."""
EXPERIMENTAL = ABSENT
"""The version of operators that ONNX had on trial, before they got a schema or went."""
_LONG_NAME = "ai.onnx"
"""The other name of the domain whose name is empty."""
_FIRST_IR_WITH_OPSETS = 3
"""Older models import no opset; they mean the first."""


class AdapterBuilder:
    """Builds the replacement of a node: ``op.Add(a, b)``; ``op.node`` is the old one.

    Attributes are keywords (None leaves one out); ``op.several(n)`` builds nodes of n outputs, ``domain=``
    names another domain than ONNX's own. New nodes mean what they mean at the version that the adapter leads to;
    ``op.at(13)`` builds as of opset 13, for operators that are younger than that.
    """

    def __init__(self, node: ir.Node, version: int, tape: Tape | None = None, start: int = ABSENT) -> None:
        self.node = node
        self._tape = Tape() if tape is None else tape
        self._version, self._start = version, start

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
    def made(self) -> Sequence[ir.Node]:
        """All nodes built so far."""
        return self._tape.nodes

    def finish(self, results: Sequence[ir.Value | None]) -> None:
        """Put the nodes in the old one's place, under names that no other graph of the model uses."""
        old = self.node
        base = f"{next((value.name for value in old.outputs if value.name), op_id(old))}.{self._version}"
        inner = 0
        for node in self.made:
            values = [value for value in node.outputs if value not in results]
            for value in values:
                value.name = f"{base}.{inner}"
                inner += 1
            node.name = f"{old.name}.{base}.{inner}" if old.name and len(values) == len(node.outputs) else old.name
        replace_node(old, results, self.made, by=f"upgrade:{old.op_type}-{self._start}-{self._version}")

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


def upgrade_model(model: ir.Model) -> None:
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
    course = _Upgrading(CANONICAL_OPSETS)
    if one_opset and any(map(course.changes, model.graph.all_nodes())):
        # Ranks and types make the adapters' results simpler; none depends on them where ONNX does not.
        infer_shapes(model)
    course.walk(model.graph)
    for node in model.graph.all_nodes():
        node.version = None
    raised = {domain: CANONICAL_OPSETS.get(domain, version) for domain, version in model.opset_imports.items()}
    model.opset_imports.update({"": CANONICAL_OPSETS[""]} | raised)


def _stamp(graph: ir.Graph, opsets: Mapping[str, int]) -> None:
    for node in graph.all_nodes():
        node.version = opsets.get(node.domain)


class _Upgrading(Course):
    direction = UP

    def replacement(self, node: ir.Node, schema: OpSchema | None, end: int) -> AdapterBuilder:
        return AdapterBuilder(node, end, start=schema.since_version if schema else EXPERIMENTAL)

    def relabel(self, node: ir.Node, schema: OpSchema | None, following: OpSchema | None) -> None:
        """Leave the node as it is: a test proves that it means the same; an operator must be there at its opset."""
        versions = history(node.op_type, node.domain)
        if schema is None and versions:
            raise InvalidModel(
                f"{op_id(node)} does not exist in opset {node.version}",
                where=place(node),
                remedy=f"it came with opset {versions[0].since_version}; raise the model's opset_import",
            )

    def arrive(self, node: ir.Node, *, is_noted: bool) -> Iterable[ir.Node]:
        node.version = CANONICAL_OPSETS[node.domain]
        return ()

    def changes(self, node: ir.Node) -> bool:
        """True if an adapter changes the node."""
        for schema, following in UP.path(node, self.wanted[node.domain]) if node.domain in self.wanted else ():
            if UP.adapter(node, schema) is not None:
                return True
            self.relabel(node, schema, following)
        return False
