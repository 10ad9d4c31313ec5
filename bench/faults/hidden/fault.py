"""What a hidden fault is, and how its models are run without Trueport."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

__all__ = ["Feeds", "HiddenFault", "differ", "run_model"]

Feeds = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class HiddenFault:
    """A source, and a target that is wrong on inputs that are rarely drawn."""

    family: str
    name: str
    what: str
    """one line: what is wrong, and on which inputs it shows"""
    make: Callable[[Path], tuple[Any, Any]]
    """given an empty folder for files: source and faulty target, as `verify` takes them"""
    witness: Callable[[], Feeds]
    """an input on which source and target differ"""
    ordinary: Callable[[], Feeds]
    """an input on which they do not"""
    options: Callable[[], Mapping[str, Any]] = dict
    """makes further arguments of `verify`"""


def run_model(model: Any, feeds: Feeds) -> list[np.ndarray]:
    """Return the outputs of an ONNX model or file, a PyTorch module or a TensorFlow function in its own runtime."""
    if isinstance(model, onnx.ModelProto | Path):
        return _run_onnx(model, feeds)
    if type(model).__module__.startswith("tensorflow"):
        import tensorflow as tf

        result = model(*map(tf.constant, feeds.values()))
        return [np.asarray(value) for value in tf.nest.flatten(result)]
    import torch

    with torch.no_grad():
        result = model(*(torch.from_numpy(np.asarray(value)) for value in feeds.values()))
    return [value.numpy() for value in (result if isinstance(result, tuple) else (result,))]


def _run_onnx(model: onnx.ModelProto | Path, feeds: Feeds) -> list[np.ndarray]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    loaded = str(model) if isinstance(model, Path) else model.SerializeToString()
    session = onnxruntime.InferenceSession(loaded, options, providers=["CPUExecutionProvider"])
    names = [port.name for port in session.get_inputs()]
    results: list[np.ndarray] = session.run(None, dict(zip(names, feeds.values(), strict=True)))
    return results


def differ(source: Any, target: Any, feeds: Feeds, rtol: float = 1e-3, atol: float = 1e-4) -> bool:
    """True if the outputs differ in shape or by more than the tolerance, or only the target fails."""
    wanted = run_model(source, feeds)
    try:
        got = run_model(target, feeds)
    except Exception:  # any runtime's own error type: the source ran
        return True
    return any(not _same(a, b, rtol, atol) for a, b in zip(wanted, got, strict=True))


def _same(a: np.ndarray, b: np.ndarray, rtol: float, atol: float) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind not in "fc":
        return bool((a == b).all())
    return bool(np.allclose(a, b, rtol, atol, equal_nan=True))
