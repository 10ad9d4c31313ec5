"""NaN and infinities in extremes, orders and choices: PyTorch and TensorFlow to ONNX, PyTorch and ONNX to TensorFlow.

Each cell is one operator on one row: what the source framework gives is expected, bit for bit but for the sign of zero.
Where ONNX Runtime's kernel has no order for NaN, the check must tell; docs/order.md lists these.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort
import pytest
import tensorflow as tf
import torch
from torch.nn import functional as F

import trueport
from tests.cells import grid
from tests.families.orders import Runs, is_same, run_onnx_in_tensorflow, run_tensorflow, run_torch, special_rows
from tests.torch.speed import one_registry
from trueport.fidelity import Verdict

Along = Callable[[Any, int], Any]
ELEMENTWISE: Mapping[str, Callable[[torch.Tensor], Any]] = {
    "relu": F.relu,
    "relu6": F.relu6,
    "hardtanh": F.hardtanh,
    "clamp": lambda x: x.clamp(-1, 1),
    "clamp-of-two-kinds": lambda x: x.clamp(-0.5, 1),
    "clamp-below-infinity": lambda x: x.clamp(-0.5, float("inf")),
    "clamp-by-nan": lambda x: x.clamp(min=float("nan")),
    "clamp-between-nan": lambda x: x.clamp(float("nan"), 1.0),
    "clamp-min": lambda x: x.clamp_min(0.5),
    "clamp-max": lambda x: x.clamp(max=0.5),
    "clamp-by-tensors": lambda x: torch.clamp(x, x.flip(1) - 1, x.flip(1) + 1),
    "maximum": lambda x: torch.maximum(x, x.flip(1)),
    "minimum": lambda x: torch.minimum(x, x.flip(1)),
    "maximum-of-number": lambda x: torch.maximum(x, torch.tensor(0.5, dtype=x.dtype)),
    "fmax": lambda x: torch.fmax(x, x.flip(1)),
    "fmin": lambda x: torch.fmin(x, x.flip(1)),
}
ALONG: Mapping[str, Along] = {
    "amax": torch.amax,
    "amin": torch.amin,
    "max": lambda x, d: x.max(d)[0],
    "min": lambda x, d: x.min(d)[0],
    "aminmax-least": lambda x, d: torch.aminmax(x, dim=d)[0],
    "aminmax-most": lambda x, d: torch.aminmax(x, dim=d)[1],
    "norm-inf": lambda x, d: torch.linalg.vector_norm(x, float("inf"), d),
    "cummax": lambda x, d: x.cummax(d)[0],
    "cummax-index": lambda x, d: x.cummax(d)[1],
    "cummin": lambda x, d: x.cummin(d)[0],
    "cummin-index": lambda x, d: x.cummin(d)[1],
    "median": lambda x, d: x.median(d)[0],
    "median-index": lambda x, d: x.median(d)[1],
    "nanmedian": lambda x, d: x.nanmedian(d)[0],
}
SORTS: Mapping[str, Along] = {
    "sort": lambda x, d: x.sort(dim=d)[0],
    "sort-descending": lambda x, d: x.sort(dim=d, descending=True)[0],
    "sort-index": lambda x, d: x.sort(dim=d, stable=True)[1],
    "sort-descending-index": lambda x, d: x.sort(dim=d, stable=True, descending=True)[1],
    "argsort": lambda x, d: x.argsort(dim=d, stable=True),
    "topk-of-all": lambda x, d: x.topk(x.shape[d], d)[0],
    "kthvalue-least": lambda x, d: x.kthvalue(1, d)[0],
    "kthvalue-most": lambda x, d: x.kthvalue(x.shape[d], d)[0],
}
UNORDERED: Mapping[str, Along] = {
    "argmax": torch.argmax,
    "argmin": torch.argmin,
    "max-index": lambda x, d: x.max(d)[1],
    "min-index": lambda x, d: x.min(d)[1],
    "topk": lambda x, d: x.topk(2, d)[0],
    "topk-least": lambda x, d: x.topk(2, d, largest=False)[0],
}
"""ONNX Runtime's kernels have no order for NaN, and the check tells."""
BY_VALUE: Mapping[str, Along] = {"mode": lambda x, d: x.mode(d)[0]}
"""What PyTorch itself gives for NaN depends on the order of the row."""
CONFIGURATIONS = [
    *(("onnx", dtype, count) for dtype, count in (("float32", 40), ("float32", 7), ("float16", 40), ("float64", 40))),
    *(("tensorflow", dtype, count) for dtype, count in (("float32", 40), ("float32", 7), ("float64", 40))),
]


@pytest.fixture(autouse=True, scope="module")
def exporter_reads_its_library_once() -> Iterator[None]:
    with one_registry():
        yield


