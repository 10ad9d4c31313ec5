"""Classic machine learning against ONNX Runtime: encoders, scalers, linear models, maps."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest
from onnx import TensorProto

from tests.grid.classic_ml import ML, NUMBERS, TRANSFORMS, ml, node_model, numbers, strings
from tests.grid.harness import assert_close, run_ort
from trueport.backend import prepare
from trueport.fidelity import ulps


@pytest.mark.parametrize("dtype", NUMBERS)
def test_array_feature_extractor(dtype: Any) -> None:
    ml(
        "ArrayFeatureExtractor",
        [numbers((2, 3, 4), dtype), np.array([3, 0])],
        [numbers((1, 5, 4), dtype), np.array([1])],
    )
    ml("ArrayFeatureExtractor", [numbers((4,), dtype), np.array([[3, 0]])])


def test_array_feature_extractor_of_strings() -> None:
    ml("ArrayFeatureExtractor", [strings("a", "é"), np.array([1])])


def test_binarizer() -> None:
    ml("Binarizer", [np.array([[1, 1.5, 2, -np.inf, np.inf]], np.float32)], threshold=1.5)


@pytest.mark.parametrize("dtype", NUMBERS[1:])
@pytest.mark.parametrize("threshold", [0.5, -1.0, 1e30, -1e30])
def test_binarizer_of_other_types(dtype: Any, threshold: float) -> None:
    # ONNX Runtime has it for float32 only.
    model = node_model("Binarizer", [np.arange(-3, 4).astype(dtype)], 1, threshold=threshold)
    x = np.arange(-3, 4).astype(dtype)
    (got,) = prepare(model).run([x])
    np.testing.assert_array_equal(got, (x > threshold).astype(dtype))


@pytest.mark.parametrize("replaced", [np.nan, 1.0])
def test_imputer(replaced: float) -> None:
    x = np.array([[1, np.nan, 2], [np.nan, 1, 1]], np.float32)
    ml("Imputer", [x], [x[:1]], imputed_value_floats=[9.0, 8.0, 7.0], replaced_value_float=replaced)
    ml("Imputer", [x], imputed_value_floats=[9.0], replaced_value_float=replaced)
    ml("Imputer", [np.array([[1, 2], [3, 1]])], imputed_value_int64s=[9], replaced_value_int64=1)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_scaler(dtype: Any) -> None:
    ml("Scaler", [numbers((3, 2), dtype)], [numbers((5, 2), dtype)], offset=[0.3, -2.0], scale=[1.7, 3.0])
    ml("Scaler", [numbers((4,), dtype)], offset=[0.5], scale=[2.0])


@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
@pytest.mark.parametrize("dtype", NUMBERS)
def test_normalizer(norm: str, dtype: Any) -> None:
    x = np.array([[-5, 3, 1], [0, 0, 0], [-1, -2, -3]]).astype(dtype)
    ml("Normalizer", [x], [x[:1]], terms=3, norm=norm)
    ml("Normalizer", [x[0]], terms=3, norm=norm)


def test_normalizer_with_nan() -> None:
    x = np.array([[1, np.nan, 2]], np.float32)
    for norm in ("MAX", "L1", "L2"):
        ml("Normalizer", [x], terms=3, norm=norm)


@pytest.mark.parametrize(
    ("keys", "x"),
    [
        ({"keys_strings": ["a", "é", "a", ""]}, strings("é", "a", "", "b", "")),
        ({"keys_int64s": [3, -(2**63), 3, 2**63 - 1]}, np.array([3, -(2**63), 2**63 - 1, 0])),
        (
            {"keys_floats": [1.5, float("nan"), 0.0, float("inf")]},
            np.array([np.nan, 1.5, -0.0, np.inf, -np.inf], np.float32),
        ),
    ],
)
@pytest.mark.parametrize(
    "values",
    [
        {"values_strings": ["w", "x", "ÿ", "z"], "default_string": "none"},
        {"values_int64s": [2**60 + 1, 2, 3, 4], "default_int64": -7},
        {"values_floats": [0.1, float("nan"), float("inf"), -0.0]},
    ],
)
def test_label_encoder(keys: dict[str, Any], x: np.ndarray, values: dict[str, Any]) -> None:
    ml("LabelEncoder", [x.reshape(1, -1)], [x.reshape(-1, 1)[:2]], opset=4, **keys, **values)


def test_label_encoder_by_tensors() -> None:
    def tensor(items: Any, dtype: Any) -> onnx.TensorProto:
        return onnx.numpy_helper.from_array(np.array(items, dtype), "t")

    x = np.array([1.5, np.nan, 7], np.float64)
    tables = {"keys_tensor": tensor([np.nan, 1.5], np.float64), "values_tensor": tensor([4.25, -1], np.float64)}
    ml("LabelEncoder", [x], opset=4, default_tensor=tensor([0.1], np.float64), **tables)
    tables = {"keys_tensor": tensor(["a", "b"], object), "values_tensor": tensor([300, -5], np.int16)}
    ml("LabelEncoder", [strings("b", "a", "c")], opset=4, default_tensor=tensor([9], np.int16), **tables)


def test_category_mapper() -> None:
    table = {"cats_strings": ["a", "b", "a"], "cats_int64s": [1, 2, 3]}
    ml("CategoryMapper", [strings("a", "b", "z")], **table)
    table = {"cats_strings": ["a", "b", "c"], "cats_int64s": [1, 2, 1]}
    ml("CategoryMapper", [np.array([[1, 2], [1, 8]])], **table)


@pytest.mark.parametrize("dtype", NUMBERS[:3])  # ONNX Runtime has no int32 here.
def test_one_hot_encoder(dtype: Any) -> None:
    ml("OneHotEncoder", [np.array([[1, 2.7], [3, 9]]).astype(dtype)], cats_int64s=[1, 2, 3])
    ml("OneHotEncoder", [np.array([1]).astype(dtype)], cats_int64s=[1, 1, 3])


def test_one_hot_encoder_of_strings() -> None:
    ml("OneHotEncoder", [strings("b", "z", "a")], cats_strings=["a", "b"])


def test_one_hot_encoder_refuses_unknown_categories() -> None:
    x = np.array([9])
    rep = prepare(node_model("OneHotEncoder", [x], 1, cats_int64s=[1, 2], zeros=0))
    np.testing.assert_array_equal(rep.run([np.array([2])])[0], [[0, 1]])
    with pytest.raises(Exception, match="unknown category"):
        rep.run([x])


@pytest.mark.parametrize("widths", [[2, 1], [1, 1], [3, 2]])
def test_feature_vectorizer(widths: list[int]) -> None:
    ml(
        "FeatureVectorizer",
        [numbers((2, 2)), numbers((2, 1))],
        [numbers((4, 2)), numbers((4, 1))],
        inputdimensions=widths,
    )
    ml("FeatureVectorizer", [numbers((2,)), numbers((1,))], inputdimensions=widths)
    ml("FeatureVectorizer", [numbers((2, 2), np.int64)], inputdimensions=widths[:1])


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_linear_regressor(transform: str) -> None:
    x = np.random.default_rng(0).uniform(0.1, 0.3, (5, 3)).astype(np.float32)
    given = {"coefficients": [0.3, 0.5, 0.7, 0.2, 0.1, 0.9], "intercepts": [0.1, 0.2], "targets": 2}
    ml("LinearRegressor", [x], [x[:1]], terms=4, post_transform=transform, **given)
    if transform == "NONE":  # ONNX Runtime leaves out the others for a single target.
        ml("LinearRegressor", [x[0]], terms=4, post_transform=transform, coefficients=[0.3, 0.5, 0.7], intercepts=[0.2])


def test_probit() -> None:
    """By the same formula as ONNX Runtime's, whose own rounding error is large around 1/2."""
    p = np.concatenate([np.linspace(0.001, 0.999, 500), [0, 1, 0.5, 1.5, -0.1, 1e-20]]).astype(np.float32)
    model = node_model(
        "LinearRegressor", [p[:, None]], 1, coefficients=[1.0], intercepts=[0.0], post_transform="PROBIT"
    )
    (got,) = prepare(model).run([p[:, None]])
    with np.errstate(all="ignore"):
        x = (2 * p - 1).astype(np.float64)
        log = np.log((1 - x) * (1 + x))
        half = 2 / (np.pi * 0.147) + log / 2
        exact = np.sqrt(2) * np.sign(x) * np.sqrt(np.sqrt(half * half - log / 0.147) - half)
    assert_close(got[:, 0], exact, ulps(16), label="probit")
    np.testing.assert_allclose(got, run_ort(model, {"x0": p[:, None]})[0], rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("dtype", NUMBERS)
def test_linear_classifier(transform: str, dtype: Any) -> None:
    x = numbers((6, 3), dtype)
    given = {"coefficients": [0.3, 0.5, 0.7, 0.2, 0.1, 0.9, 0.4, 0.4, 0.4], "intercepts": [0.1, 0.2, 0.15]}
    ml(
        "LinearClassifier",
        [x],
        [x[:2]],
        outputs=2,
        terms=4,
        post_transform=transform,
        classlabels_ints=[5, 6, -1],
        **given,
    )
    ml(
        "LinearClassifier",
        [x[0]],
        outputs=2,
        terms=4,
        post_transform=transform,
        classlabels_strings=["a", "b", "ç"],
        **given,
    )


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC"])
def test_linear_classifier_with_one_score(transform: str) -> None:
    given = {"coefficients": [1.0, -2.0], "intercepts": [0.1], "post_transform": transform}
    ml("LinearClassifier", [numbers((6, 2))], outputs=2, terms=3, classlabels_strings=["no", "yes"], **given)


def map_model(op: str, key: int, value: int, output: onnx.ValueInfoProto, **attributes: Any) -> onnx.ModelProto:
    kind = oh.make_map_type_proto(key, oh.make_tensor_type_proto(value, []))
    node = oh.make_node(op, ["m"], ["y"], domain=ML, **attributes)
    graph = oh.make_graph([node], "g", [oh.make_value_info("m", kind)], [output])
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", 21), oh.make_opsetid(ML, 3)], ir_version=10)


@pytest.mark.parametrize("value", [TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64])
def test_dict_vectorizer_by_strings(value: int) -> None:
    dtype = oh.tensor_dtype_to_np_dtype(value)
    output = oh.make_tensor_value_info("y", value, [1, None])
    model = map_model("DictVectorizer", TensorProto.STRING, value, output, string_vocabulary=["é", "b", "c"])
    rep = prepare(model)
    for given, want in (({"c": 3, "é": 1, "zz": 9}, [1, 0, 3]), ({"b": 2}, [0, 2, 0]), ({}, [0, 0, 0])):
        (got,) = rep.run([given])
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, [want])
        if dtype == np.float32 and given:  # Python can give ONNX Runtime no other maps.
            np.testing.assert_array_equal(got, run_ort(model, {"m": given})[0])


