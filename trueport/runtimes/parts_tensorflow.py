"""Parts of TensorFlow graphs: cut out with the variables they use and no others, written as a SavedModel."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trueport.ir.artifact import InnerValue
from trueport.lazy import LazyModule

__all__ = ["Cut", "count_nodes", "part_weights", "replace_weights", "run_part", "write_part"]

tf: Any = LazyModule("tensorflow", "TensorFlow", "tensorflow")
_WEIGHTS = Path("assets.extra", "weights.json")
_PLAIN = frozenset({"Const", "Identity", "NoOp", "Placeholder", "ReadVariableOp"})


@dataclass(frozen=True)
class Cut:
    """What is cut out of a traced function."""

    traced: Any
    given: Mapping[str, InnerValue]
    """values that the part takes, by the source's names"""
    outer: Mapping[str, str]
    """inputs of the model that it takes: the source's name, and the placeholder's"""
    constants: Mapping[str, np.ndarray]
    """what the other placeholders hold, by their names"""
    wanted: InnerValue
    weights: Mapping[str, tuple[str, tuple[int, ...] | None]]
    """variables by name: the initializer that each was, and its order of axes"""


def write_part(cut: Cut, specs: Mapping[str, tuple[Sequence[int], Any]], place: Path) -> None:
    """A SavedModel whose ``part`` takes the given values in the order of their names."""
    names = sorted(specs)
    stops = {value.tensor for value in cut.given.values()}
    needed = _needed(cut.traced.graph, cut.wanted.tensor, stops)
    held = _held(cut, needed)
    definition = _definition(cut.traced.graph, needed, held)

    def part(*arrays: Any) -> Any:
        by_name = dict(zip(names, arrays, strict=True))
        fed = {placeholder: by_name[name] for name, placeholder in cut.outer.items() if name in by_name}
        fed |= {name: tf.constant(array) for name, array in cut.constants.items() if name not in fed}
        fed |= {
            value.tensor: tf.transpose(by_name[name], value.perm) if value.perm else by_name[name]
            for name, value in cut.given.items()
        }
        fed |= {tensor: weight.read() for tensor, weight in held.items()}
        used = _inputs_of(definition)
        mapped = {name: tensor for name, tensor in fed.items() if name in used}
        if cut.wanted.tensor in fed:
            made = fed[cut.wanted.tensor]
        else:
            wanted = [cut.wanted.tensor]
            made = tf.graph_util.import_graph_def(definition, input_map=mapped, return_elements=wanted, name="")[0]
        return tf.transpose(made, np.argsort(cut.wanted.perm)) if cut.wanted.perm else made

    module = tf.Module()
    module.part = tf.function(part, input_signature=[_spec(*specs[name]) for name in names], autograph=False)
    known = {weight.initializer: weight.variable for weight in held.values() if weight.initializer}
    module.weights = [known[name] for name in sorted(known)]
    module.others = [weight.variable for weight in held.values() if not weight.initializer]
    tf.saved_model.save(module, str(place))
    _note(place, sorted(known))


def _spec(shape: Sequence[int], dtype: Any) -> Any:
    return tf.TensorSpec(shape, tf.string if np.dtype(dtype).kind in "OUS" else dtype)


@dataclass(frozen=True)
class _Weight:
    variable: Any
    initializer: str
    """empty where it is not known, or can't be told"""
    perm: tuple[int, ...] | None
    handle: bool

    def read(self) -> Any:
        if self.handle:
            return tf.compat.v1.get_default_graph().capture(self.variable.handle)
        return tf.transpose(self.variable, self.perm) if self.perm else self.variable.read_value()


def _held(cut: Cut, needed: set[Any]) -> dict[str, _Weight]:
    """New variables for those that the part uses, by the tensors that stand for them.

    One that is only read is kept in the source's order of axes, so that it can be given another value later.
    """
    graph = cut.traced.graph
    captured = cut.traced.captured_inputs
    placeholders = graph.inputs[len(graph.inputs) - len(captured) :]
    variables = {id(v.handle): v for v in cut.traced.variables}
    found: dict[str, _Weight] = {}
    for inside, outside in zip(placeholders, captured, strict=True):
        users = [op for op in inside.consumers() if op in needed]
        if not users:
            continue
        variable = variables.get(id(outside))
        if variable is None:
            found[inside.name] = _Weight(tf.Variable(outside), "", None, False)
            continue
        initializer, perm = cut.weights.get(variable.name.split(":")[0], ("", None))
        reads = all(op.type == "ReadVariableOp" for op in users)
        array = variable.numpy()
        if not reads:
            name = "" if perm else initializer
            found[inside.name] = _Weight(tf.Variable(array, trainable=variable.trainable), name, None, True)
            continue
        weight = _Weight(tf.Variable(array.transpose(np.argsort(perm)) if perm else array), initializer, perm, False)
        found.update((op.outputs[0].name, weight) for op in users)
    return found


