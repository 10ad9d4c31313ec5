"""Which nodes a GPU would leave to the CPU, from a stored table: TensorFlow is not loaded.

``devices.json`` holds what TensorFlow's kernel registry says of the operators that this backend emits. It is written by
``make devices``. Nothing in it was run on a GPU.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

import onnx_ir as ir

from trueport.ir.places import op_id
from trueport.ir.ports import Port
from trueport.ir.schemas import canonical_schema
from trueport.mapping.bind import attribute_defaults, attribute_value

__all__ = ["ABSENT", "CHOOSING", "CpuOnly", "Devices", "devices", "port_traits", "signature_op", "traits"]

ABSENT = "absent"
"""the value of a trait that a node does not have"""
CHOOSING = frozenset({"direction", "fmod", "largest", "mode", "nearest_mode", "reduction", "storage_order"})
"""Attributes that choose one of a few algorithms. Others (axes, sizes) would seem to decide where cases are few."""


@dataclass(frozen=True)
class CpuOnly:
    """Nodes of one ONNX operator for which operations without a GPU kernel are emitted."""

    op: str
    when: Mapping[str, str]
    """the traits that decide it, with their values; empty if all nodes of the operator are meant"""
    kernels: tuple[str, ...]
    """TensorFlow operators with the types for which no GPU kernel is registered: ``TopKV2 (index_type=int64)``"""
    always: bool
    """False if only some of the nodes with these traits emit them"""

    def covers(self, found: Mapping[str, str]) -> bool:
        """True if a node with these traits is meant."""
        return all(found.get(name, ABSENT) == value for name, value in self.when.items())


@dataclass(frozen=True)
class Devices:
    """The stored table."""

    tensorflow: str
    """the release whose registry was read"""
    operators: Mapping[str, Mapping[str, tuple[str, ...]]]
    """emitted TensorFlow operators: ``gpu``, ``host`` (a GPU kernel in host memory) or ``cpu``, each with its types"""
    cpu_only: tuple[CpuOnly, ...]
    collected: Mapping[str, tuple[str, ...]]
    """ONNX operators that were converted for it, with the types of their first type parameter"""

    @functools.cached_property
    def by_op(self) -> Mapping[str, tuple[CpuOnly, ...]]:
        """The entries of each ONNX operator."""
        return {fact.op: tuple(f for f in self.cpu_only if f.op == fact.op) for fact in self.cpu_only}

    def of_node(self, node: ir.Node) -> tuple[CpuOnly, ...]:
        """What is recorded of nodes like this one; empty if all operations have GPU kernels, or if none is known."""
        facts = self.by_op.get(op_id(node), ())
        found = traits(node) if facts else {}
        return tuple(fact for fact in facts if fact.covers(found))

    def of_port(self, port: Port, role: str) -> tuple[CpuOnly, ...]:
        """The same for an ``input`` or ``output`` of the model."""
        found = port_traits(port)
        return tuple(fact for fact in self.by_op.get(signature_op(role), ()) if fact.covers(found))


@functools.cache
def devices() -> Devices:
    """Read the table that is part of the package."""
    stored = json.loads(resources.files(__package__).joinpath("devices.json").read_text(encoding="utf-8"))
    return Devices(
        stored["tensorflow"],
        {op: {place: tuple(types) for place, types in found.items()} for op, found in stored["operators"].items()},
        tuple(CpuOnly(f["op"], f["when"], tuple(f["kernels"]), f["always"]) for f in stored["cpu_only"]),
        {op: tuple(types) for op, types in stored["collected"].items()},
    )


def signature_op(role: str) -> str:
    """The name under which the table keeps what inputs or outputs emit, which belongs to no node."""
    return f"({role})"


def port_traits(port: Port) -> dict[str, str]:
    """What decides which operations an input or output emits."""
    return {"kind": port.kind, "dtype": port.dtype}


def traits(node: ir.Node) -> dict[str, str]:
    """What may decide which operations a node emits, most telling first.

    Types by the schema's type parameters, those of optional inputs and outputs if they are there; attributes that
    choose an algorithm.
    """
    return {**_types(node), **_attributes(node)}


def _types(node: ir.Node) -> dict[str, str]:
    schema = canonical_schema(node.op_type, node.domain)
    if schema is None:
        return {f"input {i}": v.dtype.name for i, v in enumerate(node.inputs) if v is not None and v.dtype}
    parameters = {constraint.type_param_str for constraint in schema.type_constraints}
    found: dict[str, str] = {}
    for values, declared in ((node.inputs, schema.inputs), (node.outputs, schema.outputs)):
        for index, value in enumerate(values):
            parameter = declared[min(index, len(declared) - 1)].type_str
            if value is not None and value.dtype is not None and parameter in parameters:
                found.setdefault(parameter, value.dtype.name)
    return found


def _attributes(node: ir.Node) -> dict[str, str]:
    schema = canonical_schema(node.op_type, node.domain)
    values: dict[str, Any] = attribute_defaults(schema) if schema is not None else {}
    values |= {name: attribute_value(attribute) for name, attribute in node.attributes.items()}
    return {name: str(value) for name, value in values.items() if name in CHOOSING}
