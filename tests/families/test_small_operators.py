"""Operators of a few lines, at the sizes, ranks and magnitudes where a kernel of TensorFlow departs from ONNX.

The reference is ONNX's own, or NumPy in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort
import tensorflow as tf
from onnx.reference import ReferenceEvaluator

import trueport
from tests.cells import grid


def _parsed(inputs: str, body: str) -> onnx.ModelProto:
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> g ({inputs}) => () {{ {body} }}')
    model.graph.output.append(onnx.ValueInfoProto(name="y"))
    return onnx.shape_inference.infer_shapes(model)


def _converted(model: onnx.ModelProto, **feeds: np.ndarray) -> np.ndarray:
    return np.asarray(trueport.convert(model, to="tensorflow", verify=False).model(**feeds)["y"])


_AXES = {"none": None, "first": 0, "middle": 1, "last": -1}
_CONDITIONS = {
    "shorter": [True, False],
    "longer": [True, False, True, True, False] * 12,
    "none": [False] * 3,
    "beyond": [False] * 40 + [True] * 20,
}


@grid({f"{axis}-{length}": (axis, length) for axis in _AXES for length in _CONDITIONS}, quick=3)
def test_compress_by_conditions_of_any_length(cell: tuple[str, str]) -> None:
    axis, condition = _AXES[cell[0]], np.array(_CONDITIONS[cell[1]])
    attribute = "" if axis is None else f"<axis={axis}>"
    model = _parsed("float[n, 3, 4] x, bool[c] k", f"y = Compress{attribute}(x, k)")
    for count in (1, 2, 5):
        data = np.arange(count * 12, dtype=np.float32).reshape(count, 3, 4)
        picked = np.flatnonzero(condition)
        picked = picked[picked < (data.size if axis is None else data.shape[axis])]
        np.testing.assert_array_equal(_converted(model, x=data, k=condition), np.take(data, picked, axis))


_BASES = {"scalar": "<keepdims=0>", "vector": "<keepdims=0>", "matrix": "<keepdims=1>"}
_EXPONENTS = (0, 1, 2, 3, 0.5, -0.5, -1, -2)


@grid(
    {
        f"{base}-{rank}-{exponent}": (base, rank, exponent)
        for base in _BASES
        for rank in (1, 2, 3)
        for exponent in _EXPONENTS
    },
    quick=4,
)
def test_powers_of_fewer_axes_than_the_exponent(cell: tuple[str, int, float]) -> None:
    base, rank, exponent = cell
    axes = {"scalar": "{0, 1}", "vector": "{0}", "matrix": "{0}"}[base]
    count = 2 if base == "scalar" else 1
    body = (
        f"a = Constant<value = int64[{count}] {axes}>()\n b = ReduceSum{_BASES[base]}(x, a)\n"
        f"k = Constant<value = float[{','.join('1' * rank)}] {{{exponent}}}>()\n y = Pow(b, k)"
    )
    model = _parsed("float[3, 4] x", body)
    data = np.random.default_rng(1).random((3, 4), np.float32) + 1
    (want,) = ReferenceEvaluator(model).run(None, {"x": data})
    found = _converted(model, x=data)
    assert found.shape == want.shape
    np.testing.assert_allclose(found, want, rtol=8 * np.finfo(np.float32).eps)


_MAGNITUDES = (1e-37, 1e-30, 1e-24, 1e-21, 1e-10, 1.0, 1e10, 1e17)
_NORMS = {
    "LpNormalization": ("LpNormalization<axis=-1, p=2>(x)", lambda x: x / np.linalg.norm(x, axis=-1, keepdims=True)),
    "LpNormalization 1": ("LpNormalization<axis=0, p=1>(x)", lambda x: x / np.abs(x).sum(0, keepdims=True)),
    "ReduceL2": ("ReduceL2<keepdims=1>(x)", lambda x: np.sqrt((x * x).sum(keepdims=True))),
    "ReduceL1": ("ReduceL1<keepdims=1>(x)", lambda x: np.abs(x).sum(keepdims=True)),
}


@grid({f"{name}-{size}": (name, size) for name in _NORMS for size in _MAGNITUDES}, quick=3)
def test_norms_of_any_magnitude(cell: tuple[str, float]) -> None:
    body, formula = _NORMS[cell[0]]
    data = (np.random.default_rng(2).normal(size=(3, 5)) * cell[1]).astype(np.float32)
    found = _converted(_parsed("float[n, 5] x", f"y = {body}"), x=data)
    np.testing.assert_allclose(found, formula(data.astype(np.float64)), rtol=16 * np.finfo(np.float32).eps)


def test_a_product_of_vectors_is_no_dense_layer(tmp_path: Any) -> None:
    """Its result has no axes; what looks like the end of a dense layer is a Reshape to a scalar."""

    def call(x: Any) -> Any:
        norm = tf.math.reduce_euclidean_norm(x, -2)
        return tf.tensordot(norm, norm, [[0], [0]])

    source = tf.function(call).get_concrete_function(tf.TensorSpec([None, 4], tf.float32, "x"))
    trueport.convert(source, to="onnx", verify=False).save(tmp_path / "model.onnx")
    for count in (1, 2, 5):
        data = np.random.default_rng(3).normal(size=(count, 4)).astype(np.float32)
        (found,) = ort.InferenceSession(tmp_path / "model.onnx").run(None, {"x": data})
        np.testing.assert_allclose(found, (data.astype(np.float64) ** 2).sum(), rtol=1e-6)
