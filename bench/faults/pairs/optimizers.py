"""Targets written by other people's tools that rewrite ONNX files: optimizers and the converter of opset versions."""

from __future__ import annotations

import copy
import subprocess
from pathlib import Path

import onnx
import onnxruntime
from onnx import version_converter

from bench.peers import Tool

__all__ = ["LEVELS", "SIMPLIFIERS", "change_opset", "optimize", "simplify"]

LEVELS = {
    "basic": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "extended": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
}
SIMPLIFIERS = ("onnxsim", "onnxslim")

_SIMPLIFIER_ENV = Tool("simplifiers", "", ("onnxsim==0.8.1", "onnxslim==0.1.98", "onnx==1.23.2", "onnxruntime"))
_CALLS = {
    "onnxsim": "import sys, onnx, onnxsim; onnx.save(onnxsim.simplify(onnx.load(sys.argv[1]))[0], sys.argv[2])",
    "onnxslim": "import sys, onnxslim; onnxslim.slim(sys.argv[1], sys.argv[2])",
}


def optimize(model: onnx.ModelProto, level: str, folder: Path) -> Path:
    """Return the file that ONNX Runtime writes after optimizing at the level."""
    path = folder / f"{level}.onnx"
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = LEVELS[level]
    options.optimized_model_filepath = str(path)
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return path


def simplify(model: onnx.ModelProto, tool: str, folder: Path) -> Path:
    """Return the file that onnxsim or onnxslim writes, run in an environment of its own."""
    before, after = folder / "before.onnx", folder / f"{tool}.onnx"
    onnx.save(model, before)
    command = [_SIMPLIFIER_ENV.interpreter(), "-c", _CALLS[tool], str(before), str(after)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    if done.returncode or not after.exists():
        raise RuntimeError(f"{tool} failed: {done.stderr[-500:]}")
    return after


def change_opset(model: onnx.ModelProto, version: int) -> onnx.ModelProto:
    """Return the model in another version of the operator set, by ONNX's own converter."""
    if any(entry.domain not in ("", "ai.onnx") and entry.version == 0 for entry in model.opset_import):
        raise ValueError("cannot convert a model that imports an operator set of version 0")
    changed = version_converter.convert_version(copy.deepcopy(model), version)
    onnx.checker.check_model(changed)
    return changed