@pytest.mark.parametrize("value", [TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.STRING])
def test_dict_vectorizer_by_integers(value: int) -> None:
    output = oh.make_tensor_value_info("y", value, [1, None])
    model = map_model("DictVectorizer", TensorProto.INT64, value, output, int64_vocabulary=[5, -1, 7])
    texts = value == TensorProto.STRING
    given = {7: "seven", 5: "cinq", 8: "x"} if texts else {7: 0.5, 5: 1.25, 8: 9.0}
    np.testing.assert_array_equal(prepare(model).run([given])[0], [["cinq", "", "seven"] if texts else [1.25, 0, 0.5]])


CASTS = {
    ("FLOAT", "TO_FLOAT"): [-2.5, 1.75, 4.0],
    ("FLOAT", "TO_INT64"): [-2, 1, 4],
    ("FLOAT", "TO_STRING"): ["-2.500000", "1.750000", "4.000000"],
    ("STRING", "TO_FLOAT"): [-2.0, 17.0, 40.0],
    ("STRING", "TO_INT64"): [-2, 17, 40],
    ("STRING", "TO_STRING"): ["-2", "17", "40"],
}


@pytest.mark.parametrize(("value", "cast"), CASTS)
@pytest.mark.parametrize("form", ["DENSE", "SPARSE"])
def test_cast_map(value: str, cast: str, form: str) -> None:
    kind = {"TO_FLOAT": TensorProto.FLOAT, "TO_INT64": TensorProto.INT64, "TO_STRING": TensorProto.STRING}[cast]
    output = oh.make_tensor_value_info("y", kind, [1, None])
    source = TensorProto.DataType.Value(value)
    model = map_model("CastMap", TensorProto.INT64, source, output, cast_to=cast, map_form=form, max_map=5)
    given: dict[int, Any] = {3: 1.75, 1: -2.5, 7: 4.0} if value == "FLOAT" else {3: "17", 1: "-2", 7: "40"}
    (got,) = prepare(model).run([given])
    first, second, third = CASTS[value, cast]
    nothing = "0.f" if cast == "TO_STRING" else 0
    want = [first, second, third] if form == "DENSE" else [nothing, first, nothing, second, nothing]
    assert got.tolist() == [want]
    if value == "FLOAT":  # Python can give ONNX Runtime no other maps.
        assert run_ort(model, {"m": given})[0].tolist() == [want]


@pytest.mark.parametrize("labels", [{"classlabels_strings": ["a", "é"]}, {"classlabels_int64s": [4, -1]}])
def test_zip_map(labels: dict[str, Any]) -> None:
    key = TensorProto.STRING if "classlabels_strings" in labels else TensorProto.INT64
    kind = oh.make_sequence_type_proto(oh.make_map_type_proto(key, oh.make_tensor_type_proto(TensorProto.FLOAT, [])))
    node = oh.make_node("ZipMap", ["x"], ["y"], domain=ML, **labels)
    declared = [oh.make_tensor_value_info("x", TensorProto.FLOAT, [None, 2])]
    graph = oh.make_graph([node], "g", declared, [oh.make_value_info("y", kind)])
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 21), oh.make_opsetid(ML, 3)], ir_version=10)
    rep = prepare(model)
    for rows in (3, 1, 0):
        x = numbers((rows, 2))
        assert list(rep.run([x])[0]) == run_ort(model, {"x": x})[0]