def _needed(graph: Any, wanted: str, stops: Iterable[str]) -> set[Any]:
    """Operations that make a tensor, without those behind the ones that are given."""
    seen: set[Any] = set()
    waiting = [graph.get_tensor_by_name(wanted)]
    ends = set(stops)
    while waiting:
        tensor = waiting.pop()
        if tensor.name in ends or tensor.op in seen:
            continue
        seen.add(tensor.op)
        waiting += list(tensor.op.inputs)
    return seen


def _definition(graph: Any, needed: set[Any], given: Collection[str]) -> Any:
    whole = graph.as_graph_def()
    kept = {op.name for op in needed if op.type != "Placeholder" and op.outputs[0].name not in given}
    part = tf.compat.v1.GraphDef(versions=whole.versions)
    for node in whole.node:
        if node.name in kept:
            copy = part.node.add()
            copy.CopyFrom(node)
            # What only orders operations may lie outside of the part.
            data = [name for name in node.input if not name.startswith("^")]
            del copy.input[:]
            copy.input.extend(data)
            # Where it was to be computed may be said by an operation outside of the part, too.
            copy.attr.pop("_class", None)
    used = _called(part.node, {function.signature.name: function for function in whole.library.function})
    part.library.function.extend(function for function in whole.library.function if function.signature.name in used)
    part.library.gradient.extend(g for g in whole.library.gradient if g.function_name in used)
    return part


def _called(nodes: Iterable[Any], functions: Mapping[str, Any]) -> set[str]:
    """Functions that nodes call, and those that these call."""
    found: set[str] = set()
    waiting = list(nodes)
    while waiting:
        for value in waiting.pop().attr.values():
            names = [value.func.name, *(f.name for f in value.list.func)]
            for name in names:
                if name in functions and name not in found:
                    found.add(name)
                    waiting += list(functions[name].node_def)
    return found


def _inputs_of(definition: Any) -> set[str]:
    return {name if ":" in name else f"{name}:0" for node in definition.node for name in node.input}


def _note(place: Path, names: Sequence[str]) -> None:
    (place / _WEIGHTS).parent.mkdir(exist_ok=True)
    (place / _WEIGHTS).write_text(json.dumps(list(names)), encoding="utf-8")


def run_part(place: Path, arrays: Sequence[np.ndarray]) -> np.ndarray:
    """The part's result; inputs in the order of their names."""
    loaded = tf.saved_model.load(str(place))  # a function knows its variables by weak references only
    return np.asarray(loaded.part(*(tf.constant(array) for array in arrays)).numpy())


def part_weights(place: Path) -> dict[str, np.ndarray] | None:
    """Weights by the source's names, and constants of the graph by their own; None where it has others as well."""
    loaded = tf.saved_model.load(str(place))
    if len(loaded.others):
        return None
    names = json.loads((place / _WEIGHTS).read_text(encoding="utf-8"))
    operations = loaded.part.concrete_functions[0].graph.get_operations()
    constants = [op for op in operations if op.type == "Const" and op.outputs[0].dtype.is_floating]
    found = {f"constant {op.name}": tf.make_ndarray(op.get_attr("value")) for op in constants}
    return found | {name: variable.numpy() for name, variable in zip(names, loaded.weights, strict=True)}


def replace_weights(place: Path, weights: Mapping[str, np.ndarray]) -> None:
    """Write the part again with other values."""
    loaded = tf.saved_model.load(str(place))
    names = json.loads((place / _WEIGHTS).read_text(encoding="utf-8"))
    for name, variable in zip(names, loaded.weights, strict=True):
        if name in weights:
            variable.assign(weights[name])
    tf.saved_model.save(loaded, str(place))
    _note(place, names)


def count_nodes(place: Path) -> int:
    """Operations that compute something."""
    loaded = tf.saved_model.load(str(place))
    operations = loaded.part.concrete_functions[0].graph.get_operations()
    return sum(op.type not in _PLAIN for op in operations)
