"""The border of a converted model: names, dims, layouts and cuts that the user asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import onnx
import pytest
import tensorflow as tf

import trueport
from tests.frontends.harness import op_types
from tests.frontends.test_sources import border, converted
from trueport.fidelity import LOSSY, Verdict


def picture_model() -> Any:
    image = keras.Input((8, 8, 3), name="image")
    return keras.Model(image, keras.layers.Conv2D(4, 3, name="conv")(image))


def test_channel_first_at_the_border_leaves_no_transpose(tmp_path: Path) -> None:
    model = converted(picture_model(), tmp_path, inputs_as_nchw=["image"], outputs_as_nchw=["conv"])
    assert border(model) == (["image[batch,3,8,8]"], ["conv[batch,4,6,6]"])
    assert "Transpose" not in op_types(model)


def test_channel_first_gives_the_same_numbers(tmp_path: Path) -> None:
    model = picture_model()
    converted(model, tmp_path, inputs_as_nchw=["image"])
    image = np.random.default_rng(0).normal(size=(2, 8, 8, 3)).astype(np.float32)
    found = trueport.load(tmp_path / "made.onnx").run({"image": image.transpose(0, 3, 1, 2)})["conv"]
    np.testing.assert_allclose(found, model(image), rtol=1e-5, atol=1e-5)


def test_shapes_narrow_inputs(tmp_path: Path) -> None:
    model = converted(picture_model(), tmp_path, shapes={"image": [2, 8, 8, 3]})
    assert border(model) == (["image[2,8,8,3]"], ["conv[2,6,6,4]"])


def test_a_rank_that_is_not_known_is_given_by_a_shape(tmp_path: Path) -> None:
    function = tf.function(lambda x: x + 1, input_signature=[tf.TensorSpec(None, tf.float32, name="x")])
    with pytest.raises(trueport.ConversionError, match="the number of its dims is not known"):
        trueport.convert_file(function, tmp_path / "made.onnx")
    assert not (tmp_path / "made.onnx").exists()
    model = converted(function, tmp_path, shapes={"x": [None, 3]})
    assert border(model) == (["x[batch,3]"], ["output_0[batch,3]"])


def test_an_input_that_is_an_output(tmp_path: Path) -> None:
    x = keras.Input((4,), name="x")
    report = trueport.convert_file(keras.Model(x, [x, keras.ops.exp(x)]), tmp_path / "made.onnx")
    assert report.verdict == Verdict.FAITHFUL
    assert border(onnx.load(tmp_path / "made.onnx"))[1] == ["x.output[batch,4]", "exp[batch,4]"]
    assert "its name got an ending" in str(report)


def test_a_keras_model_cut_at_a_tensor(tmp_path: Path) -> None:
    keras.utils.clear_session()
    source = picture_model()
    with pytest.raises(trueport.UsageError, match="the graph has no tensor 'nothing:0'") as caught:
        trueport.convert_file(source, tmp_path / "made.onnx", outputs=["nothing"])
    name = next(word for word in str(caught.value).replace(",", " ").split() if word.endswith("/convolution"))
    model = converted(source, tmp_path, outputs=[name])
    assert op_types(model).count("Conv") == 1


def test_a_saved_model_cut_at_an_inner_tensor(tmp_path: Path) -> None:
    first = keras.Input((4,), name="x")
    hidden = keras.layers.Dense(3, activation="relu", name="hidden")(first)
    keras.Model(first, keras.layers.Dense(2, name="last")(hidden)).export(str(tmp_path / "saved"), verbose=False)
    with pytest.raises(trueport.UsageError, match="no tensor 'nothing:0'") as caught:
        trueport.convert_file(tmp_path / "saved", tmp_path / "made.onnx", outputs=["nothing"])
    name = next(word for word in str(caught.value).replace(",", " ").split() if word.endswith("/Relu"))
    model = converted(tmp_path / "saved", tmp_path, outputs=[name])
    assert border(model)[1] == [f"{name}[batch,3]"]
    assert op_types(model) == ["MatMul", "Add", "Relu"]


def test_weights_in_a_file_of_their_own(tmp_path: Path) -> None:
    dense = keras.Sequential([keras.Input((64,)), keras.layers.Dense(64)])
    converted(dense, tmp_path, external_data=True)
    (data,) = tmp_path.glob("made.onnx.????????.data")
    assert data.stat().st_size >= 64 * 64 * 4
    converted(dense, tmp_path, external_data=True, overwrite=True)
    (other,) = tmp_path.glob("made.onnx.*")
    assert other != data, "two writings share a data file"


@pytest.mark.parametrize("opset", [13, 18, 26])
def test_the_opset_asked_for(opset: int, tmp_path: Path) -> None:
    assert converted(picture_model(), tmp_path, opset=opset).opset_import[0].version == opset


@pytest.mark.parametrize("dtype", [tf.complex64, tf.string, tf.int32, tf.bool, tf.float16])
def test_all_kinds_of_ports_are_compared(dtype: Any, tmp_path: Path) -> None:
    same = tf.function(lambda x: tf.reverse(x, [0]), input_signature=[tf.TensorSpec([None], dtype, name="x")])
    converted(same, tmp_path)


def doubled_by_python() -> Any:
    def call(x: Any) -> Any:
        return tf.ensure_shape(tf.numpy_function(lambda v: v * 2, [tf.nn.relu(x)], tf.float32), [None, 2]) + 1

    return tf.function(call, input_signature=[tf.TensorSpec([None, 2], tf.float32, name="x")])


def test_an_operation_kept_in_a_custom_domain(tmp_path: Path) -> None:
    report = trueport.convert_file(doubled_by_python(), tmp_path / "made.onnx", custom_domain="com.acme")
    model = onnx.load(tmp_path / "made.onnx")
    kept = next(node for node in model.graph.node if node.domain == "com.acme")
    assert [node.op_type for node in model.graph.node] == ["Relu", "PyFunc", "Add"]
    assert {attribute.name for attribute in kept.attribute} == {"token", "Tin", "Tout"}
    assert {entry.domain: entry.version for entry in model.opset_import}["com.acme"] == 1
    assert report.fidelity == LOSSY
    assert "ONNX Runtime has no operators of com.acme" in str(report)
    assert any("com.acme::PyFunc" in str(loss) for loss in report.losses)


def test_a_custom_domain_takes_unknown_operations_only(tmp_path: Path) -> None:
    model = converted(picture_model(), tmp_path, custom_domain="com.acme")
    assert {node.domain for node in model.graph.node} == {""}
