"""Constants that a TensorFlow target holds are read, and compared with the source's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import trueport
from tests.verifying.test_causes_families import recurrent
from tests.verifying.test_causes_language import HEAD, first, model
from trueport.ir.ports import Port
from trueport.verifying.inputs.pairing import _pair_outputs

RNG = np.random.default_rng(5)
ML = HEAD.replace("]", ', "ai.onnx.ml": 3]', 1)


def classic(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(ML + text)


def saved(source: onnx.ModelProto, folder: Path) -> str:
    trueport.convert(source, to="tensorflow", verify=False).save(folder / "saved")
    return str(folder / "saved")


def encoder(keys: str) -> onnx.ModelProto:
    attributes = f"keys_strings = [{keys}], values_int64s = [2, 0, 3, 1], default_int64 = -1"
    return classic(f"a (string[4] x) => (int64[4] y) {{ y = ai.onnx.ml.LabelEncoder <{attributes}> (x) }}")


def test_keys_that_are_kept_in_another_order(tmp_path: Path) -> None:
    target = saved(encoder('"a", "b", "d", "c"'), tmp_path)
    feeds = {"x": np.array(["a", "b", "c", "d"], object)}
    cause = first(encoder('"a", "b", "c", "d"'), target, feeds)
    assert cause.what == "attribute 'keys_strings' is ['a', 'b', 'd', 'c'], the source has ['a', 'b', 'c', 'd']"


def labels(names: str) -> onnx.ModelProto:
    numbers = "coefficients = [0.5, -0.6, 0.3, -0.1, -1.1, 0.6, -0.7, 0.9, -1.5], intercepts = [0.1, -0.3, 0.2]"
    node = f"ai.onnx.ml.LinearClassifier <classlabels_strings = [{names}], {numbers}> (x)"
    return classic(f"a (float[8,3] x) => (string[8] y, float[8,3] z) {{ y, z = {node} }}")


def test_labels_that_the_target_gives_as_bytes(tmp_path: Path) -> None:
    target = saved(labels('"owl", "dog", "cat"'), tmp_path)
    cause = first(labels('"cat", "dog", "owl"'), target, {"x": RNG.normal(size=(8, 3)).astype(np.float32)})
    assert cause.what.startswith("attribute 'classlabels_strings' is ['owl', 'dog', 'cat']")


def test_rows_of_a_recurrent_weight(tmp_path: Path) -> None:
    source, target = recurrent("LSTM"), recurrent("LSTM", names="stu")
    weight = next(one for one in target.graph.initializer if one.name == "t")
    array = onnx.numpy_helper.to_array(weight).copy()
    array[:, [3, 5]] = array[:, [5, 3]]
    weight.CopyFrom(onnx.numpy_helper.from_array(array, "t"))
    cause = first(source, saved(target, tmp_path), {"x": RNG.normal(size=(5, 2, 4)).astype(np.float32)})
    assert "weight 'R' differs in 6 of 36 elements: the source's are in the order" in cause.what


def test_a_quantized_weight(tmp_path: Path) -> None:
    weight = RNG.integers(-99, 99, (2, 3, 2, 2)).astype(np.int8)
    other = weight.copy()
    other[0, 1, 1, 0] -= 70
    text = "a (uint8[1,3,6,6] x) => (int32[1,2,5,5] y) { y = ConvInteger(x, w) }"
    feeds = {"x": RNG.integers(0, 255, (1, 3, 6, 6)).astype(np.uint8)}
    cause = first(model(text, w=weight), saved(model(text, w=other), tmp_path), feeds)
    assert cause.what.startswith("weight 'w' differs in 1 of 24 elements")


def scan(weight: Any) -> onnx.ModelProto:
    body = "b (float[4] s, float[4] t) => (float[4] u, float[4] o) { u = MatMul(s, w) o = Add(u, t) }"
    node = f"y, z = Scan <num_scan_inputs = 1, body = {body}> (h, x)"
    return model(f"a (float[4] h, float[7,4] x) => (float[4] y, float[7,4] z) {{ {node} }}", w=weight)


def test_a_weight_in_the_body_of_a_loop(tmp_path: Path) -> None:
    weight = (RNG.normal(size=(4, 4)) / 2).astype(np.float32)
    other = weight.copy()
    other[2, 1] *= np.float32(1.4)
    feeds = {"h": RNG.normal(size=4).astype(np.float32), "x": RNG.normal(size=(7, 4)).astype(np.float32)}
    cause = first(scan(weight), saved(scan(other), tmp_path), feeds)
    assert cause.what.startswith("weight 'B of MatMul u in its body' differs in 1 of 16 elements")


@pytest.mark.parametrize(("count", "said"), [(4, "operand 'K' is [4], the source has [3]")])
def test_a_count(count: int, said: str, tmp_path: Path) -> None:
    text = "a (float[8,9] x) => (float[N,M] y, int64[N,M] i) { y, i = TopK(x, k) }"
    source, target = (model(text, k=np.array([n], np.int64)) for n in (3, count))
    cause = first(source, saved(target, tmp_path), {"x": RNG.normal(size=(8, 9)).astype(np.float32)})
    assert said in cause.what


def test_a_number_that_only_the_target_holds(tmp_path: Path) -> None:
    text = "a (float[4,6] x) => (float[4,5] y) {{ y = Gemm <alpha = {0}> (x, w, b) }}"
    arrays = {"w": RNG.normal(size=(6, 5)).astype(np.float32), "b": RNG.normal(size=5).astype(np.float32)}
    source, target = (model(text.format(alpha), **arrays) for alpha in ("1.0", "1.01"))
    cause = first(source, saved(target, tmp_path), {"x": RNG.normal(size=(4, 6)).astype(np.float32)})
    assert cause.what == "it behaves as with alpha = 1.01, the source has 1"


def normalized(weight: Any, folded: bool) -> onnx.ModelProto:
    rng = np.random.default_rng(7)
    scale, bias, mean, variance = ((np.abs(rng.normal(size=8)) + 0.3).astype(np.float32) for _ in range(4))
    head = "a (float[2,4,7,7] x) => (float[2,8,5,5] y)"
    if not folded:
        text = f"{head} {{ c = Conv(x, w) y = BatchNormalization(c, s, b, m, v) }}"
        return model(text, w=weight, s=scale, b=bias, m=mean, v=variance)
    by = scale / np.sqrt(variance + np.float32(1e-5))
    return model(f"{head} {{ y = Conv(x, k, o) }}", k=weight * by.reshape(8, 1, 1, 1), o=bias - mean * by)


@pytest.mark.parametrize("rows", [True, False])
def test_a_weight_that_a_normalization_is_folded_into(rows: bool, tmp_path: Path) -> None:
    weight = RNG.normal(size=(8, 4, 3, 3)).astype(np.float32)
    other = weight.copy()
    if rows:
        other[[2, 5]] = other[[5, 2]]
    else:
        other[3, 1, 0, 2] += 1.5
    feeds = {"x": RNG.normal(size=(2, 4, 7, 7)).astype(np.float32)}
    cause = first(normalized(weight, folded=False), saved(normalized(other, folded=True), tmp_path), feeds)
    assert f"weight 'W' differs in {72 if rows else 1} of 288 elements" in cause.what


def test_two_recurrent_weights_together(tmp_path: Path) -> None:
    source, target = recurrent("GRU"), recurrent("GRU", names="stu")
    for one in target.graph.initializer:
        array = onnx.numpy_helper.to_array(one).copy()
        array.reshape(-1)[4] += 0.5
        one.CopyFrom(onnx.numpy_helper.from_array(array, one.name))
    cause = first(source, saved(target, tmp_path), {"x": RNG.normal(size=(5, 2, 4)).astype(np.float32)})
    assert cause.what == "weights 'W', 'R', 'B' differ"


def test_open_dims_turn_no_output() -> None:
    (found,) = _pair_outputs(
        [Port("y", "tensor", "FLOAT", ("N", 2, 6, 6), ("y",))],
        [Port("y", "tensor", "FLOAT", (None, 2, 11, 6), ("y",))],
        permute=True,
    )
    assert found.perm is None
