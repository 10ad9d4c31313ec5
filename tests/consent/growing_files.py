"""Small ONNX files that describe gigabytes, or that break whoever computes their constants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

__all__ = ["MODELS"]

_MANY = 10**9
_BIG = "big"


def _model(nodes: Sequence[NodeProto], constants: dict[str, Any], claimed: Sequence[int] | None = None) -> Any:
    """Return z = x + size(big); ``claimed`` is the shape that the file declares for ``big``."""
    inputs, outputs = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 2])] for name in "xz"]
    used = [
        helper.make_node("Size", [_BIG], ["size"]),
        helper.make_node("Cast", ["size"], ["float"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["x", "float"], ["z"]),
    ]
    stored = [
        value if isinstance(value, TensorProto) else numpy_helper.from_array(np.asarray(value), name)
        for name, value in constants.items()
    ]
    infos = [] if claimed is None else [helper.make_tensor_value_info(_BIG, TensorProto.INT64, claimed)]
    graph = helper.make_graph([*nodes, *used], "g", inputs, outputs, stored, value_info=infos)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def _of(op: str, claimed: Sequence[int] | None = None, /, **constants: Any) -> Callable[[], Any]:
    """One node of constants, in the order given; names that end in ``_`` are attributes."""
    attributes = {name[:-1]: value for name, value in constants.items() if name.endswith("_")}
    operands = {name: value for name, value in constants.items() if name not in {f"{key}_" for key in attributes}}
    node = helper.make_node(op, list(operands), [_BIG], **attributes)
    return lambda: _model([node], operands, claimed)


def _chain(op: str, length: int, first: Any, **attributes: Any) -> Callable[[], Any]:
    """``op`` of a value and itself, again and again."""
    names = ["first", *(f"v{index}" for index in range(length - 1)), _BIG]
    nodes = [helper.make_node(op, [a, a], [b], **attributes) for a, b in pairwise(names)]
    return lambda: _model(nodes, {"first": first})


def _doubled_shape() -> Any:
    names = ["v0", *(f"v{index}" for index in range(1, 28)), _BIG]
    nodes = [helper.make_node("Concat", [a, a], [b], axis=0) for a, b in pairwise(names)]
    return _model([helper.make_node("Shape", ["x"], ["v0"]), *nodes], {})


def _computed_shape() -> Any:
    """A size that only the propagation of values knows: 1000 · 1000 · 1000."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "one"], ["two"]),
        helper.make_node("Mul", ["two", "thousand"], ["a"]),
        helper.make_node("Mul", ["a", "a"], ["b"]),
        helper.make_node("Mul", ["b", "thousand"], ["c"]),
        helper.make_node("ConstantOfShape", ["c"], ["zeros"]),
        helper.make_node("Add", ["zeros", "float_one"], [_BIG]),
    ]
    return _model(nodes, {"one": [1], "thousand": [1000], "float_one": np.float32(1)})


def _identity_of_vector() -> Any:
    nodes = [helper.make_node("EyeLike", ["zeros"], [_BIG])]
    made = helper.make_node("ConstantOfShape", ["shape"], ["zeros"], value=numpy_helper.from_array(np.array([1])))
    return _model([made, *nodes], {"shape": [40_000, 40_000]}, [2, 2])


def _gathered() -> Any:
    nodes = [
        helper.make_node("Expand", ["zero", "count"], ["places"]),
        helper.make_node("Gather", ["row", "places"], [_BIG]),
    ]
    return _model(nodes, {"zero": [0], "count": [60_000], "row": np.zeros((1, 500), np.int64)}, [4, 4])


def _float_range() -> Any:
    casts = [helper.make_node("Cast", [name], [f"{name}_f"], to=TensorProto.FLOAT) for name in ("a", "b", "c")]
    nodes = [*casts, helper.make_node("Range", ["a_f", "b_f", "c_f"], [_BIG])]
    return _model(nodes, {"a": np.int64(0), "b": np.int64(_MANY), "c": np.int64(1)})


