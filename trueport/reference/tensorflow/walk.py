"""A TensorFlow source, walked operation by operation; the functions that it calls are written into it first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from trueport.errors import NoOracle, TrueportError
from trueport.frontends.tensorflow._tf import tf
from trueport.frontends.tensorflow.source.capture import Border, Captured
from trueport.frontends.tensorflow.source.dtypes import is_tensor_type
from trueport.frontends.tensorflow.source.graphs import cut_function
from trueport.ir.artifact import ArtifactMap
from trueport.reference.left_out import left_out
from trueport.reference.noise import NOISY_RUNS, RoundingNoise
from trueport.reference.onnx.cache import BoundedCache
from trueport.reference.onnx.oracle import OnnxOracle
from trueport.reference.onnx.walk import OnnxWalk, region_cases
from trueport.reference.tensorflow.evaluate import Walk, as_array, widened
from trueport.reference.tensorflow.misreadings import Reading, operation_hypotheses
from trueport.reference.tensorflow.noise import operation_noise
from trueport.reference.walk import NodeCase, Place, Stepper, nbytes, stream
from trueport.runtimes.base import Model
from trueport.runtimes.inlined import inlined
from trueport.runtimes.tensorflow import FunctionModel

if TYPE_CHECKING:
    from trueport.reference.tensorflow.oracle import TensorflowOracle

__all__ = ["TensorflowWalk"]

_HANDED_ON = frozenset({"Identity", "StopGradient", "PreventGradient"})
_COUNTED = re.compile(r"_\d+$")


class _Stepper:
    """Evaluates operations; what depends on weights alone is evaluated when it is used."""

    def __init__(self, walk: Walk, given: Mapping[str, Any]) -> None:
        self._walk = walk
        self._given = given
        self._constants = BoundedCache()

    def step(self, place: Place, held: Mapping[str, Any]) -> Sequence[Any]:
        return [as_array(value) for value in self.run(place.node, self.inputs(place, held))]

    def inputs(self, place: Place, held: Mapping[str, Any]) -> list[Any]:
        return [self._value(tensor, held) for tensor in place.node.inputs]

    def run(self, operation: Any, inputs: Sequence[Any]) -> Sequence[Any]:
        return self._walk.step(operation, inputs)

    def _value(self, tensor: Any, held: Mapping[str, Any]) -> Any:
        name = _name(tensor)
        if name in held:
            array = held[name]
            return tf.constant(array, tf.string if array.dtype == object else None) if _is_array(array) else array
        return self.constant(tensor)

    def constant(self, tensor: Any) -> Any:
        """A tensor that depends on weights alone."""
        if tensor.name in self._given:
            return self._given[tensor.name]
        known = self._constants.get(tensor.name)  # handles that are only handed on included
        if known is not None:
            return known
        assert tensor.op.type != "Placeholder", "inputs are given or held"
        results = self._walk.step(tensor.op, [self.constant(one) for one in tensor.op.inputs])
        for made, value in zip(tensor.op.outputs, results, strict=True):
            self._constants.put(made.name, value, nbytes(as_array(value)))
        return results[tensor.value_index]


class _Reread:
    """Evaluates as another stepper does, but for one place, which is read otherwise."""

    def __init__(self, stepper: _Stepper, place: Place, reading: Reading) -> None:
        self._stepper = stepper
        self._place = place
        self._reading = reading

    def step(self, place: Place, held: Mapping[str, Any]) -> Sequence[Any]:
        if place is not self._place:
            return self._stepper.step(place, held)
        made = self._reading(self._stepper.run, self._stepper.inputs(place, held))
        return [value if _is_array(value) else as_array(value) for value in made]


class TensorflowWalk:
    """Places are the operations of the flat graph that depend on the model's inputs."""

    unseen: frozenset[str] = frozenset()

    def __init__(self, oracle: TensorflowOracle) -> None:
        plain = oracle.captured
        captured = replace(plain, function=inlined(plain.function), held=(plain.held, plain.function))
        self._captured: Captured = captured
        self._registry = oracle.registry
        self._in_onnx = oracle.in_onnx
        function, graph = captured.function, captured.graph
        own = graph.inputs[: len(graph.inputs) - len(function.captured_inputs)]
        given = {
            tensor.name: widened(held) if is_tensor_type(held.dtype) else held
            for tensor, held in zip(graph.inputs[len(own) :], function.captured_inputs, strict=True)
        }
        self._inputs = {port.name: _name(tensor) for port, tensor in zip(captured.inputs, own, strict=True)}
        self.places: Sequence[Place] = tuple(_places(graph, own, captured.held))
        noises = [operation_noise(self._registry, RoundingNoise(oracle.seed + run)) for run in range(NOISY_RUNS)]
        steppers = [_Stepper(Walk(noise), given) for noise in (None, *noises)]
        self.steppers: Sequence[Stepper] = steppers
        self._exact = steppers[0]
        contract = ArtifactMap(captured.inputs, captured.outputs)
        self.executions: Sequence[Model] = (FunctionModel(function, function, contract, captured.held),)
        self.weight_bytes = sum(int(np.prod(v.shape)) * v.dtype.size for v in captured.graph.variables)
        self.outputs: Mapping[str, str] = {
            port.name: _name(function.structured_outputs[port.parts[0]]) for port in captured.outputs
        }

    def start(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        return self.taken({self._inputs[name]: array for name, array in feeds.items()})

    def taken(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        renamed = {self._inputs.get(name, name): array for name, array in arrays.items()}
        return {name: as_array(widened(tf.constant(array))) for name, array in renamed.items()}

    def weights(self, place: Place) -> list[np.ndarray]:
        reads = set(place.reads)
        held = [tensor for tensor in place.node.inputs if _name(tensor) not in reads and is_tensor_type(tensor.dtype)]
        return [np.asarray(as_array(self._exact.constant(tensor))) for tensor in held]

    def cases(
        self,
        region: Sequence[Place],
        value: str,
        held: Mapping[str, Any],
        source: Any,
        target: Any,
        noisy: Sequence[Any],
    ) -> Sequence[NodeCase]:
        """The region as ONNX says it, so that what can be changed in it has names; else as it stands, to look at."""
        found = self._as_onnx(value, held, source, target, noisy)
        if found:
            return found
        truth = dict(stream(self._exact, region, held))[value]
        node = ir.Node("tensorflow", region[-1].op, [], outputs=[ir.Value(name=value)])
        return [NodeCase(node, (), source, target, truth, tuple(noisy), value, _no_more)]

    def _as_onnx(
        self, value: str, held: Mapping[str, Any], source: Any, target: Any, noisy: Sequence[Any]
    ) -> Sequence[NodeCase]:
        inputs = sorted(held)
        try:
            part = cut_function(self._captured.function, inputs, [value], Border(), self._captured.held)
            model = self._in_onnx(part)
            if not model.graph.outputs:
                return ()
            oracle = OnnxOracle(model, self._registry)
            walk = OnnxWalk(oracle, ())
            output = next(iter(walk.outputs.values()))
            given = {port.name: held[name] for port, name in zip(part.inputs, inputs, strict=True)}
            return region_cases(oracle, walk.steppers[0], walk.places, output, given, source, target, noisy)
        except (TrueportError, StopIteration, KeyError):
            return ()  # ONNX can't say it: there is less to try

    def hypotheses(self, region: Sequence[Place], value: str, held: Mapping[str, Any]) -> Iterator[tuple[Place, Any]]:
        def rerun(place: Place, reading: Reading) -> Any:
            return dict(stream(_Reread(self._exact, place, reading), region, held))[value]

        yield from left_out(self._exact, region, value, held)
        yield from operation_hypotheses(region, rerun)


def _no_more(changed: Any, inputs: Sequence[Any]) -> Sequence[Any]:
    raise NoOracle("the operation can't be said in ONNX", where=changed.op_type)


def _places(graph: Any, inputs: Sequence[Any], held: Any) -> list[Place]:
    live = {_name(tensor) for tensor in inputs}
    needed = _needed(graph)
    found = []
    for operation in graph.get_operations():
        reads = tuple(dict.fromkeys(name for tensor in operation.inputs if (name := _name(tensor)) in live))
        if reads and operation in needed and operation.type not in _HANDED_ON:
            makes = tuple(_name(tensor) for tensor in operation.outputs)
            live.update(makes)
            found.append(Place(operation.name, operation.type, reads, makes, _layers(operation.name, held), operation))
    return found


def _needed(graph: Any) -> set[Any]:
    waiting = [tensor.op for tensor in graph.outputs]
    found = set(waiting)
    while waiting:
        before = {tensor.op for tensor in waiting.pop().inputs} - found
        found |= before
        waiting += before
    return found


def _layers(name: str, held: Any) -> tuple[str, ...]:
    """The Keras layer whose scope an operation stands in: a model that is traced again counts its layers up."""
    model = held[0] if isinstance(held, tuple) else held
    layers = {layer.name for layer in getattr(model, "_flatten_layers", list)()}
    scopes = name.split("/")[:-1]
    inner = [scope if scope in layers else _COUNTED.sub("", scope) for scope in scopes]
    known = [layer for layer in inner if layer in layers]
    if known:
        return (f"layer {known[-1]}",)
    plain = [scope for scope in scopes if not scope.endswith("PartitionedCall") and scope != "Func"]
    return (f"layer {'/'.join(plain)}",) if plain else ()


def _name(tensor: Any) -> str:
    """A tensor's name; what is only handed on has that of what it is."""
    while tensor.op.type in _HANDED_ON:
        tensor = tensor.op.inputs[0]
    name: str = tensor.name
    return name.removesuffix(":0")


def _is_array(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic))
