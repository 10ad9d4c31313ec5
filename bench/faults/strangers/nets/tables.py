"""Classical models, strings, quantized operators, fused operators of ONNX Runtime."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto

from bench.faults.strangers.nets.sketch import Sketch, net

__all__ = ["NETS"]

_ML, _MS = "ai.onnx.ml", "com.microsoft"


def _tree_classifier(s: Sketch) -> onnx.ModelProto:
    """Two trees of three leaves, as converters of scikit-learn write a forest."""
    x = s.input("x", ["N", 3])
    ids = [n for _ in range(2) for n in range(5)]
    label, shares = s(
        "TreeEnsembleClassifier", x, domain=_ML, outputs=2,
        nodes_treeids=[0] * 5 + [1] * 5, nodes_nodeids=ids, nodes_featureids=[0, 0, 1, 0, 0, 2, 0, 0, 0, 0],
        nodes_values=[0.25, 0.0, -0.5, 0.0, 0.0, 0.0, 0.0, 0.75, 0.0, 0.0], nodes_hitrates=[1.0] * 10,
        nodes_modes=["BRANCH_LEQ", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"] * 2,
        nodes_truenodeids=[1, 0, 3, 0, 0] * 2, nodes_falsenodeids=[2, 0, 4, 0, 0] * 2,
        class_treeids=[t for t in range(2) for _ in range(9)],
        class_nodeids=[n for _ in range(2) for n in (1, 3, 4) for _ in range(3)],
        class_ids=[0, 1, 2] * 6, class_weights=list(s.rng.dirichlet(np.ones(3), 6).reshape(-1) / 2),
        classlabels_int64s=[10, 20, 30], post_transform="NONE",
    )  # fmt: skip
    return s.finish(s.declare(label, ["N"], TensorProto.INT64), s.declare(shares, ["N", 3]))


def _tree_regressor(s: Sketch) -> onnx.ModelProto:
    x = s.input("x", ["N", 4])
    whole = s.declare(
        s("Imputer", x, imputed_value_floats=[0.5, -0.5, 1.0, 0.0], replaced_value_float=0.0, domain=_ML), ["N", 4]
    )
    y = s(
        "TreeEnsembleRegressor", whole, domain=_ML, n_targets=2, aggregate_function="AVERAGE",
        nodes_treeids=[0] * 3 + [1] * 3, nodes_nodeids=[0, 1, 2] * 2, nodes_featureids=[1, 0, 0, 3, 0, 0],
        nodes_values=[0.3, 0.0, 0.0, -0.2, 0.0, 0.0],
        nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_GT", "LEAF", "LEAF"],
        nodes_truenodeids=[1, 0, 0] * 2, nodes_falsenodeids=[2, 0, 0] * 2,
        target_treeids=[0] * 4 + [1] * 4, target_nodeids=[1, 1, 2, 2] * 2, target_ids=[0, 1] * 4,
        target_weights=[0.5, -0.7, 1.9, 0.25, -1.25, 0.4, 0.8, -0.3], post_transform="NONE",
    )  # fmt: skip
    return s.finish(s.declare(s("Tanh", y), ["N", 2]), whole)


def _linear_classifier(s: Sketch) -> onnx.ModelProto:
    x = s.input("x", ["N", 3])
    scaled = s("Scaler", x, offset=[0.5, -0.5, 0.1], scale=[1.0, 0.4, 2.5], domain=_ML)
    normal = s("Normalizer", scaled, norm="L1", domain=_ML)
    label, shares = s(
        "LinearClassifier", normal, domain=_ML, outputs=2, coefficients=[float(n) for n in s.rng.normal(size=9)],
        intercepts=[0.1, -0.3, 0.2], classlabels_strings=["cat", "dog", "owl"], post_transform="SOFTMAX", multi_class=1,
    )  # fmt: skip
    return s.finish(s.declare(label, ["N"], TensorProto.STRING), s.declare(shares, ["N", 3]))


def _support_vectors(s: Sketch) -> onnx.ModelProto:
    x = s.input("x", ["N", 3])
    y = s(
        "SVMRegressor", x, domain=_ML, kernel_type="RBF", kernel_params=[0.4, 0.0, 3.0], n_supports=4, rho=[0.3],
        coefficients=[0.6, -0.9, 0.4, -0.1], support_vectors=[float(n) for n in s.rng.normal(size=12)],
        post_transform="NONE",
    )  # fmt: skip
    return s.finish(s.declare(y, ["N", 1]))


def _words(s: Sketch) -> onnx.ModelProto:
    text = s.input("text", ["N", 3], TensorProto.STRING)
    ids = s(
        "LabelEncoder", text, keys_strings=["a", "b", "c", "d"], values_int64s=[2, 0, 3, 1], default_int64=4, domain=_ML
    )
    s.declare(ids, ["N", 3], TensorProto.INT64)
    hot = s("OneHotEncoder", ids, cats_int64s=[0, 1, 2, 3], zeros=1, domain=_ML)
    embedded = s("Gather", s.weight(5, 4), ids, axis=0)
    return s.finish(
        ids, s.declare(hot, ["N", 3, 4]), s.declare(s("ReduceSum", embedded, s.integers(1), keepdims=0), ["N", 4])
    )


def _integer_layers(s: Sketch) -> onnx.ModelProto:
    """QLinearConv and QLinearMatMul, as an integer-only export has them."""
    x = s.input("x", ["N", 3, 6, 6])

    def pair(scale: float, zero: int, dtype: type) -> tuple[str, str]:
        return s.constant(np.float32(scale)), s.constant(np.asarray(zero, dtype))

    def levels(*shape: int) -> str:
        return s.constant(s.rng.integers(-120, 120, size=shape).astype(np.int8))

    first, middle, last = pair(0.03, 128, np.uint8), pair(0.05, 110, np.uint8), pair(0.09, 120, np.uint8)
    q = s("QuantizeLinear", x, *first)
    scales, zeros = s.constant(np.linspace(0.004, 0.011, 4).astype(np.float32)), s.constant(np.zeros(4, np.int8))
    bias = s.constant(s.rng.integers(-800, 800, size=4).astype(np.int32))
    y = s("QLinearConv", q, *first, levels(4, 3, 3, 3), scales, zeros, *middle, bias, pads=[1, 1, 1, 1], strides=[2, 2])
    flat = s("Flatten", y)
    z = s("QLinearMatMul", flat, *middle, levels(36, 5), *pair(0.006, 2, np.int8), *last)
    return s.finish(s("DequantizeLinear", z, *last))


def _integer_products(s: Sketch) -> onnx.ModelProto:
    a = s.input("a", ["N", 2, 5, 5], TensorProto.UINT8)
    zero = s.constant(np.uint8(9))
    w = s.constant(s.rng.integers(-100, 100, size=(3, 2, 2, 2)).astype(np.int8))
    y = s("ConvInteger", a, w, zero, s.constant(np.int8(4)), pads=[0, 1, 1, 0])
    m = s.constant(s.rng.integers(0, 255, size=(5, 4)).astype(np.uint8))
    z = s("MatMulInteger", a, m, zero, s.constant(np.uint8(100)))
    return s.finish(y, z, s("Mul", s("Cast", z, to=TensorProto.FLOAT), s.number(0.01)))


def _blocks(s: Sketch) -> onnx.ModelProto:
    """Weights of 4 bits with a scale for every 8 of them."""
    x = s.input("x", ["N", 16])
    stored = s.constant(s.rng.integers(-8, 8, size=(16, 6)).astype(ml_dtypes.int4))
    scales = s.constant((s.rng.random((2, 6)) * 0.1 + 0.02).astype(np.float32))
    w = s("DequantizeLinear", stored, scales, s.constant(np.ones((2, 6), ml_dtypes.int4)), axis=0, block_size=8)
    return s.finish(s("Relu", s("MatMul", x, w)))


def _fused(s: Sketch) -> onnx.ModelProto:
    x = s.input("x", ["N", 4, 8])
    y = s("FusedMatMul", x, s.weight(8, 8), transB=1, alpha=0.7, domain=_MS)
    y = s("BiasGelu", y, s.weight(8), domain=_MS)
    z = s("SkipLayerNormalization", y, x, s.weight(8, shift=1), s.weight(8), s.weight(8), epsilon=1e-3, domain=_MS)
    w = s("QuickGelu", z, alpha=1.5, domain=_MS)
    v = s("FastGelu", w, s.weight(8), domain=_MS)
    return s.finish(s.declare(v, ["N", 4, 8]), s.declare(z, ["N", 4, 8]))


def _fused_attention(s: Sketch) -> onnx.ModelProto:
    x = s.input("x", ["N", 5, 8])
    q, k, v = (s.declare(s("MatMul", x, s.weight(8, 8)), ["N", 5, 8]) for _ in range(3))
    y = s("MultiHeadAttention", q, k, v, s.weight(24), num_heads=2, scale=0.45, domain=_MS)
    return s.finish(s.declare(s("Add", x, y), ["N", 5, 8]))


NETS = (
    net("tree_classifier", _tree_classifier),
    net("tree_regressor", _tree_regressor),
    net("linear_classifier", _linear_classifier),
    net("support_vectors", _support_vectors),
    net("words", _words, texts={"text": ("a", "b", "c", "d", "z")}),
    net("integer_layers", _integer_layers),
    net("integer_products", _integer_products, bounds={"a": (0, 255)}),
    net("blocks", _blocks),
    net("fused", _fused),
    net("fused_attention", _fused_attention),
)