def _endless_loop() -> Any:
    inputs = [
        helper.make_tensor_value_info(*port) for port in (("i", TensorProto.INT64, []), ("c", TensorProto.BOOL, []))
    ]
    outputs = [
        helper.make_tensor_value_info(*port) for port in (("d", TensorProto.BOOL, []), ("o", TensorProto.INT64, []))
    ]
    steps = [helper.make_node("Identity", ["c"], ["d"]), helper.make_node("Identity", ["i"], ["o"])]
    body = helper.make_graph(steps, "body", inputs, outputs)
    return _model(
        [helper.make_node("Loop", ["count", "go"], [_BIG], body=body)], {"count": np.int64(2**62), "go": np.bool_(True)}
    )


def _sparse(dims: Sequence[int], place: int) -> Callable[[], Any]:
    def build() -> Any:
        model = _model([], {})
        sparse = model.graph.sparse_initializer.add(dims=dims)
        sparse.values.CopyFrom(numpy_helper.from_array(np.ones(1, np.float32), _BIG))
        sparse.indices.CopyFrom(numpy_helper.from_array(np.array([place]), "places"))
        return model

    return build


def _weight_without_data() -> Any:
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2**40], raw_data=b"1234")
    return _model([helper.make_node("Identity", ["w"], [_BIG])], {"w": weight})


def _text(length: int) -> onnx.TensorProto:
    return helper.make_tensor("text", TensorProto.STRING, [1], [b"x" * length])


_INT = np.int64
MODELS: dict[str, Callable[[], Any]] = {
    "range": _of("Range", a=_INT(0), b=_INT(_MANY), c=_INT(1)),
    "range-claimed-small": _of("Range", [4], a=_INT(0), b=_INT(_MANY), c=_INT(1)),
    "range-beyond-int64": _of("Range", [4], a=_INT(-(2**63)), b=_INT(2**63 - 1), c=_INT(1)),
    "range-by-zero": _of("Range", a=_INT(0), b=_INT(10), c=_INT(0)),
    "range-of-floats": _float_range,
    "constant-of-shape": _of("ConstantOfShape", shape=[_MANY]),
    "constant-of-shape-claimed-small": _of("ConstantOfShape", [4], shape=[_MANY]),
    "constant-of-shape-overflowing": _of(
        "ConstantOfShape", shape=[2**32, 2**32], value_=numpy_helper.from_array(np.array([1]))
    ),
    "constant-of-computed-shape": _computed_shape,
    "expand": _of("Expand", [4], a=[1], shape=[_MANY]),
    "tile": _of("Tile", [4], a=[1], repeats=[_MANY]),
    "pad": _of("Pad", [4], a=[1], pads=[0, _MANY]),
    "one-hot": _of("OneHot", [1, 4], places=[1], depth=_INT(_MANY), values=[0, 1]),
    "eye-like": _identity_of_vector,
    "gather": _gathered,
    "resize": _of(
        "Resize",
        data=np.zeros((1, 1, 4, 4), np.float32),
        roi=np.zeros(0, np.float32),
        scales=np.float32([1, 1, 2e4, 2e4]),
    ),
    "hann-window": _of("HannWindow", size=_INT(2 * _MANY)),
    "mel-weights": _of(
        "MelWeightMatrix", a=_INT(10**5), b=_INT(10**5), c=_INT(10**5), d=np.float32(0), e=np.float32(8000)
    ),
    "loop": _endless_loop,
    "texts": _of("Expand", text=_text(10**6), shape=[60_000]),
    "squares": _chain("Mul", 60, [3]),
    "doubled-constant": _chain("Concat", 32, [1, 2], axis=0),
    "doubled-shape": _doubled_shape,
    "sparse": _sparse([10**6, 10**6], 5),
    "sparse-out-of-bounds": _sparse([3, 3], 99),
    "weight-without-data": _weight_without_data,
    "index-out-of-bounds": _of("Gather", a=[1, 2], places=[77]),
    "reshape-that-does-not-fit": _of("Reshape", [77], a=[1, 2], shape=[77]),
    "division-by-zero": _of("Div", a=[1, 2], b=[0, 0]),
    "slice-by-zero": _of("Slice", a=[1, 2], starts=[0], ends=[5], axes=[7], steps=[0]),
}
