"""Does anything faithful raise an alarm? The models of the zoo, unchanged, in every form."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx

from bench.faults.zoo import ZOO
from trueport.backends.tensorflow.registry import registry
from trueport.comparison import verify
from trueport.fidelity import Verdict
from trueport.frontends.onnx.load import load_onnx
from trueport.pipeline import convert, convert_file
from trueport.reference.onnx.oracle import OnnxOracle
from trueport.runtimes.onnxruntime import OnnxRuntimeModel
from trueport.verifying.inputs.plan import graph_ports, make_inputs

__all__ = ["inputs_of", "run_faithful"]


def run_faithful(models: str = "") -> str:
    """Every model of the zoo in every form that it can be given, unchanged: each alarm is a false one."""
    alarms = []
    count = 0
    for name, make in ZOO.items():
        if models not in name:
            continue
        source = make()
        feeds = inputs_of(source)
        with tempfile.TemporaryDirectory() as folder:
            for kind, target in _forms(source, Path(folder)):
                found = verify(source, target, data=feeds)
                count += 1
                if found.verdict != Verdict.FAITHFUL:
                    alarms.append(f"{name} / {kind}: {found}")
    return "\n".join([f"{count} faithful targets, {len(alarms)} false alarms", *alarms])


def inputs_of(source: onnx.ModelProto) -> Sequence[Mapping[str, Any]]:
    """Made for the model, of another seed than the faults'."""
    graph = OnnxOracle(load_onnx(source), registry()).model.graph
    return make_inputs(graph_ports(graph), graph, seed=1)


def _forms(source: onnx.ModelProto, folder: Path) -> Iterator[tuple[str, Any]]:
    """The model in ONNX Runtime as written and fused, in TensorFlow from memory and from disk, and back in ONNX."""
    yield "onnxruntime", OnnxRuntimeModel(source, optimize=False)
    yield "onnxruntime, optimized", OnnxRuntimeModel(source, optimize=True)
    converted = convert(source, to="tensorflow", verify=False)
    yield "tensorflow", converted.built.run()
    yield "saved model", converted.save(folder / "saved")
    back = folder / "back.onnx"
    convert_file(folder / "saved", back, verify=False)
    yield "round trip", back
