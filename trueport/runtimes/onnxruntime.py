"""ONNX files in ONNX Runtime, any inner value on request."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from trueport.errors import InvalidInput
from trueport.ir.maps import from_proto
from trueport.ir.ports import make_ports, pack, unpack
from trueport.ir.widening import Kernel
from trueport.lazy import LazyModule
from trueport.runtimes.base import Model

__all__ = ["OnnxRuntimeModel", "cpu_kernels"]

ort: Any = LazyModule("onnxruntime", "ONNX Runtime", "onnxruntime")
_OPEN_END = 2**31 - 1


@functools.cache
def cpu_kernels() -> tuple[Kernel, ...]:
    """All kernels of ONNX Runtime's CPU provider, as it lists them itself.

    float16 counts as allowed where float is: ONNX Runtime puts casts around such nodes when it loads a model.
    """
    return tuple(
        Kernel(
            "" if kernel.domain == "ai.onnx" else kernel.domain,
            kernel.op_name,
            kernel.version_range[0],
            None if kernel.version_range[1] >= _OPEN_END else kernel.version_range[1],
            {key: _with_half(types) for key, types in kernel.type_constraints.items()},
        )
        for kernel in ort.capi.onnxruntime_pybind11_state.get_all_opkernel_def()
        if kernel.provider == "CPUExecutionProvider"
    )


def _with_half(types: Iterable[str]) -> frozenset[str]:
    found = frozenset(types)
    return found | {"tensor(float16)"} if "tensor(float)" in found else found


class OnnxRuntimeModel(Model):
    """A model as ONNX Runtime runs it; sessions are made once per set of fetched values."""

    runtime = "onnxruntime"

    def __init__(self, source: str | Path | onnx.ModelProto, *, optimize: bool = True) -> None:
        self._folder = None if isinstance(source, onnx.ModelProto) else Path(source).resolve().parent
        self._proto = source if isinstance(source, onnx.ModelProto) else onnx.load(source, load_external_data=False)
        self._optimize = optimize
        self._sessions: dict[tuple[str, ...], Any] = {}
        graph = from_proto(self._proto).graph
        initializers = set(graph.initializers)
        self.inputs = make_ports(value for value in graph.inputs if value.name not in initializers)
        self.outputs = make_ports(graph.outputs)

    def prepare(self) -> None:
        """Make the session now: raises ONNX Runtime's own error if it can't run the model."""
        self._session(())

    def _run(self, feeds: Mapping[str, Any], fetch: list[str] | None) -> dict[str, Any]:
        declared = [port.name for port in self.outputs]
        names = declared if fetch is None else fetch
        session = self._session(tuple(name for name in names if name not in declared))
        checked = {port.name: _feed(port, feeds[port.name]) for port in self.inputs}
        return dict(zip(names, session.run(names, checked), strict=True))

    def _session(self, extra: tuple[str, ...]) -> Any:
        if extra not in self._sessions:
            self._sessions[extra] = self._make_session(extra)
        return self._sessions[extra]

    def _make_session(self, extra: tuple[str, ...]) -> Any:
        known = {name for node in self._proto.graph.node for name in node.output}
        for name in extra:
            if name not in known:
                raise InvalidInput(f"there is no value {name!r} in the model's main graph")
        proto = onnx.ModelProto()
        proto.CopyFrom(self._proto)
        proto.graph.output.extend(onnx.ValueInfoProto(name=name) for name in extra)
        options = ort.SessionOptions()
        options.log_severity_level = 3
        # Weights that are dequantized before a product: its default quantizes the activations, too, which no file asks for.
        options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
        if not self._optimize:
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        if self._folder is not None:
            options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(self._folder))
        return ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _feed(port: Any, value: Any) -> Any:
    """Checked by the same rules as every runtime's; ONNX Runtime takes arrays and lists as they are."""
    checked = unpack(port, pack(port, value))
    return checked if isinstance(checked, (np.ndarray, list)) else value
