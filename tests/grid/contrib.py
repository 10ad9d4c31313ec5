"""One node of ONNX Runtime's own domain: ONNX infers no types for it, so they are taken from the runtime's results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh

from tests.grid.harness import assert_close, make_model, run_ort
from trueport.backend import prepare
from trueport.backends.tensorflow.registry import registry
from trueport.fidelity import ErrorBound, ulps

__all__ = ["check_contrib", "floats", "integers", "scalar", "with_outputs_like"]

_MS = "com.microsoft"


def scalar(value: float, dtype: Any = np.float32) -> np.ndarray:
    return np.array(value, dtype)


def integers(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> np.ndarray:
    info = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(info.min, info.max + 1, shape).astype(dtype)


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def with_outputs_like(model: onnx.ModelProto, results: Sequence[np.ndarray]) -> onnx.ModelProto:
    """The model with outputs of the types and ranks of these results."""
    declared = [
        oh.make_tensor_value_info(
            value.name, oh.np_dtype_to_tensor_dtype(array.dtype), [f"{value.name}_d{k}" for k in range(array.ndim)]
        )
        for value, array in zip(model.graph.output, results, strict=True)
    ]
    del model.graph.output[:]
    model.graph.output.extend(declared)
    return model


def _rename_outputs(graph: onnx.GraphProto, names: Sequence[str]) -> None:
    """An output without a name is left out."""
    graph.node[0].output[:] = names
    del graph.output[:]
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name)


def check_contrib(
    op: str,
    *input_sets: Sequence[np.ndarray | None],
    outputs: int | Sequence[str] = 1,
    terms: int = 1,
    constants: Sequence[int] = (),
    bound: ErrorBound | None = None,
    domain: str = _MS,
    onnx_opset: int | None = None,
    **attributes: Any,
) -> None:
    """Convert once, run every input set, compare with ONNX Runtime within the declared bound."""
    names = [f"y{i}" for i in range(outputs)] if isinstance(outputs, int) else outputs
    model = make_model(op, input_sets, len(names), domain=domain, opset=onnx_opset, constants=constants)
    _rename_outputs(model.graph, names)
    kept = {name: value for name, value in attributes.items() if value is not None}
    model.graph.node[0].attribute.extend(oh.make_attribute(name, value) for name, value in kept.items())
    # The runtime defines some of its own in ONNX's domain, too.
    mapping = registry().find(op, domain) or registry().find(op, _MS)
    assert mapping is not None
    feeds_of = [
        {f"x{i}": a for i, a in enumerate(arrays) if a is not None and i not in constants} for arrays in input_sets
    ]
    expected = [run_ort(model, feeds) for feeds in feeds_of]
    rep = prepare(with_outputs_like(model, expected[0]))
    for feeds, want in zip(feeds_of, expected, strict=True):
        got = rep.run(feeds)
        for index, (g, w) in enumerate(zip(got, want, strict=True)):
            assert_close(g, w, bound or mapping.error or ulps(0), terms, f"{op} output {index}")
