"""Collect which TensorFlow operations each ONNX node emits, and which of them have no kernel for a device.

Models are traced, not run. Every node of the canonical graph is named by its number before it is traced; TensorFlow's
name scopes then say which node an operation belongs to. Operations in the body of a branch or loop belong to the node
that emitted the branch or loop, unless they have a scope of their own.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import onnx

from tests.conformance import suite
from tests.conformance.single_nodes import SINGLE_NODES
from tests.devices.kernels import find_kernel, is_in_host_memory, lacking_types, main_type, types_of
from tests.devices.variants import copied, is_newest, operator_of, variants_of
from trueport.backends.tensorflow.target import TensorflowTarget
from trueport.checking.assess import refuse_unsupported
from trueport.checking.devices import CHOOSING, port_traits, signature_op, traits
from trueport.errors import TrueportError
from trueport.ir.places import op_id
from trueport.runtimes.tensorflow_functions import FunctionLibrary
from trueport.sources.open import open_source

__all__ = ["Collected", "Instance", "collect"]

_SCOPE = re.compile(r"onnx\.(\d+)(_\d+)?(/|$)")
_PLAIN = ("tensor", "pair")
INPUT, OUTPUT = "input", "output"


class Instance(NamedTuple):
    """A node (or an input or output of the model), and its operations without a GPU kernel."""

    op: str
    traits: tuple[tuple[str, str], ...]
    cpu_only: frozenset[str]


@dataclass
class Collected:
    """What was found in all models."""

    instances: set[Instance] = field(default_factory=set)
    operators: dict[str, dict[str, set[str]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(set)))
    """TensorFlow operators: types by ``gpu``, ``host`` or ``cpu``"""
    without_cpu: set[str] = field(default_factory=set)
    """operations that no CPU kernel takes, each with the model it comes from"""
    failed: dict[str, str] = field(default_factory=dict)
    """variants that were refused, with the reason"""

    def add(self, model: onnx.ModelProto, label: str) -> frozenset[str]:
        """Convert a model and record its operations; returns the TensorFlow operators that it emits."""
        target = TensorflowTarget((), TensorflowTarget.Options())
        plan = target.plan(open_source(model).to_ir())
        refuse_unsupported(plan.findings)
        nodes = list(plan.model.graph.all_nodes())
        for number, node in enumerate(nodes):
            node.name = f"onnx.{number}"
        built = target.build(plan)
        found: dict[int | str, set[tuple[str, str]]] = defaultdict(set)
        emitted = set()
        for owner, operation in _operations(built.traced.function.graph, INPUT, FunctionLibrary(), set()):
            emitted.add(operation.type)
            if without := self._without_gpu(operation.node_def, label):
                found[owner].add((operation.name, without))
        for number, node in enumerate(nodes):
            self._record(op_id(node), traits(node), (text for _, text in found[number]))
        parts = {part for port in (*built.inputs, *built.outputs) for part in port.parts}
        for role, ports in ((INPUT, built.inputs), (OUTPUT, built.outputs)):
            for port in ports:
                # Operations outside of all nodes: the output of that name, or the packing of a sequence or map.
                named = {text for name, text in found[INPUT] | found[OUTPUT] if name in port.parts}
                packed = {text for name, text in found[role] if name not in parts and port.kind not in _PLAIN}
                self._record(signature_op(role), port_traits(port), named | packed)
        return frozenset(emitted)

    def _record(self, op: str, found: Mapping[str, str], cpu_only: Iterable[str]) -> None:
        self.instances.add(Instance(op, tuple(found.items()), frozenset(cpu_only)))

    def _without_gpu(self, node: Any, label: str) -> str:
        """Record an operation; returns it with the types that no GPU kernel takes, or nothing if there is a kernel."""
        if find_kernel(node, "CPU") is None:
            self.without_cpu.add(f"{node.op} ({types_of(node)}) in {label}")
        kernel = find_kernel(node, "GPU")
        if kernel is not None:
            self.operators[node.op]["host" if is_in_host_memory(node.op, kernel) else "gpu"].add(main_type(node))
            return ""
        types = lacking_types(node, "GPU")
        self.operators[node.op]["cpu"].add(types)
        return f"{node.op} ({types})" if types else str(node.op)


def _operations(
    graph: Any, owner: int | str, library: FunctionLibrary, seen: set[tuple[str, int | str]]
) -> Iterator[tuple[int | str, Any]]:
    """All operations with the numbers of the ONNX nodes that emitted them.

    Those outside of all nodes belong to the model's inputs, and after the first node to its outputs.
    """
    for operation in graph.get_operations():
        scope = _SCOPE.match(operation.name)
        own = int(scope[1]) if scope else owner
        owner = OUTPUT if scope and owner == INPUT else owner
        yield own, operation
        for name in _called(operation):
            if (name, own) not in seen:
                seen.add((name, own))
                yield from _operations(library.body(graph, name), own, library, seen)


def _called(operation: Any) -> list[str]:
    """Names of the functions that an operation runs."""
    attributes = operation.node_def.attr.values()
    single = [a.func.name for a in attributes if a.WhichOneof("value") == "func"]
    return single + [f.name for a in attributes if a.WhichOneof("value") == "list" for f in a.list.func]


def collect(only: Collection[str] | None = None) -> Collected:
    """Convert the suite and variants of its cases; ``only`` these ONNX operators, in models of one node."""
    found = Collected()
    emitted: dict[str, dict[str, frozenset[str]]] = defaultdict(dict)
    for name, case in suite.cases().items():
        model = suite.model_of(case)
        op = operator_of(model)
        if only is None or op in only:
            operators = found.add(copied(model), name)
            if op is not None and is_newest(model):
                emitted[op][name] = operators | _choices(model.graph.node[0])
    for name, make in SINGLE_NODES.items():
        if only is None or name.split()[0] in only:
            found.add(make().model, name)
    for cases in emitted.values():
        for name in _covering(cases):
            _add_variants(found, name)
    return found


def _add_variants(found: Collected, name: str) -> None:
    for number, model in enumerate(variants_of(name)):
        try:
            found.add(model, f"{name}, variant {number}")
        except TrueportError as error:
            found.failed[f"{name}, variant {number}"] = f"{type(error).__name__}: {error}"


def _choices(node: onnx.NodeProto) -> frozenset[str]:
    """The attributes that choose an algorithm, as text."""
    return frozenset(f"{a.name}={onnx.helper.get_attribute_value(a)}" for a in node.attribute if a.name in CHOOSING)


def _covering(cases: dict[str, frozenset[str]]) -> list[str]:
    """A few cases that together emit every TensorFlow operator and choose every algorithm that all of them do."""
    missing = frozenset().union(*cases.values())
    chosen: list[str] = []
    while missing:
        best = max(sorted(cases), key=lambda name: len(cases[name] & missing))
        chosen.append(best)
        missing -= cases[best]
    return chosen
