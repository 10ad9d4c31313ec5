"""From the canonical opset down to an older one: every node is taken back, step by step, to the version in force there.

The engine is :mod:`trueport.passes.opset_steps`. An adapter, ``@downgrades("Split", 18, 13)``, undoes one real change
and is bound from the schema of the NEW version. ``op.again(...)`` builds the operator at the OLD version; all other
nodes are built at the canonical opset and taken back in turn, so an adapter may use any operator that can be. An
operator that did not exist has an adapter to version ``ABSENT``, or ONNX's own function body takes its place. Between
two versions without an adapter the node is only relabelled, if it uses nothing that the old one lacks; a test shows
that such a step changes nothing else. Types that the old version does not take are widened
(:mod:`trueport.ir.widening`). What has no form at the wanted opset is refused, all such nodes at once.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir
from onnx.checker import ValidationError
from onnx.defs import OpSchema

from trueport.errors import ConversionError
from trueport.ir.build import Builder, known_array
from trueport.ir.insert import Inserter, Workshop
from trueport.ir.places import op_id, place
from trueport.ir.provenance import MADE_BY
from trueport.ir.replace import replace_node
from trueport.ir.schemas import CANONICAL_OPSETS, canonical_schema, history, schema_at
from trueport.ir.widening import Signature, allows, widen
from trueport.mapping.bind import attribute_defaults, attribute_value
from trueport.passes.lower.relabels import NO_FORM
from trueport.passes.lower.times import opset_with
from trueport.passes.opset_steps import ABSENT, Adapter, Course, Direction

__all__ = [
    "ABSENT",
    "DOWN",
    "Change",
    "Downgrade",
    "downgrades",
    "lower_nodes",
    "needs_body",
    "probe_nodes",
]

DOWN = Direction("trueport.passes.lower", is_up=False)
downgrades = DOWN.step
"""Declare an adapter from a version of an operator to the one before it."""
_USES_NEW = "it uses what came with it"


class Downgrade(Inserter):
    """What an adapter holds: builds nodes before the one that it replaces, which is ``op.node``."""

    def __init__(self, shop: Builder, node: ir.Node, new: OpSchema, old: int) -> None:
        super().__init__(shop, node)
        self._new, self._old = new.since_version, old
        self.metadata[MADE_BY] = f"lower:{node.op_type}-{self._new}-{old}"

    def again(self, *inputs: Any, **attributes: Any) -> Any:
        """The same operator at the old version, with as many outputs as the node has."""
        count = len(self.node.outputs)
        stated = {name: value for name, value in attributes.items() if not self._is_implied(name, value)}
        made = self._at_the_old_version(self.node.op_type, count, inputs, {**stated, "domain": self.node.domain})
        return made[0] if count == 1 else made

    def _is_implied(self, name: str, value: Any) -> bool:
        """True for a value that the old version takes by itself, where the node did not state it either."""
        schema = schema_at(self.node.op_type, self.node.domain, self._old)
        if schema is None or value is None or name in self.node.attributes:
            return False
        return bool(attribute_defaults(schema).get(name) == value)

    def older(self, op_type: str, inputs: Sequence[Any], options: Mapping[str, Any]) -> ir.Value:
        """Any operator at the old version."""
        return self._at_the_old_version(op_type, 1, inputs, options)[0]

    def _at_the_old_version(
        self, op_type: str, count: int, inputs: Sequence[Any], options: Mapping[str, Any]
    ) -> tuple[ir.Value, ...]:
        before = len(self.made)
        made = self.add_several(op_type, count, inputs, options)
        for node in self.made[before:]:
            node.version = self._old
            if node.op_type == self.node.op_type:  # marks on the node hold for it: its line, ties that are open
                node.metadata_props.update({**self.node.metadata_props, **node.metadata_props})
        return made

    def _infer(self, node: ir.Node, schema: OpSchema | None) -> None:
        same = node.op_type == self.node.op_type and node.domain == self.node.domain and self._old != ABSENT
        try:
            super()._infer(node, schema_at(node.op_type, node.domain, self._old) if same else schema)
        except ValidationError:
            # A type that the old version does not take is seen to when the node stands.
            if not same:
                raise
        if same and any(value.type is None for value in node.outputs):
            for value, before in zip(node.outputs, self.node.outputs, strict=False):
                value.type, value.shape = before.type, before.shape

    def known(self, value: ir.Value | None) -> np.ndarray | None:
        """The array of a constant."""
        return known_array(value)

    def rank(self, value: ir.Value) -> int:
        """The number of dims; refused where it is not known."""
        if value.shape is None:
            raise self.fail(f"the rank of {value.name!r} must be known")
        return len(value.shape)

    def dim(self, value: ir.Value, axis: int) -> int | None:
        """A dim's length, None where it is open."""
        found = None if value.shape is None else value.shape[axis]
        return found if isinstance(found, int) else None

    def need(self, value: ir.Value | None, what: str) -> np.ndarray:
        """The array of a constant; refused for anything else."""
        found = known_array(value)
        if found is None:
            raise self.fail(f"{what} must be a constant")
        return found

    def wants(self, index: int) -> bool:
        """Whether the node has this output."""
        return index < len(self.node.outputs) and bool(self.node.outputs[index].name)

    def fail(self, why: str) -> ConversionError:
        """The refusal of this node."""
        return _refusal(self.node, self._new, why)

    def finish(self, results: Sequence[ir.Value | None]) -> None:
        """Let values that are made here stand for the node's outputs; the first one's node has the node's name."""
        here = [value if value is None or value.producer() in self.made else self.Identity(value) for value in results]
        if (maker := here[0].producer() if here and here[0] is not None else None) is not None:
            maker.name = self.node.name
        replace_node(self.node, here)


