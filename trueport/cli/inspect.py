"""What ``trueport info`` shows of an artifact, without running it and without loading weights."""

from __future__ import annotations

import json as json_module
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from trueport.requirements import require_to_inspect

__all__ = ["describe_artifact", "render"]


def describe_artifact(path: Path, *, trust: bool = False) -> dict[str, Any]:
    """Border, operators, parameters and size of an .onnx file, a SavedModel, a Keras or a TFLite file."""
    if (path / "saved_model.pb").is_file():
        return _saved_model(path, trust)
    if path.suffix in (".keras", ".h5", ".hdf5"):
        return _keras(path, trust)
    if path.suffix == ".tflite":
        return _tflite(path, trust)
    return _onnx(path)


def _onnx(path: Path) -> dict[str, Any]:
    from trueport.frontends.onnx.load import load_onnx
    from trueport.ir.places import op_id
    from trueport.ir.ports import make_ports

    model = load_onnx(path)
    graph = model.graph
    weights = [v.const_value for v in graph.initializers.values() if v.const_value is not None]
    inputs = make_ports(v for v in graph.inputs if v.name not in graph.initializers)
    outputs = make_ports(graph.outputs)
    operators = Counter(op_id(node) for node in graph.all_nodes())
    return {
        "format": "ONNX",
        "opsets": {domain or "ai.onnx": version for domain, version in model.opset_imports.items()},
        "producer": f"{model.producer_name or ''} {model.producer_version or ''}".strip(),
        "inputs": _ports(inputs),
        "outputs": _ports(outputs),
        "open dims": _open_dims((*inputs, *outputs)),
        "parameters": sum(math.prod(tensor.shape.numpy()) for tensor in weights),
        "weights": dict(Counter(tensor.dtype.name.lower() for tensor in weights).most_common()),
        "bytes": sum(tensor.nbytes for tensor in weights),
        "quantization": _quantization(operators),
        "operators": dict(operators.most_common()),
    }


def _open_dims(ports: Iterable[Any]) -> dict[str, str]:
    """Dims that a caller chooses: by name, where they stand."""
    places: dict[str, list[str]] = {}
    for port in ports:
        for axis, dim in enumerate(port.shape or ()):
            if not isinstance(dim, int):
                places.setdefault(dim or "?", []).append(f"{port.name}[{axis}]")
    return {name: ", ".join(found) for name, found in places.items()}


def _quantization(operators: Mapping[str, int]) -> dict[str, int]:
    """Operators that make, take or compute with quantized numbers."""
    words = ("Quantize", "QLinear", "Integer", "QGemm", "QAttention", "MatMulNBits", "FakeQuant")
    return {op: count for op, count in operators.items() if any(word in op for word in words)}


def _saved_model(path: Path, trust: bool) -> dict[str, Any]:
    from trueport.ir.artifact import ArtifactMap

    found = ArtifactMap.read(path)
    if found is None:
        require_to_inspect("tensorflow")
        from trueport.runtimes.tensorflow import SavedModel

        loaded = SavedModel(path, trust=trust)
        return {"format": "SavedModel", **_border(loaded), **_variables(path), **_graph(path, trust)}
    return {
        "format": "SavedModel by Trueport",
        **_border(found),
        "weights": len(found.weights),
        **_variables(path),
        "source": {key: found.source.get(key) for key in ("opsets", "producer", "metadata", "doc")},
    }


def _border(model: Any) -> dict[str, Any]:
    return {
        "inputs": _ports(model.inputs),
        "outputs": _ports(model.outputs),
        "open dims": _open_dims((*model.inputs, *model.outputs)),
    }


def _variables(path: Path) -> dict[str, int]:
    return {"bytes": sum(file.stat().st_size for file in (path / "variables").glob("variables.data*"))}


def _graph(path: Path, trust: bool) -> dict[str, Any]:
    from trueport.frontends.tensorflow.sources import Options, capture_source
    from trueport.report.artifacts import describe_artifact as described
    from trueport.report.graphs_tensorflow import tensorflow_graph

    captured = capture_source(path, Options(trust=trust))
    found = described(tensorflow_graph(captured.graph, captured.outputs), str(path), None)
    return {
        "parameters": found.parameters,
        "quantization": _quantization(found.operators),
        "operators": dict(found.operators),
    }


def _keras(path: Path, trust: bool) -> dict[str, Any]:
    from trueport.frontends.tensorflow.sources import Options, capture_source

    require_to_inspect("tensorflow")
    captured = capture_source(path, Options(trust=trust))
    weights = captured.held.weights
    return {
        "format": "Keras",
        "inputs": _ports(replace(port, parts=(port.name,)) for port in captured.inputs),
        "outputs": _ports(replace(port, parts=(port.name,)) for port in captured.outputs),
        "open dims": _open_dims((*captured.inputs, *captured.outputs)),
        "bytes": path.stat().st_size,
        "parameters": sum(math.prod(weight.shape) for weight in weights),
        "layers": dict(Counter(type(layer).__name__ for layer in captured.held.layers).most_common()),
    }


def _tflite(path: Path, trust: bool) -> dict[str, Any]:
    from trueport.runtimes.tflite import TfliteModel

    require_to_inspect("tflite")
    model = TfliteModel(path, trust=trust)
    quantized = model.quantization()
    return {
        "format": "TFLite",
        "inputs": _ports(model.inputs),
        "outputs": _ports(model.outputs),
        "bytes": path.stat().st_size,
        "tensors": len(model.inner()),
        "quantized": {
            port.name: f"({port.dtype.lower()} - {found.zero_points[0]}) × {found.scales[0]:.6g}"
            for port in (*model.inputs, *model.outputs)
            if (found := quantized.get(port.name))
        },
    }


def _ports(ports: Any) -> list[str]:
    return [_port(port) for port in ports]


def _port(port: Any) -> str:
    shape = "?" if port.shape is None else "[" + ", ".join("?" if d is None else str(d) for d in port.shape) + "]"
    kind = "" if port.kind == "tensor" else f"{port.kind} of "
    renamed = f" (as {', '.join(port.parts)})" if port.parts != (port.name,) else ""
    return f"{port.name}: {kind}{port.dtype.lower()}{shape if port.kind == 'tensor' else ''}{renamed}"


def render(described: dict[str, Any], *, json: bool) -> str:
    """One fact a line, lists indented."""
    if json:
        return json_module.dumps(described, indent=1)
    lines = []
    for key, value in described.items():
        if isinstance(value, list):
            lines += [f"{key}:", *(f"  {item}" for item in value)]
        elif isinstance(value, dict) and value:
            lines += [f"{key}:", *(f"  {name}: {item}" for name, item in value.items() if item)]
        elif value not in ("", None, {}):
            lines.append(f"{key}: {value}")
    return "\n".join(lines)
