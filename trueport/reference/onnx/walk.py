"""An ONNX source, walked by the oracle's evaluators."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from trueport.ir.provenance import location
from trueport.reference.left_out import left_out
from trueport.reference.onnx.evaluate import WideEvaluator, captured
from trueport.reference.onnx.widen import widened_array
from trueport.reference.walk import NodeCase, Place, Stepper, stream
from trueport.runtimes.base import Model

if TYPE_CHECKING:
    from trueport.reference.onnx.oracle import OnnxOracle

__all__ = ["OnnxWalk", "region_cases"]


class _Stepper:
    def __init__(self, evaluator: WideEvaluator, values: Mapping[str, ir.Value]) -> None:
        self._evaluator = evaluator
        self._values = values

    def step(self, place: Place, held: Mapping[str, Any]) -> Sequence[Any]:
        node: ir.Node = place.node
        around = {self._values[name]: held[name] for name in place.reads}
        inputs = [None if value is None else self._evaluator.value(value, around) for value in node.inputs]
        return self._evaluator.step(node, inputs, around)


class OnnxWalk:
    """Places are the nodes of the canonical model, under the names it has."""

    def __init__(self, oracle: OnnxOracle, executions: Sequence[Model]) -> None:
        self._oracle = oracle
        graph = oracle.model.graph
        self._values = {value.name: value for value in (*graph.inputs, *(v for node in graph for v in node.outputs))}
        self.places: Sequence[Place] = tuple(_place(node) for node in graph)
        self.steppers: Sequence[Stepper] = tuple(_Stepper(run, self._values) for run in (oracle.exact, *oracle.noisy))  # type: ignore[arg-type]
        self.executions: Sequence[Model] = tuple(executions)
        made = frozenset(name for place in self.places for name in place.makes)
        known = {name for run in executions[:1] for name in (*run.inner(), *(port.name for port in run.outputs))}
        self.unseen = made - known if executions else frozenset()
        self.outputs: Mapping[str, str] = {value.name or "": value.name or "" for value in graph.outputs}
        self.weight_bytes = sum(v.const_value.nbytes for v in graph.initializers.values() if v.const_value is not None)

    def start(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        return self.taken(feeds)

    def taken(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        return {name: widened_array(array) for name, array in arrays.items()}

    def weights(self, place: Place) -> list[np.ndarray]:
        inputs = [v for v in place.node.inputs if v is not None and v.const_value is not None]
        return [np.asarray(value.const_value.numpy()) for value in inputs if value.dtype != ir.DataType.STRING]

    def cases(
        self,
        region: Sequence[Place],
        value: str,
        held: Mapping[str, Any],
        source: Any,
        target: Any,
        noisy: Sequence[Any],
    ) -> Sequence[NodeCase]:
        return region_cases(self._oracle, self.steppers[0], region, value, held, source, target, noisy)

    def hypotheses(self, region: Sequence[Place], value: str, held: Mapping[str, Any]) -> Iterator[tuple[Place, Any]]:
        return left_out(self.steppers[0], region, value, held)


def region_cases(
    oracle: OnnxOracle,
    stepper: Any,
    region: Sequence[Place],
    value: str,
    held: Mapping[str, Any],
    source: Any,
    target: Any,
    noisy: Sequence[Any],
) -> list[NodeCase]:
    """Each node of a region as the one that may have gone wrong: what is changed in it goes through the others."""
    made = {**held, **dict(stream(stepper, region, held))}
    known = {v.name: v for v in oracle.model.graph.inputs}
    known.update({v.name: v for node in oracle.model.graph for v in node.outputs})
    runs = [(run, _Stepper(run, known)) for run in oracle.noisy]  # type: ignore[arg-type]
    around = {known[name]: array for name, array in made.items() if name in known}
    found = []
    for index in reversed(range(len(region))):
        place, rest = region[index], region[index + 1 :]
        node: ir.Node = place.node
        inputs = tuple(None if v is None else oracle.exact.value(v, around) for v in node.inputs)

        def again(
            changed: ir.Node,
            given: Sequence[Any],
            run: WideEvaluator = oracle.exact,
            stepper: Any = stepper,
            place: Place = place,
            rest: Sequence[Place] = rest,
        ) -> Sequence[Any]:
            results = run.step(changed, given, around)
            if value in place.makes:
                return results
            after = {**made, **dict(zip(place.makes, results, strict=False))}
            # `made` also holds what the others gave before: all of them are run again.
            final = dict(stream(stepper, rest, after))[value]
            return [final] * max(len(place.makes), 1)

        alone = functools.partial(oracle.exact.step, around=around)
        noises = [functools.partial(again, run=run, stepper=noisy_stepper) for run, noisy_stepper in runs]
        output = value if value in place.makes else next(name for name in place.makes if name)
        found.append(NodeCase(node, inputs, source, target, made[value], tuple(noisy), output, again, alone, noises))
    return found


def _place(node: ir.Node) -> Place:
    read = [v for v in (*node.inputs, *captured(node)) if v is not None and v.const_value is None]
    reads = tuple(dict.fromkeys(value.name or "" for value in read))
    makes = tuple(value.name or "" for value in node.outputs)
    at = location(node)
    return Place(node.name or "", node.op_type, reads, makes, (at,) if at else (), node)