def functions() -> dict[str, Callable[[torch.Tensor], Any]]:
    """All of them, each result with a row per row of the input; ``/0`` works along the first axis."""
    found = dict(ELEMENTWISE)
    for name, along in {**ALONG, **SORTS, **UNORDERED, **BY_VALUE}.items():
        found[f"{name}/1"] = functools.partial(_along_last, along)
        found[f"{name}/0"] = functools.partial(_along_first, along)
    return found


def _along_last(along: Along, x: torch.Tensor) -> Any:
    return along(x, 1)


def _along_first(along: Along, x: torch.Tensor) -> Any:
    made = along(x.t().contiguous(), 0)
    return made if made.dim() == 1 else made.t()


def is_compared(name: str, row: str, to: str, dtype: str) -> bool:
    """False where no order is promised."""
    kind = name.split("/")[0]
    if "nan" not in row:
        return True
    if kind in BY_VALUE:
        return False
    return to == "tensorflow" or not (kind in UNORDERED or (kind in SORTS and dtype == "float64"))


@functools.cache
def converted(to: str, dtype: str, count: int) -> tuple[list[str], Mapping[str, np.ndarray], Runs]:
    rows = special_rows(count)
    x = np.stack(list(rows.values())).astype(dtype)
    with torch.no_grad():
        want = {name: function(torch.from_numpy(x)).numpy() for name, function in functions().items()}
    return list(rows), want, run_torch(functions(), x, to)


@grid(
    {
        f"{to}-{dtype}-{count}-{name}-{row}": (to, dtype, count, name, row)
        for to, dtype, count in CONFIGURATIONS
        for name in functions()
        for row in special_rows(count)
        if is_compared(name, row, to, dtype)
    },
    quick=2,
)
def test_torch(cell: tuple[str, str, int, str, str]) -> None:
    *configuration, name, row = cell
    rows, want, runs = converted(*configuration)
    for way, results in runs.items():
        at = rows.index(row)
        assert is_same(results[name][at], want[name][at]), (way, results[name][at], want[name][at])


TF_FUNCTIONS: Mapping[str, Callable[[Any], Any]] = {
    "relu": tf.nn.relu,
    "relu6": tf.nn.relu6,
    "clip_by_value": lambda x: tf.clip_by_value(x, tf.constant(-1, x.dtype), tf.constant(1, x.dtype)),
    "maximum": lambda x: tf.maximum(x, tf.reverse(x, [1])),
    "minimum": lambda x: tf.minimum(x, tf.reverse(x, [1])),
    "reduce_max": lambda x: tf.reduce_max(x, 1),
    "reduce_min": lambda x: tf.reduce_min(x, 1),
    "reduce_max/0": lambda x: tf.reduce_max(tf.transpose(x), 0),
    "reduce_min/0": lambda x: tf.reduce_min(tf.transpose(x), 0),
    "argmax": lambda x: tf.argmax(x, 1),
    "argmin": lambda x: tf.argmin(x, 1),
    "argmax/0": lambda x: tf.argmax(tf.transpose(x), 0),
    "sort": lambda x: tf.sort(x, 1),
    "argsort": lambda x: tf.argsort(x, 1, stable=True),
    "top_k": lambda x: tf.math.top_k(x, 2)[0],
    "top_k-index": lambda x: tf.math.top_k(x, 2)[1],
}
TF_UNORDERED = frozenset({"sort", "argsort", "top_k", "top_k-index"})
"""TensorFlow's own kernel has no order for NaN."""


@functools.cache
def converted_tensorflow(dtype: str, count: int) -> tuple[list[str], Mapping[str, np.ndarray], Runs]:
    rows = special_rows(count)
    x = np.stack(list(rows.values())).astype(dtype)
    want = {name: function(tf.constant(x)).numpy() for name, function in TF_FUNCTIONS.items()}
    return list(rows), want, run_tensorflow(TF_FUNCTIONS, x)


@grid(
    {
        f"{dtype}-{count}-{name}-{row}": (dtype, count, name, row)
        for dtype, count in (("float32", 40), ("float32", 7), ("float64", 40), ("float16", 40))
        for name in TF_FUNCTIONS
        for row in special_rows(count)
        if "nan" not in row or name not in TF_UNORDERED
    },
    quick=2,
)
def test_tensorflow_to_onnx(cell: tuple[str, int, str, str]) -> None:
    *configuration, name, row = cell
    rows, want, runs = converted_tensorflow(*configuration)
    for way, results in runs.items():
        at = rows.index(row)
        assert is_same(results[name][at], want[name][at]), (way, results[name][at], want[name][at])


