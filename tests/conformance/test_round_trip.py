"""There and back: ONNX, a SavedModel, ONNX again: the same numbers under the same names, types and dims."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx.helper as oh
import onnx_ir as ir
import pytest
from onnx import numpy_helper
from onnx.backend.test.case.test_case import TestCase
from onnxruntime.quantization import QuantFormat

from tests.conformance import suite
from tests.conformance.known import RANDOM
from tests.conformance.single_nodes import RANDOM_NODES, SINGLE_NODES, Example
from tests.conformance.test_saved import CASES
from tests.conformance.trip import compare, trip
from tests.grid import test_quantized_models as quantized_models
from tests.grid.harness import run_ort
from trueport.errors import Unsupported
from trueport.ir.schemas import operators
from trueport.pipeline import convert, convert_file
from trueport.runtimes.onnxruntime import OnnxRuntimeModel

OTHER_CASES = {
    "StringNormalizer": "test_strnorm_model_nostopwords_nochangecase",
}
"""Cases in place of the smallest: with letters that keep their case."""

CANNOT_RETURN = {
    "ImageDecoder": "ONNX Runtime has no kernel for ImageDecoder, and no other operators read compressed images",
}
"""Operators that become TensorFlow's own, for which there is nothing in ONNX that runs."""

NO_RETURN = {
    "test_string_split_maxsplit": "strips characters that Unicode calls spaces; ONNX splits there, but does not strip",
    "test_strnorm_model_monday_casesensintive_upper": "changes the case of any letter; ONNX does so by a locale only",
}
"""Cases of operators that come back in other forms."""

EVERY = 2
"""Of the suite's cases every second one is run by default."""


def _case_names() -> dict[str, str]:
    chosen = {**CASES, **OTHER_CASES}
    return {op: name for op, name in chosen.items() if op not in CANNOT_RETURN}


FAMILIES = (
    "test_cast_no_saturate_FLOAT16_to_FLOAT8E4M3FN",
    "test_cast_no_saturate_FLOAT_to_FLOAT8E5M2",
    "test_cast_FLOAT16_to_INT4",
    "test_castlike_UINT4_to_FLOAT",
    "test_dft_axis",
    "test_identity_opt",
    "test_if_opt",
    "test_loop16_seq_none",
    "test_optional_get_element_optional_sequence",
    "test_range_bfloat16_type_positive_delta_expanded",
    "test_sequence_insert_at_front",
    "test_tfidfvectorizer_tf_batch_uniandbigrams_skip5",
)
"""One case of each family that did not come back once."""
NAMES = sorted({*_case_names().values(), *FAMILIES})


def test_every_operator_makes_the_trip() -> None:
    named = {f"{domain}::{op}" if domain else op for domain, op in operators()}
    assert named == set(_case_names()) | {op.split()[0] for op in SINGLE_NODES} | set(CANNOT_RETURN)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if i % EVERY else ()) for i, n in enumerate(NAMES)]
)
def test_cases_of_the_suite(name: str, tmp_path: Path) -> None:
    case = suite.cases()[name]
    model = suite.model_of(case)
    inputs, expected = next(iter(suite.data_of(case, model)))
    compare(case, model, inputs, expected, trip(model, inputs, tmp_path), random=name in RANDOM)


@pytest.mark.parametrize("op", sorted(SINGLE_NODES))
def test_single_nodes(op: str, tmp_path: Path) -> None:
    example: Example = SINGLE_NODES[op]()
    case = TestCase(op, op, None, None, None, None, "node", 1e-5, 1e-6)
    made = trip(example.model, example.inputs, tmp_path)
    compare(case, example.model, example.inputs, example.expected, made, random=op in RANDOM_NODES)


@pytest.mark.parametrize("name", [*NO_RETURN, *(CASES[op] for op in CANNOT_RETURN)])
def test_what_does_not_return_is_refused(name: str, tmp_path: Path) -> None:
    convert(suite.model_of(suite.cases()[name]), verify=False).save(tmp_path / "saved")
    with pytest.raises(Unsupported):
        convert_file(tmp_path / "saved", tmp_path / "back.onnx", verify=False)
    assert not (tmp_path / "back.onnx").exists()


# --- Quantization parameters

_SCALES = np.array([0.1, 0.2, 0.3, 0.4], np.float32)
_HALF = np.array(0.05, np.float32)
_NARROW = np.arange(16).reshape(4, 4) - 8
_BLOCKS = np.linspace(0.5, 1.5, 8, dtype=np.float32).reshape(2, 4)

QUANTIZE: dict[str, tuple[np.ndarray, np.ndarray, dict[str, int]]] = {
    "uint8": (_HALF, np.array(3, np.uint8), {}),
    "uint8 at zero": (_HALF, np.array(0, np.uint8), {}),
    "int8": (_HALF, np.array(-7, np.int8), {}),
    "uint16": (_HALF, np.array(300, np.uint16), {}),
    "int16": (_HALF, np.array(0, np.int16), {}),
    "int4": (_HALF, np.array(1, ml_dtypes.int4), {}),
    "uint4": (_HALF, np.array(9, ml_dtypes.uint4), {}),
    "float8": (_HALF, np.array(0, ml_dtypes.float8_e4m3fn), {}),
    "per channel": (_SCALES, np.array([1, -2, 3, 0], np.int8), {"axis": 1}),
    "per channel at zero": (_SCALES, np.zeros(4, np.int8), {"axis": 1}),
    "per block": (_BLOCKS, np.arange(8, dtype=np.uint8).reshape(2, 4), {"axis": 0, "block_size": 2}),
    "halves": (np.array(0.05, np.float16), np.array(3, np.uint8), {}),
}


