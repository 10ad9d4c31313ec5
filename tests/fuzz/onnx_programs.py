"""Programs over ONNX's operators, in ONNX's textual form."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort
from onnx.reference import ReferenceEvaluator

from tests.fuzz.program import SHAPES, Program, Rejected, templates_of

__all__ = ["OnnxPrograms"]

OPSET = 21

_TYPES = {"float32": "float", "float64": "double", "int64": "int64", "int32": "int32", "bool": "bool"}


class OnnxPrograms:
    name = "onnx"
    not_valid: tuple[type[Exception], ...] = ()
    targets = ("tensorflow",)
    templates = templates_of(name)

    def evaluate(self, line: str, out: str, values: Mapping[str, Any]) -> Any:
        model, taken = _of_one_line(line, out, values)
        try:
            return _session(model).run([out], taken)[0]
        except (ValueError, RuntimeError, *_RUNTIME_ERRORS) as error:
            raise Rejected(str(error)) from error

    def exact(self, line: str, out: str, values: Mapping[str, Any]) -> Any:
        """By ONNX's reference: some kernels of ONNX Runtime are no more exact in float64."""
        model, taken = _of_one_line(line, out, values)
        try:
            return ReferenceEvaluator(model).run([out], taken)[0]
        except Exception:  # Whatever stops ONNX's reference, it says nothing.
            return self.evaluate(line, out, values)

    def assemble(self, programs: Sequence[Program]) -> Any:
        inputs, lines, outputs = [], [], []
        for program in programs:
            own = {name for name, _ in program.inputs} | {word for _, line in program.lines for word in _results(line)}

            def named(text: str, own: set[str] = own, prefix: str = program.prefix) -> str:
                return re.sub(r"\b[vx]\d\w*\b", lambda found: prefix + found[0] if found[0] in own else found[0], text)

            for name, kind in program.inputs:
                dtype, dims = SHAPES[kind]
                shape = ", ".join(program.prefix + dim if isinstance(dim, str) else str(dim) for dim in dims)
                inputs.append(f"{_TYPES[dtype]}[{shape}] {program.prefix}{name}")
            lines += [named(line) for _, line in program.lines]
            outputs += [program.prefix + out for out in program.outputs]
        return _parsed(", ".join(inputs), "\n".join(lines), outputs)

    def run(self, source: Any, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        names = [output.name for output in source.graph.output]
        return dict(zip(names, _session(source).run(names, dict(feeds)), strict=True))

    def defined(self, source: Any, samples: Sequence[Mapping[str, np.ndarray]]) -> list[dict[str, np.ndarray]] | None:
        names = [output.name for output in source.graph.output]
        try:
            reference = ReferenceEvaluator(source)
            return [dict(zip(names, reference.run(names, dict(feeds)), strict=True)) for feeds in samples]
        except Exception:  # Whatever stops ONNX's reference, it says nothing.
            return None

    def sharing(self) -> AbstractContextManager[None]:
        return nullcontext()

    def options(self, source: Any, samples: Sequence[Mapping[str, np.ndarray]]) -> dict[str, Any]:
        return {}


_STATE = ort.capi.onnxruntime_pybind11_state
_RUNTIME_ERRORS = (
    _STATE.Fail,
    _STATE.InvalidArgument,
    _STATE.InvalidGraph,
    _STATE.NotImplemented,
    _STATE.RuntimeException,
)


def _of_one_line(line: str, out: str, values: Mapping[str, Any]) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """Return a model that computes one line, and the values that it takes."""
    taken = {name: value for name, value in values.items() if re.search(rf"\b{name}\b", line)}
    if any(str(value.dtype) not in _TYPES for value in taken.values()):
        raise Rejected("a type that programs do not hold")
    inputs = ", ".join(f"{_TYPES[str(v.dtype)]}{list(v.shape) or ''} {n}" for n, v in taken.items())
    try:
        return _parsed(inputs, line, [out]), taken
    except (ValueError, RuntimeError, onnx.checker.ValidationError) as error:
        raise Rejected(str(error)) from error


def _results(line: str) -> list[str]:
    return [word.strip() for part in line.split("\n") for word in part.split(" = ", 1)[0].split(",")]


def _parsed(inputs: str, lines: str, outputs: Sequence[str]) -> onnx.ModelProto:
    """Return a model whose outputs have the types that inference finds."""
    text = f'<ir_version: 10, opset_import: ["" : {OPSET}]> agraph ({inputs}) => () {{ {lines} }}'
    model = onnx.parser.parse_model(text)
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in outputs)
    return onnx.shape_inference.infer_shapes(model)


def _session(model: onnx.ModelProto) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return ort.InferenceSession(model.SerializeToString(), options)
