"""A PyTorch module as locating walks it: the captured program, node by node, in float64."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import onnx_ir as ir

from trueport.errors import TrueportError
from trueport.frontends.torch.source.run import run_eager, run_inner
from trueport.frontends.torch.source.user_lines import line_of
from trueport.ir.provenance import origins
from trueport.reference.noise import NOISY_RUNS
from trueport.reference.onnx.oracle import OnnxOracle
from trueport.reference.onnx.walk import OnnxWalk, region_cases
from trueport.reference.onnx.widen import widened_array
from trueport.reference.torch.evaluate import NodeStepper
from trueport.reference.walk import NodeCase, Place, Stepper, stream
from trueport.runtimes.base import Model
from trueport.runtimes.torch import TorchModel

if TYPE_CHECKING:
    from trueport.reference.torch.oracle import TorchOracle

__all__ = ["TorchWalk", "Translated"]


class Translated(Protocol):
    """The captured program and the ONNX model made from it; its nodes' origins are the program's nodes."""

    @property
    def program(self) -> Any:
        """The ``ExportedProgram`` whose nodes are walked."""

    @property
    def model(self) -> ir.Model:
        """The same in ONNX."""


class _Stepper:
    def __init__(self, nodes: NodeStepper) -> None:
        self.nodes = nodes

    def step(self, place: Place, held: Mapping[str, Any]) -> Sequence[Any]:
        return [self.nodes.run(place.node, held)]


class TorchWalk:
    """Places are the program's nodes that depend on its inputs; values have the names that ONNX gets."""

    unseen: frozenset[str] = frozenset()

    def __init__(self, oracle: TorchOracle, translated: Translated) -> None:
        captured, program = oracle.captured, translated.program
        self._translated = translated
        self._inputs = dict(zip(captured.call.names, program.graph_signature.user_inputs, strict=True))
        self.places: Sequence[Place] = tuple(_places(program, self._inputs.values()))
        seeds = (None, *(oracle.seed + run for run in range(NOISY_RUNS)))
        self._steppers = [_Stepper(NodeStepper(program, oracle.unit, seed)) for seed in seeds]
        self.steppers: Sequence[Stepper] = self._steppers
        eager = functools.partial(run_eager, captured.module, captured.call)
        inner = functools.partial(run_inner, program, captured.call)
        self.executions: Sequence[Model] = (TorchModel(eager, captured.inputs, captured.outputs, inner),)
        self.outputs: Mapping[str, str] = dict(
            zip((port.name for port in captured.outputs), program.graph_signature.user_outputs, strict=True)
        )
        self.weight_bytes = sum(tensor.nbytes for tensor in program.state_dict.values())

    def start(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        return self.taken({self._inputs[name]: array for name, array in feeds.items()})

    def taken(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        return {self._inputs.get(name, name): widened_array(array) for name, array in arrays.items()}

    def weights(self, place: Place) -> list[np.ndarray]:
        nodes = self._steppers[0].nodes
        held = [nodes.weight(node) for node in place.node.all_input_nodes]
        return [array for array in held if array is not None]

    def cases(
        self,
        region: Sequence[Place],
        value: str,
        held: Mapping[str, Any],
        source: Any,
        target: Any,
        noisy: Sequence[Any],
    ) -> Sequence[NodeCase]:
        """The region in the words of the ONNX nodes that translate it, where they say the same."""
        found = self._as_onnx(region, value, held, source, target, noisy)
        if found:
            return found
        truth = dict(stream(self.steppers[0], region, held))[value]
        node = ir.Node("torch", region[-1].op, [], outputs=[ir.Value(name=value)])
        return [NodeCase(node, (), source, target, truth, tuple(noisy), value, _no_more)]

    def _as_onnx(
        self,
        region: Sequence[Place],
        value: str,
        held: Mapping[str, Any],
        source: Any,
        target: Any,
        noisy: Sequence[Any],
    ) -> Sequence[NodeCase]:
        names = {place.name for place in region}
        renamed = {**self._inputs, **self.outputs}
        model = self._translated.model.clone()
        for node in model.graph:
            for output in node.outputs:
                output.name = renamed.get(output.name or "", output.name)
        for given in model.graph.inputs:
            given.name = renamed.get(given.name or "", given.name)
        try:
            oracle = OnnxOracle(model)
            walk = OnnxWalk(oracle, ())
            own = [place for place in walk.places if names.intersection(origins(place.node))]
            return region_cases(oracle, walk.steppers[0], own, value, held, source, target, noisy)
        except (TrueportError, StopIteration, KeyError):
            return ()  # the translation says it otherwise: there is less to try

    def hypotheses(self, region: Sequence[Place], value: str, held: Mapping[str, Any]) -> Iterator[Any]:
        return iter(())


def _no_more(changed: Any, inputs: Sequence[Any]) -> Sequence[Any]:
    raise TrueportError("the operation can't be said in ONNX", where=changed.op_type)


def _places(program: Any, inputs: Any) -> Iterator[Place]:
    live = set(inputs)
    for node in program.graph.nodes:
        reads = tuple(name for given in node.all_input_nodes if (name := given.name) in live)
        if node.op != "call_function" or not reads or "_assert" in str(node.target):
            continue
        live.add(node.name)
        at = line_of(node.meta.get("stack_trace") or "")
        yield Place(node.name, str(node.target), reads, (node.name,), (at,) if at else (), node)
