"""Models of one node for operators that ONNX's suite has no case of, with what ONNX Runtime makes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnx.helper as oh
from onnx import TensorProto

from tests.grid.classic_ml import ML, node_model, numbers, strings
from tests.grid.harness import make_model, run_ort

__all__ = ["RANDOM_NODES", "SINGLE_NODES", "Example"]


class Example(NamedTuple):
    """A model, its inputs and what is expected of it."""

    model: onnx.ModelProto
    inputs: list[Any]
    expected: list[Any]


def _plain(op: str, *inputs: np.ndarray, **attributes: Any) -> Example:
    model = make_model(op, [inputs], opset=21, **attributes)
    return _run(model, list(inputs))


def _ml(op: str, *inputs: np.ndarray, outputs: int = 1, opset: int = 3, **attributes: Any) -> Example:
    return _run(node_model(op, list(inputs), outputs, opset, **attributes), list(inputs))


def _run(model: onnx.ModelProto, inputs: list[Any]) -> Example:
    names = [value.name for value in model.graph.input]
    return Example(model, inputs, run_ort(model, dict(zip(names, inputs, strict=True))))


def _of_map(op: str, given: dict[int, float], **attributes: Any) -> Example:
    kind = oh.make_map_type_proto(TensorProto.INT64, oh.make_tensor_type_proto(TensorProto.FLOAT, []))
    output = oh.make_tensor_value_info("y", TensorProto.FLOAT, [1, None])
    return _run(_ml_graph(op, oh.make_value_info("m", kind), output, **attributes), [given])


def _zip_map() -> Example:
    row = oh.make_map_type_proto(TensorProto.INT64, oh.make_tensor_type_proto(TensorProto.FLOAT, []))
    given = oh.make_tensor_value_info("m", TensorProto.FLOAT, ["N", 2])
    output = oh.make_value_info("y", oh.make_sequence_type_proto(row))
    return _run(_ml_graph("ZipMap", given, output, classlabels_int64s=[4, -1]), [numbers((3, 2))])


def _ml_graph(op: str, given: onnx.ValueInfoProto, made: onnx.ValueInfoProto, **attributes: Any) -> onnx.ModelProto:
    graph = oh.make_graph([oh.make_node(op, ["m"], ["y"], domain=ML, **attributes)], "g", [given], [made])
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", 22), oh.make_opsetid(ML, 3)], ir_version=10)


def _optional() -> Example:
    model = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["" : 22]>
        g (float[N,2] x) => (float[N,2] y, bool h) {
          o = Optional (x)
          y = OptionalGetElement (o)
          h = OptionalHasElement (o)
        }"""
    )
    return _run(model, [numbers((3, 2))])


_SVM = {
    "coefficients": [0.3, -0.5, 0.7, 0.2, 0.1],
    "support_vectors": np.linspace(0, 1, 15).astype(np.float32).tolist(),
    "rho": [0.3],
    "kernel_type": "RBF",
    "kernel_params": [0.7, 0.0, 0.0],
}
_LINEAR = {"coefficients": [0.3, 0.5, 0.7, 0.2, 0.1, 0.9], "intercepts": [0.1, 0.2]}
_TREE: dict[str, Any] = {
    "nodes_treeids": [0] * 5,
    "nodes_nodeids": [0, 1, 2, 3, 4],
    "nodes_featureids": [0, 0, 1, 0, 0],
    "nodes_values": [0.5, 0.0, -0.25, 0.0, 0.0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "BRANCH_LT", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 0, 3, 0, 0],
    "nodes_falsenodeids": [2, 0, 4, 0, 0],
}


def _leaves(prefix: str, ids: list[int]) -> dict[str, Any]:
    names = {"treeids": [0, 0, 0], "nodeids": [1, 3, 4], "ids": ids, "weights": [0.25, 0.5, 1.5]}
    return {**_TREE, **{f"{prefix}_{name}": value for name, value in names.items()}}


def _boxes() -> np.ndarray:
    return np.array([[0, 0, 0, 3, 3], [0, 1, 1, 5, 4]], np.float32)


def _fresh(op: str, *inputs: np.ndarray, **attributes: Any) -> Callable[[], Example]:
    return lambda: _plain(op, *inputs, **attributes)


