"""Fitted estimators of scikit-learn, LightGBM and XGBoost, exported by skl2onnx and onnxmltools.

``estimators/models.npz`` holds them with a probe and the estimators' own predictions; ``estimators/fit.py`` wrote it.
The SavedModel must give ONNX Runtime's labels and be as near to the estimator's float64 predictions as that is.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest
import tensorflow as tf
from onnx import TensorProto

import trueport
from tests.cells import grid
from tests.grid.harness import assert_close, run_ort
from tests.models import model_of
from trueport.fidelity import UNSUPPORTED, accumulation

STORED = Path(__file__).parent / "estimators" / "models.npz"
FACTOR = 8
"""How much farther from the estimator than ONNX Runtime the SavedModel may be: that of verify."""


@functools.cache
def _stored() -> dict[str, np.ndarray]:
    with np.load(STORED) as archive:
        return dict(archive)


def _names() -> list[str]:
    with np.load(STORED) as archive:
        return [key.partition("|")[0] for key in archive.files if key.endswith("|model")]


def _flat(value: Any) -> list[np.ndarray]:
    """ONNX Runtime's output as the parts of a signature: a list of maps is its keys and a row of values per map."""
    if not isinstance(value, list):
        return [np.asarray(value)]
    if value and isinstance(value[0], dict):
        keys = list(value[0])
        return [np.array(keys), np.array([[row[key] for key in keys] for row in value], np.float32)]
    return [np.asarray(item) for item in value]


def _run(folder: Path, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    loaded = tf.saved_model.load(str(folder)).signatures["serving_default"]
    made = loaded(**{name: tf.constant(array) for name, array in feeds.items()})
    return {name: array.numpy() for name, array in made.items()}


def _same(got: np.ndarray, want: np.ndarray, estimated: np.ndarray | None, label: str) -> None:
    if want.dtype.kind in "OSU":
        plain = [x.decode() if isinstance(x, bytes) else x for x in got.ravel()]
        assert plain == [str(x) for x in want.ravel()], label
        assert got.shape == want.shape, label
        return
    if estimated is None or estimated.dtype.kind not in "fc" or want.dtype.kind != "f":
        assert_close(got, want, accumulation(16), 64, label)
        return
    reference = estimated.reshape(want.shape).astype(np.float64)
    assert got.shape == want.shape and got.dtype == want.dtype, label
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want), label)
    scale = np.nanmax(np.abs(reference), initial=0)
    floor = np.nanmax(np.abs(want - reference), initial=0) + 4 * np.finfo(np.float32).eps * scale
    worst = np.nanmax(np.abs(got - reference), initial=0)
    assert worst <= FACTOR * floor, f"{label}: {worst} from the estimator, ONNX Runtime {floor}"


def _estimates(name: str, model: onnx.ModelProto) -> list[np.ndarray | None]:
    """The estimator's own prediction for each output, None where it has none."""
    methods = ["transform"] if f"{name}|transform" in _stored() and len(model.graph.output) == 1 else []
    methods = methods or ["predict", "predict_proba"]
    return [_stored().get(f"{name}|{method}") for method in methods] + [None] * len(model.graph.output)


WITHOUT_MAPPING = {"count-words": "com.microsoft::Tokenizer", "tf-idf": "com.microsoft::Tokenizer"}
"""Exports with an operator that has no mapping: check and convert name it."""


@grid({name: name for name in _names()}, quick=10)
def test_estimators(cell: str, tmp_path: Path) -> None:
    model = onnx.ModelProto.FromString(_stored()[f"{cell}|model"].tobytes())
    probe = _stored()[f"{cell}|X"]
    probe = probe.astype(object) if probe.dtype.kind == "U" else probe
    report = trueport.check(model, to="tensorflow")
    if operator := WITHOUT_MAPPING.get(cell):
        assert report.fidelity == UNSUPPORTED
        with pytest.raises(trueport.errors.Unsupported, match=f"{operator} has no mapping"):
            trueport.convert(model, verify=False)
        return
    assert report.fidelity < UNSUPPORTED, report
    made = trueport.convert(model, verify=False)
    made.save(tmp_path / "saved")
    feed = model.graph.input[0].name
    for rows in (1, 5, len(probe)):
        want = run_ort(model, {feed: probe[:rows]})
        got = _run(tmp_path / "saved", {made.report.inputs[0].parts[0]: probe[:rows]})
        for port, value, estimated in zip(made.report.outputs, want, _estimates(cell, model), strict=False):
            flat = _flat(value)
            parts = [got[part] for part in port.parts]
            if len(flat) == 2 and len(parts) == 2:
                order = [list(map(str, _plain(parts[0]))).index(str(key)) for key in flat[0]]
                flat, parts = flat[1:], [parts[1][:, order]]
            if port.kind == "sequence":
                # A list of tensors: values and shapes joined.
                flat, parts = [np.concatenate([x.ravel() for x in flat])], parts[:1]
            for part, expected in zip(parts, flat, strict=True):
                sized = estimated is not None and estimated[:rows].size == expected.size
                _same(part, expected, estimated[:rows] if sized else None, f"{cell} {port.name}")


def _plain(keys: np.ndarray) -> list[Any]:
    return [key.decode() if isinstance(key, bytes) else key for key in keys.ravel()]


LINEAR = {
    f"{op}-{rows}-{spare}-{known}-{transform}": (op, rows, spare, known, transform)
    for op in ("LinearClassifier", "LinearRegressor")
    for rows in (1, 2, 3)
    for spare in (0, 1, 4, 7)
    for known in (True, False)
    for transform in ("NONE", "LOGISTIC", "SOFTMAX")
    # ONNX Runtime transforms no single score, but the logistic one of a classifier.
    if rows > 1 or transform == "NONE" or (op, transform) == ("LinearClassifier", "LOGISTIC")
}


@grid(LINEAR, quick=4)
def test_linear_models_with_spare_coefficients(cell: tuple[str, int, int, bool, str]) -> None:
    """ONNX Runtime reads as many coefficients as rows of features need, and ignores the rest."""
    op, rows, spare, known, transform = cell
    random = np.random.default_rng(rows)
    attributes: dict[str, Any] = {
        "coefficients": random.normal(size=rows * (4 + spare)).tolist(),
        "intercepts": random.normal(size=rows).tolist(),
        "post_transform": transform,
    }
    if op == "LinearClassifier":
        attributes["classlabels_ints"] = list(range(10, 10 + max(rows, 2)))
        outputs = [
            oh.make_tensor_value_info("label", TensorProto.INT64, None),
            oh.make_tensor_value_info("scores", TensorProto.FLOAT, None),
        ]
    else:
        attributes["targets"] = rows
        outputs = [oh.make_tensor_value_info("scores", TensorProto.FLOAT, None)]
    model = model_of(
        [oh.make_node(op, ["X"], [value.name for value in outputs], "linear", domain="ai.onnx.ml", **attributes)],
        [oh.make_tensor_value_info("X", TensorProto.FLOAT, ["n", 4 if known else "features"])],
        outputs,
        opsets=[oh.make_opsetid("ai.onnx.ml", 3)],
    )
    made = trueport.convert(model, verify=False)
    for size in (1, 3, 5):
        X = random.normal(size=(size, 4)).astype(np.float32)
        for value, want in zip(outputs, run_ort(model, {"X": X}), strict=True):
            assert_close(made.model(tf.constant(X))[value.name].numpy(), want, accumulation(4), 4, value.name)
