"""The inputs of one comparison: the user's, or a plan from both models' borders and the graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import onnx_ir as ir

from trueport.errors import NoOracle, TrueportError
from trueport.ir.ports import Port
from trueport.reference.base import Oracle
from trueport.reference.onnx.oracle import OnnxOracle
from trueport.reference.tensorflow.oracle import TensorflowOracle
from trueport.reference.torch.oracle import TorchOracle
from trueport.runtimes.base import Model
from trueport.runtimes.onnxruntime import OnnxRuntimeModel
from trueport.verifying.inputs.data import Data, named_samples
from trueport.verifying.inputs.hints import Hints, graph_hints
from trueport.verifying.inputs.pairing import PairedModel
from trueport.verifying.inputs.plan import PLAN, Plan, Sample, plan_inputs
from trueport.verifying.inputs.probing import Prober
from trueport.verifying.inputs.size_candidates import SizedGraph, sized_by
from trueport.verifying.inputs.sizes import Dims, open_dims

__all__ = ["Feeding", "conversion_inputs", "feed"]

_NOT_EMPTY = frozenset({"tensorflow", "tflite"})
"""Runtimes that are given no empty batch: TensorFlow's oneDNN convolutions return it in the shape of their input,
which is not the model's fault, and TFLite's interpreter takes no empty tensors."""
_MOST_OPERATIONS = 600
"""Operations of a TensorFlow function that are translated to look at what it does with its inputs."""
_QUICK = 2
"""Sets for a first look: ordinary numbers at the smallest sizes, and the graph's boundaries at other sizes."""
_QUICK_BEYOND = 1
"""Sets for what these do not reach."""
_QUICK_DYNAMIC = 3
"""Where dims are dynamic, also ordinary numbers at sizes of which no fraction is an integer."""


@dataclass(frozen=True)
class Feeding:
    """What a user says about the inputs."""

    data: Data | None = None
    samples: int | None = None
    """how many sets, at most"""
    seed: int = 0
    dims: Dims | None = None
    special: bool = False
    """also sets with NaN, infinities and denormals; never with data of the user's own"""


def feed(asked: Feeding, source: Model, target: PairedModel, oracle: Oracle) -> Iterator[Mapping[str, Any]]:
    """One set after the other, by the source's names."""
    if asked.data is not None:
        return named_samples(asked.data, source.inputs, asked.samples)
    plan = _plan(asked, source, target, oracle)
    if not asked.special:
        return plan.samples(asked.samples)
    beyond = plan.beyond(Prober(source))
    return chain(plan.samples(asked.samples), beyond, _empty(plan, target, oracle), plan.specials())


def _empty(plan: Plan, target: PairedModel, oracle: Oracle) -> Iterator[Sample]:
    """Yield a set with an empty batch, where the source takes it and there is a reference for it."""
    if plan.sizes.empty is None or target.runtime in _NOT_EMPTY:
        return
    feeds = plan.sample(len(PLAN), PLAN[0], plan.sizes.empty)
    try:
        oracle.run(feeds)
    except NoOracle:  # the evaluators do not know what every operator makes of nothing
        return
    feeds.special = _is_refused_by_runtime(target, feeds)
    yield feeds


def _is_refused_by_runtime(target: PairedModel, feeds: Sample) -> bool:
    """True if ONNX Runtime fails on inputs that an ONNX target's graph takes: some kernels refuse empty operands."""
    if not isinstance(target.model, OnnxRuntimeModel):
        return False
    try:
        target.run(feeds)
    except Exception:  # types of its own, not public ones
        own = {p.target: feeds[p.source].transpose(p.perm) if p.perm else feeds[p.source] for p in target.input_pairs}
        try:
            OnnxOracle(ir.Model(target.model.graph(), ir_version=10)).exact.run(own)
        except TrueportError:
            return False
        return True
    return False


def conversion_inputs(source: Model, graph: ir.Graph, data: Data | None = None) -> Iterable[Mapping[str, Any]]:
    """The user's, or else a few sets: for a conversion that is looked at as soon as it is made."""
    if data is not None:
        return named_samples(data, source.inputs)
    most = _QUICK_DYNAMIC if open_dims(source.inputs) else _QUICK
    with closing(Prober(source)) as prober:
        plan = plan_inputs(source.inputs, graph, accepts=prober, rows=most)
        # Of an expensive model there are fewer rows of sizes, and the first one is not tried again.
        count = max(_QUICK, len(plan.sizes.rows)) if plan.sizes.left_out else most
        return [*plan.samples(count), *plan.beyond(prober, _QUICK_BEYOND, 0)]


def _plan(asked: Feeding, source: Model, target: PairedModel, oracle: Oracle) -> Plan:
    # Sizes that are open in the source may not be so in the target.
    shapes = {port.name: port.shape for port in target.inputs}
    ports = [replace(port, shape=shapes[port.name]) for port in source.inputs]
    graph, hints = _looked_up(target, oracle)
    with closing(Prober(source)) as prober:
        return plan_inputs(
            ports,
            graph,
            seed=asked.seed,
            dims=asked.dims,
            accepts=prober,
            rows=asked.samples,
            hints=hints,
            graphs=_graphs(ports, target, oracle),
        )


def _graphs(ports: Sequence[Port], target: PairedModel, oracle: Oracle) -> list[SizedGraph]:
    """The source's graph and an ONNX target's: what only the target cuts, pads or divides is worth a size as well."""
    shapes = {port.name: sized_by(port) for port in ports if port.kind == "tensor" and port.shape is not None}
    found = [SizedGraph(oracle.model.graph, shapes)] if isinstance(oracle, OnnxOracle) else []
    if isinstance(target.model, OnnxRuntimeModel):
        own = {
            pairing.target: tuple(shapes[pairing.source][axis] for axis in pairing.perm or range(rank))
            for pairing in target.input_pairs
            if (rank := len(shapes.get(pairing.source, ())))
        }
        found.append(SizedGraph(target.model.graph(), own, decides=False))
    return found


def _graph(oracle: Oracle) -> ir.Graph | None:
    """Return the source in ONNX's operators; it only suggests inputs, and is never taken for the reference."""
    if isinstance(oracle, OnnxOracle):
        return oracle.model.graph
    try:
        if isinstance(oracle, TensorflowOracle):
            small = len(oracle.captured.graph.get_operations()) <= _MOST_OPERATIONS
            return oracle.in_onnx(oracle.captured).graph if small else None
        return oracle.in_onnx().model.graph if isinstance(oracle, TorchOracle) else None
    except TrueportError:  # it has an operator that ONNX can't express
        return None


def _looked_up(target: PairedModel, oracle: Oracle) -> tuple[ir.Graph | None, Mapping[str, Hints]]:
    """The source's graph and what it does with its inputs; an ONNX target's where the source has none to look at."""
    own = _graph(oracle)
    if own is not None:
        return own, graph_hints(own)
    if not isinstance(target.model, OnnxRuntimeModel):
        return None, {}
    graph = target.model.graph()
    found = graph_hints(graph)
    return graph, {source: found[name] for name, source in target.names.items() if name in found}