RANDOM_NODES: dict[str, Callable[[], Example]] = {
    "Multinomial": _fresh("Multinomial", np.log(np.full((5, 4), 0.25, np.float32)), sample_size=7),
    "RandomNormal": _fresh("RandomNormal", shape=[3, 4]),
    "RandomNormalLike": _fresh("RandomNormalLike", np.zeros((3, 4), np.float32)),
    "RandomUniform": _fresh("RandomUniform", shape=[3, 4]),
}
"""Their values are another generator's: only types and shapes can be compared."""

SINGLE_NODES: dict[str, Callable[[], Example]] = {
    **RANDOM_NODES,
    "GlobalLpPool": _fresh("GlobalLpPool", numbers((2, 3, 4, 5)), p=2),
    "MaxRoiPool": _fresh("MaxRoiPool", numbers((1, 2, 6, 6)), _boxes(), pooled_shape=[2, 2], spatial_scale=1.0),
    "Optional": _optional,
    f"{ML}::CastMap": lambda: _of_map("CastMap", {3: 1.75, 1: -2.5}, cast_to="TO_FLOAT", map_form="DENSE"),
    f"{ML}::CategoryMapper": lambda: _ml(
        "CategoryMapper", np.array([[1, 2], [1, 8]]), cats_int64s=[1, 2], cats_strings=["a", "b"], default_string="?"
    ),
    f"{ML}::CategoryMapper of words": lambda: _ml(
        "CategoryMapper", strings("a", "z", "é"), cats_int64s=[1, 2], cats_strings=["a", "é"], default_int64=9
    ),
    f"{ML}::DictVectorizer": lambda: _of_map("DictVectorizer", {7: 0.5, 5: 1.25}, int64_vocabulary=[5, -1, 7]),
    f"{ML}::FeatureVectorizer": lambda: _ml(
        "FeatureVectorizer", numbers((2, 2)), numbers((2, 1)), inputdimensions=[2, 1]
    ),
    f"{ML}::Imputer": lambda: _ml(
        "Imputer", np.array([[1, np.nan, 3]], np.float32), imputed_value_floats=[9.0], replaced_value_float=np.nan
    ),
    f"{ML}::LabelEncoder": lambda: _ml(
        "LabelEncoder", np.array([1, 7, 2]), opset=4, keys_int64s=[1, 2], values_floats=[0.5, 1.5], default_float=-1.0
    ),
    f"{ML}::LinearClassifier": lambda: _ml(
        "LinearClassifier", numbers((4, 3)), outputs=2, classlabels_ints=[5, 6], **_LINEAR
    ),
    f"{ML}::LinearRegressor": lambda: _ml("LinearRegressor", numbers((4, 3)), targets=2, **_LINEAR),
    f"{ML}::Normalizer": lambda: _ml("Normalizer", numbers((3, 4)), norm="L2"),
    f"{ML}::OneHotEncoder": lambda: _ml("OneHotEncoder", np.array([1, 3, 9]), cats_int64s=[1, 2, 3]),
    f"{ML}::OneHotEncoder of words": lambda: _ml("OneHotEncoder", strings("b", "z", "a"), cats_strings=["a", "b"]),
    f"{ML}::SVMClassifier": lambda: _ml(
        "SVMClassifier", numbers((4, 3)), outputs=2, vectors_per_class=[2, 3], classlabels_ints=[4, -1], **_SVM
    ),
    f"{ML}::SVMRegressor": lambda: _ml("SVMRegressor", numbers((4, 3)), n_supports=5, **_SVM),
    f"{ML}::Scaler": lambda: _ml("Scaler", numbers((3, 2)), offset=[0.3, -2.0], scale=[1.7, 3.0]),
    f"{ML}::TreeEnsembleClassifier": lambda: _ml(
        "TreeEnsembleClassifier",
        numbers((6, 2)),
        outputs=2,
        classlabels_int64s=[7, -2, 30],
        **_leaves("class", [0, 1, 2]),
    ),
    f"{ML}::TreeEnsembleRegressor": lambda: _ml(
        "TreeEnsembleRegressor", numbers((6, 2)), n_targets=1, **_leaves("target", [0, 0, 0])
    ),
    f"{ML}::ZipMap": _zip_map,
}