@pytest.mark.parametrize("kind", QUANTIZE)
def test_quantization_comes_back(kind: str, tmp_path: Path) -> None:
    scale, zero_point, attributes = QUANTIZE[kind]
    real = oh.np_dtype_to_tensor_dtype(scale.dtype)
    rows = 4 if "block_size" in attributes else "N"
    nodes = [
        oh.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], **attributes),
        oh.make_node("DequantizeLinear", ["q", "s", "z"], ["y"], **attributes),
    ]
    border = [oh.make_tensor_value_info(name, real, [rows, 4]) for name in "xy"]
    back = _back(_model(nodes, border[:1], border[1:], {"s": scale, "z": zero_point}), tmp_path)
    assert [node.op_type for node in back.graph.node] == ["QuantizeLinear", "DequantizeLinear"]
    for node in back.graph.node:
        _same_parameters(back, node, scale, zero_point, attributes)
    x = np.linspace(-7, 9, 16).reshape(4, 4).astype(scale.dtype)
    np.testing.assert_array_equal(_run(back, {"x": x}), _run(tmp_path / "first.onnx", {"x": x}))


WEIGHTS: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, int]]] = {
    "int8": (_NARROW.astype(np.int8), _HALF, np.array(2, np.int8), {}),
    "per channel": (_NARROW.astype(np.int8), _SCALES, np.array([1, -2, 3, 0], np.int8), {"axis": 1}),
    "per row": (_NARROW.astype(np.int8), _SCALES, np.zeros(4, np.int8), {"axis": 0}),
    "int32": (_NARROW.astype(np.int32), _HALF, np.array(0, np.int32), {}),
    "int4 per block": (
        _NARROW.astype(ml_dtypes.int4),
        _BLOCKS,
        np.zeros((2, 4), ml_dtypes.int4),
        {"axis": 0, "block_size": 2},
    ),
}


@pytest.mark.parametrize("kind", WEIGHTS)
def test_quantized_weights_come_back(kind: str, tmp_path: Path) -> None:
    weights, scale, zero_point, attributes = WEIGHTS[kind]
    nodes = [
        oh.make_node("DequantizeLinear", ["w", "s", "z"], ["v"], **attributes),
        oh.make_node("MatMul", ["x", "v"], ["y"]),
    ]
    border = [oh.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["N", 4]) for name in "xy"]
    back = _back(_model(nodes, border[:1], border[1:], {"w": weights, "s": scale, "z": zero_point}), tmp_path)
    assert [node.op_type for node in back.graph.node] == ["DequantizeLinear", "MatMul"]
    (node, _) = back.graph.node
    _same_array(_constant(back, node.input[0]), weights)
    _same_parameters(back, node, scale, zero_point, attributes)
    x = np.linspace(-7, 9, 8, dtype=np.float32).reshape(2, 4)
    np.testing.assert_array_equal(_run(back, {"x": x}), _run(tmp_path / "first.onnx", {"x": x}))


@pytest.mark.parametrize("name", quantized_models.MODELS)
def test_quantized_models_come_back(name: str, tmp_path: Path) -> None:
    model = quantized_models.static(name, tmp_path, QuantFormat.QDQ, quantized_models.TYPES[0])
    back = _back(model, tmp_path)
    assert _parameters(back) == _parameters(model)
    x = quantized_models.floats(*quantized_models.MODELS[name][1], seed=90)
    np.testing.assert_array_equal(run_ort(back, {"x": x})[0], run_ort(model, {"x": x})[0])


def _parameters(model: onnx.ModelProto) -> Counter[Any]:
    """How often each operator of quantization stands in a model with each scale and zero point."""
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    return Counter(
        (node.op_type, *((stored[name].dtype.name, stored[name].tobytes()) for name in node.input[1:]))
        for node in model.graph.node
        if node.op_type in ("QuantizeLinear", "DequantizeLinear")
    )


def _model(
    nodes: list[onnx.NodeProto],
    inputs: list[onnx.ValueInfoProto],
    outputs: list[onnx.ValueInfoProto],
    constants: dict[str, np.ndarray],
) -> onnx.ModelProto:
    stored = [ir.to_proto(ir.tensor(array, name=name)) for name, array in constants.items()]
    graph = oh.make_graph(nodes, "g", inputs, outputs, stored)
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", 23)], ir_version=11)


def _back(model: onnx.ModelProto, folder: Path) -> onnx.ModelProto:
    onnx.save(model, folder / "first.onnx")
    convert(model, verify=False).save(folder / "saved")
    convert_file(folder / "saved", folder / "back.onnx", verify=False)
    return onnx.load(folder / "back.onnx")


def _run(model: Path | onnx.ModelProto, feeds: dict[str, np.ndarray]) -> np.ndarray:
    return np.asarray(OnnxRuntimeModel(model).run(feeds)["y"])


def _same_parameters(
    model: onnx.ModelProto, node: onnx.NodeProto, scale: np.ndarray, zero_point: np.ndarray, attributes: dict[str, int]
) -> None:
    _same_array(_constant(model, node.input[1]), scale)
    _same_array(_constant(model, node.input[2]), zero_point)
    assert {a.name: a.i for a in node.attribute} == attributes


def _constant(model: onnx.ModelProto, name: str) -> np.ndarray:
    return numpy_helper.to_array(next(tensor for tensor in model.graph.initializer if tensor.name == name))


def _same_array(got: np.ndarray, want: np.ndarray) -> None:
    assert (got.dtype, got.shape, got.tobytes()) == (want.dtype, want.shape, want.tobytes())