@dataclass(frozen=True)
class Change:
    """A node that is not the same operator on the same types at an older opset."""

    node: ir.Node
    opset: int
    """of the main domain: the first at which this change is not made"""
    widened: bool
    """whether only its types are wider; otherwise other operators take its place"""


class _Lowering(Course):
    direction = DOWN

    def __init__(self, model: ir.Model, wanted: Mapping[str, int]) -> None:
        super().__init__(wanted)
        self.refusals: list[ConversionError] = []
        self.changes: list[Change] = []
        self._shop = Workshop(model)
        self.walk(model.graph)

    def replacement(self, node: ir.Node, schema: OpSchema | None, end: int) -> Downgrade:
        assert schema is not None
        return Downgrade(self._shop, node, schema, end)

    def replace(self, node: ir.Node, schema: OpSchema | None, end: int, adapter: Adapter) -> Sequence[ir.Node]:
        try:
            return super().replace(node, schema, end, adapter)
        except ValidationError as error:
            assert schema is not None
            why = f"what would take its place does not take {_types(node)}"
            raise _refusal(node, schema.since_version, why) from error

    def note_change(self, node: ir.Node, schema: OpSchema | None) -> None:
        assert schema is not None
        self.changes.append(Change(node, opset_with(node.domain, schema.since_version), widened=False))

    def relabel(self, node: ir.Node, schema: OpSchema | None, following: OpSchema | None) -> None:
        """Make a node of the new version one of the old; refused if it uses what the old one lacks."""
        assert schema is not None
        if following is None or not _uses_only(node, schema, following):
            raise _refusal(node, schema.since_version, NO_FORM.get((node.domain, node.op_type), _USES_NEW))
        for name in set(node.attributes) - set(following.attributes):
            del node.attributes[name]
        before, after = attribute_defaults(following), attribute_defaults(schema)
        for name in set(before) & set(after) - set(node.attributes):
            if repr(before[name]) != repr(after[name]) and after[name] is not None:
                node.attributes[name] = ir.serde.deserialize_attribute(schema.attributes[name].default_value)

    def arrive(self, node: ir.Node, *, is_noted: bool) -> Iterable[ir.Node]:
        """Widen types that the old version does not take; return the casts."""
        schema = schema_at(node.op_type, node.domain, self.wanted[node.domain])
        if schema is None or allows(node, schema, signature := _signature(schema)):
            return ()
        version = _first_with_types(node, schema.since_version)
        casts = widen(node, schema, [signature], self._shop)
        if casts is None:
            raise _refusal(node, version, f"{op_id(node)} does not take {_types(node)}")
        if not is_noted:
            self.changes.append(Change(node, opset_with(node.domain, version), widened=True))
        return casts