_HEAD = '<ir_version: 10, opset_import: ["": 21]> g (float[{rows},{count}] x) => ({outputs}) '
_ONNX_NODES = {
    "Relu": "Relu(x)",
    "Clip": "Clip(x, low, high)",
    "Max": "Max(x, other)",
    "Min": "Min(x, other)",
    "ReduceMax": "ReduceMax<keepdims=0>(x, axes)",
    "ReduceMin": "ReduceMin<keepdims=0>(x, axes)",
    "ArgMax": "ArgMax<axis=1, keepdims=0>(x)",
    "ArgMin": "ArgMin<axis=1, keepdims=0>(x)",
    "TopK": "TopK<axis=1>(x, k)",
    "TopK-least": "TopK<axis=1, largest=0>(x, k)",
}
_NUMPY: Mapping[str, Callable[[np.ndarray], Any]] = {
    "ReduceMax": lambda x: np.max(x, 1),
    "ReduceMin": lambda x: np.min(x, 1),
    "ArgMax": lambda x: np.argmax(x, 1),
    "ArgMin": lambda x: np.argmin(x, 1),
    "TopK": lambda x: np.flip(np.sort(x, 1), 1)[:, :3],
    "TopK-least": lambda x: np.sort(x, 1)[:, :3],
}
"""Where ONNX Runtime has no order for NaN: NumPy, to which ONNX refers."""


def _declared(name: str, at: int) -> str:
    """An output as ONNX's text form has it; extremes have one axis."""
    dims = f"A{at}" if name.startswith(("Arg", "Reduce")) else f"A{at}, B{at}"
    return f"{'int64' if name.startswith('Arg') else 'float'}[{dims}] {name}"


def onnx_model(rows: int, count: int) -> Any:
    names = [name.replace("-", "_") for name in _ONNX_NODES]
    outputs = [_declared(name, at) for at, name in enumerate(names)]
    steps = [
        f"{name}, {name}_index = {call}" if name.startswith("TopK") else f"{name} = {call}"
        for name, call in zip(names, _ONNX_NODES.values(), strict=True)
    ]
    constants = (
        "<int64[1] axes = {1}, int64[1] k = {3}, float low = {-1}, float high = {1}, int64[1] first = {-1}, "
        "int64[1] end = {-1000000}, int64[1] back = {-1}>"
    )
    body = " ".join(["other = Slice(x, first, end, axes, back)", *steps])
    head = _HEAD.format(rows=rows, count=count, outputs=", ".join(outputs))
    return onnx.parser.parse_model(f"{head}{constants} {{ {body} }}")


@functools.cache
def converted_onnx(count: int) -> tuple[list[str], np.ndarray, Mapping[str, np.ndarray], Mapping[str, np.ndarray]]:
    rows = special_rows(count)
    x = np.stack(list(rows.values())).astype(np.float32)
    model = onnx_model(*x.shape)
    names = [item.name for item in model.graph.output]
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return list(rows), x, dict(zip(names, session.run(names, {"x": x}), strict=True)), run_onnx_in_tensorflow(model, x)


@grid(
    {
        f"{count}-{name}-{row}": (count, name, row)
        for count in (40, 7)
        for name in _ONNX_NODES
        for row in special_rows(7)
    },
    quick=2,
)
def test_onnx_to_tensorflow(cell: tuple[int, str, str]) -> None:
    count, name, row = cell
    rows, x, source, target = converted_onnx(count)
    at, key = rows.index(row), name.replace("-", "_")
    want = _NUMPY[name](x)[at] if "nan" in row and name in _NUMPY else source[key][at]
    assert np.array_equal(target[key][at], want, equal_nan=True), (target[key][at], want)


class Chooses(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.argmax(1)


def test_what_has_no_order_is_told_and_seen(tmp_path: Path) -> None:
    x = torch.tensor([[1.0, float("nan"), 2.0], [3.0, 1.0, 2.0]])
    told = trueport.check(Chooses().eval(), to="onnx", example_inputs=(x,)).remarks
    assert [remark.rule for remark in told if "ArgMax" in remark.where] == ["nan-in-orderings"]
    report = trueport.convert(Chooses().eval(), to="onnx", example_inputs=(x,), data=[{"x": x.numpy()}]).report
    assert report.verdict == Verdict.DEPARTS
    assert trueport.convert(Chooses().eval(), to="onnx", example_inputs=(x,)).report.verdict == Verdict.FAITHFUL


def test_sorts_and_extremes_are_not_told() -> None:
    class Sorts(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return x.sort(1)[0], x.amax(1), x.nan_to_num(0.0).argmax(1), (x > 0).long().argmax(1)

    told = trueport.check(Sorts().eval(), to="onnx", example_inputs=(torch.ones(2, 5),)).remarks
    assert "nan-in-orderings" not in {remark.rule for remark in told}
