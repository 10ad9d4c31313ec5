"""The installs that are looked at: none, each extra alone, and distributions of other names."""

from __future__ import annotations

from tests.installs.transcripts import Install

__all__ = ["INSTALLS", "LOOKED_FOR"]

LOOKED_FOR = frozenset(
    {"tensorflow", "keras", "onnxruntime", "onnxruntime_extensions", "torch", "onnxscript", "ai_edge_litert"}
)
_TENSORFLOW = frozenset({"tensorflow", "keras"})
_ONNX_RUNTIME = frozenset({"onnxruntime"})

INSTALLS = (
    Install("nothing"),
    Install("onnxruntime", "onnxruntime", brings=_ONNX_RUNTIME),
    Install("torch", "torch", brings=frozenset({"torch", "onnxscript"})),
    Install("tensorflow", "tensorflow", brings=_TENSORFLOW),
    Install("litert", "litert", brings=frozenset({"ai_edge_litert"})),
    Install("extensions", "extensions", brings=frozenset({"onnxruntime_extensions"}), like="nothing"),
    Install("tensorflow-cpu", packages=("tensorflow-cpu",), brings=_TENSORFLOW, like="tensorflow"),
    Install("onnxruntime-gpu", packages=("onnxruntime-gpu",), brings=_ONNX_RUNTIME, like="onnxruntime"),
)