def lower_nodes(model: ir.Model, wanted: Mapping[str, int]) -> None:
    """Take every node back to the wanted opset of its domain; bodies have taken their operators' places before."""
    lowering = _Lowering(model, wanted)
    for node in model.graph.all_nodes():
        node.version = None
    if len(lowering.refusals) == 1:
        raise lowering.refusals[0]
    if lowering.refusals:
        raise ConversionError(
            "\n".join(
                [f"{len(lowering.refusals)} nodes have no form at the wanted opset:", *_lines(lowering.refusals)]
            ),
            remedy="ask for a newer opset",
        )


def probe_nodes(model: ir.Model, wanted: Mapping[str, int]) -> tuple[list[Change], list[ConversionError]]:
    """Return what :func:`lower_nodes` would change and what it would refuse; the model is spent afterwards."""
    lowering = _Lowering(model, wanted)
    return lowering.changes, lowering.refusals


def _lines(errors: Iterable[ConversionError]) -> Iterator[str]:
    return (f"  {error.where}: {error.why}" for error in errors)


def _refusal(node: ir.Node, version: int, why: str) -> ConversionError:
    opset = opset_with(node.domain, version)
    return ConversionError(
        f"has no form before opset {opset}: {why}", where=place(node), remedy=f"ask for opset {opset} or newer"
    )


def _uses_only(node: ir.Node, new: OpSchema, old: OpSchema) -> bool:
    if old.deprecated:
        return False
    variadic = bool(old.inputs) and old.inputs[-1].option == OpSchema.FormalParameterOption.Variadic
    extra_inputs = [] if variadic else [value for value in node.inputs[len(old.inputs) :] if value is not None]
    many = bool(old.outputs) and old.outputs[-1].option == OpSchema.FormalParameterOption.Variadic
    extra_outputs = [] if many else [value for value in node.outputs[len(old.outputs) :] if value.name]
    canonical = canonical_schema(node.op_type, node.domain)
    defaults = (attribute_defaults(canonical) if canonical else {}) | attribute_defaults(new)
    strange = [
        name
        for name, attribute in node.attributes.items()
        if name not in old.attributes and attribute_value(attribute) != defaults[name]
    ]
    return not (extra_inputs or extra_outputs or strange)


def _signature(schema: OpSchema) -> Signature:
    return _signature_of(schema.name, schema.domain, schema.since_version)


@functools.cache
def _signature_of(op: str, domain: str, version: int) -> Signature:
    schema = schema_at(op, domain, version)
    assert schema is not None
    variables = {item.type_param_str: frozenset(item.allowed_type_strs) for item in schema.type_constraints}
    fixed = {parameter.type_str for parameter in (*schema.inputs, *schema.outputs)} - set(variables)
    return variables | {name: frozenset({name}) for name in fixed}


def _types(node: ir.Node) -> str:
    return " and ".join(dict.fromkeys(str(value.type) for value in node.inputs if value is not None))


def _first_with_types(node: ir.Node, after: int) -> int:
    later = [schema for schema in history(node.op_type, node.domain) if schema.since_version > after]
    fitting = [schema.since_version for schema in later if allows(node, schema, _signature(schema))]
    return min(fitting, default=CANONICAL_OPSETS[node.domain])


def needs_body(node: ir.Node, wanted: Mapping[str, int]) -> bool:
    """Whether a node can't be taken back as it is, so that the function body of its operator is to be tried."""
    opset = wanted.get(node.domain)
    if opset is None:
        return False
    for schema, before in DOWN.path(node, opset):
        if DOWN.adapter(node, schema) is not None:
            return False
        if schema is None or before is None or not _uses_only(node, schema, before):
            return True
    return False
