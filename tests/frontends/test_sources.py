"""Everything a user calls a TensorFlow model converts, is compared, and keeps the names and order of its border."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import onnx
import onnx.helper as oh
import pytest
import tensorflow as tf
from onnx import TensorProto
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

import trueport
from tests.models import model_of
from trueport.fidelity import Verdict

FLOATS = tf.TensorSpec([None, 3], tf.float32)


def border(model: onnx.ModelProto) -> tuple[list[str], list[str]]:
    """Inputs and outputs as ``name[dims]``."""

    def port(value: onnx.ValueInfoProto) -> str:
        dims = [dim.dim_param or str(dim.dim_value) for dim in value.type.tensor_type.shape.dim]
        return f"{value.name}[{','.join(dims)}]"

    return [port(value) for value in model.graph.input], [port(value) for value in model.graph.output]


def converted(source: Any, folder: Path, **options: Any) -> onnx.ModelProto:
    """The written model, which the comparison must have found faithful."""
    report = trueport.convert_file(source, folder / "made.onnx", **options)
    assert report.verdict == Verdict.FAITHFUL, str(report)
    return onnx.load(folder / "made.onnx")


class Two(tf.Module):
    """A module with a call and a method, both traced."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = tf.Variable(np.arange(6, dtype=np.float32).reshape(3, 2), name="weights")

    @tf.function(input_signature=[FLOATS])
    def __call__(self, x: Any) -> Any:
        return {"logits": x @ self.weights}

    @tf.function(input_signature=[tf.TensorSpec([None, 3], name="zebra"), tf.TensorSpec([1, 3], name="ant")])
    def pair(self, x: Any, y: Any) -> Any:
        return {"sum": x + y, "product": x * y}


def layered() -> Any:
    first, second = keras.Input((4,), name="zebra"), keras.Input((4,), name="ant")
    return keras.Model(
        [first, second], [keras.layers.Dense(3, name="dense")(first), keras.layers.Add()([first, second])]
    )


def of_dicts() -> Any:
    a, b = keras.Input((4,), name="a"), keras.Input((4,), name="b")
    return keras.Model({"b": b, "a": a}, {"z": a + b, "y": {"inner": [a * b, a - b]}})


def sequential() -> Any:
    return keras.Sequential([keras.Input((4,), name="x"), keras.layers.Dense(2, name="scores")])


class Subclassed(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.dense = keras.layers.Dense(3)

    def call(self, features: Any, training: bool = False) -> Any:
        return {"left": self.dense(features["left"]), "both": features["left"] + features["right"]}


def subclassed() -> Any:
    model = Subclassed()
    model({"left": np.zeros((2, 4), np.float32), "right": np.zeros((2, 4), np.float32)})
    return model


@pytest.mark.parametrize(
    ("make", "inputs", "outputs"),
    [
        (layered, ["zebra[batch,4]", "ant[batch,4]"], ["dense[batch,3]", "add[batch,4]"]),
        (of_dicts, ["a[batch,4]", "b[batch,4]"], ["z[batch,4]", "y.inner.0[batch,4]", "y.inner.1[batch,4]"]),
        (sequential, ["x[batch,4]"], ["scores[batch,2]"]),
        (subclassed, ["left[batch,4]", "right[batch,4]"], ["left.output[batch,3]", "both[batch,4]"]),
        (Two, ["x[batch,3]"], ["logits[batch,2]"]),
        (lambda: Two().pair, ["zebra[batch,3]", "ant[1,3]"], ["sum[batch,3]", "product[batch,3]"]),
        (
            lambda: Two().pair.get_concrete_function(),
            ["zebra[batch,3]", "ant[1,3]"],
            ["sum[batch,3]", "product[batch,3]"],
        ),
    ],
)
def test_objects(make: Callable[[], Any], inputs: list[str], outputs: list[str], tmp_path: Path) -> None:
    keras.utils.clear_session()
    assert border(converted(make(), tmp_path)) == (inputs, outputs)


@pytest.mark.parametrize("suffix", [".keras", ".h5"])
def test_keras_files(suffix: str, tmp_path: Path) -> None:
    keras.utils.clear_session()
    layered().save(tmp_path / f"model{suffix}")
    found = border(converted(tmp_path / f"model{suffix}", tmp_path))
    assert found == (["zebra[batch,4]", "ant[batch,4]"], ["dense[batch,3]", "add[batch,4]"])


def test_saved_by_keras_in_the_models_order(tmp_path: Path) -> None:
    first, second = keras.Input((4,), name="zebra"), keras.Input((4,), name="ant")
    many = keras.Model([first, second], [first + float(number) for number in range(12)])
    many.export(str(tmp_path / "saved"), verbose=False)
    inputs, outputs = border(converted(tmp_path / "saved", tmp_path))
    assert inputs == ["zebra[zebra_dim_0,4]", "ant[ant_dim_0,4]"]
    assert [name.split("[")[0] for name in outputs] == [f"output_{number}" for number in range(12)]


def test_saved_with_several_signatures(tmp_path: Path) -> None:
    module = Two()
    tf.saved_model.save(module, str(tmp_path / "saved"), {"serving_default": module.__call__, "other": module.pair})
    assert border(converted(tmp_path / "saved", tmp_path)) == (["x[batch,3]"], ["logits[batch,2]"])
    other = converted(tmp_path / "saved", tmp_path, signature="other", overwrite=True)
    assert border(other) == (["zebra[batch,3]", "ant[1,3]"], ["product[batch,3]", "sum[batch,3]"])


def test_saved_without_signatures_but_with_a_call(tmp_path: Path) -> None:
    tf.saved_model.save(Two(), str(tmp_path / "saved"))
    assert border(converted(tmp_path / "saved", tmp_path)) == (["x[batch,3]"], ["logits[batch,2]"])


def saved_by_tensorflow_1(folder: Path) -> Path:
    """Reference and resource variables, a table with its initializer, two signatures."""
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        features, words = v1.placeholder(tf.float32, [None, 3]), v1.placeholder(tf.string, [None])
        old = v1.get_variable("old", initializer=np.full((3, 2), 0.5, np.float32), use_resource=False)
        new = v1.get_variable("new", initializer=np.full(2, 0.25, np.float32), use_resource=True)
        scores = v1.nn.relu(features @ old + new)
        contents = tf.lookup.KeyValueTensorInitializer(["a", "b"], np.array([3, 4], np.int64))
        ids = tf.lookup.StaticHashTable(contents, -1).lookup(words)
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        describe, sign = v1.saved_model.build_tensor_info, v1.saved_model.build_signature_def
        builder = v1.saved_model.Builder(str(folder))
        signatures = {
            "serving_default": sign({"features": describe(features)}, {"scores": describe(scores)}),
            "lookup": sign({"words": describe(words)}, {"ids": describe(ids)}),
        }
        builder.add_meta_graph_and_variables(session, ["serve"], signatures, main_op=v1.tables_initializer())
        builder.save()
    return folder


def test_saved_by_tensorflow_1(tmp_path: Path) -> None:
    source = saved_by_tensorflow_1(tmp_path / "saved")
    assert border(converted(source, tmp_path)) == (["features[batch,3]"], ["scores[batch,2]"])
    converted(source, tmp_path, signature="lookup", overwrite=True)
    found = trueport.load(tmp_path / "made.onnx").run({"words": np.array(["b", "c", "a"], object)})
    np.testing.assert_array_equal(found["ids"], [4, -1, 3])


def frozen() -> Any:
    return convert_variables_to_constants_v2(Two().pair.get_concrete_function()).graph.as_graph_def()


def test_frozen_graphs(tmp_path: Path) -> None:
    graph_def = frozen()
    (tmp_path / "graph.pb").write_bytes(graph_def.SerializeToString())
    named = {"inputs": ["ant:0", "zebra"], "outputs": ["add:0", "mul"]}
    wanted = (["ant[1,3]", "zebra[batch,3]"], ["add[batch,3]", "mul[batch,3]"])
    assert border(converted(tmp_path / "graph.pb", tmp_path, **named)) == wanted
    assert border(converted(graph_def, tmp_path, **named, overwrite=True)) == wanted
    by_placeholders = converted(graph_def, tmp_path, outputs=["add"], overwrite=True)
    assert border(by_placeholders) == (["zebra[batch,3]", "ant[1,3]"], ["add[batch,3]"])


def test_ragged_and_sparse_inputs_are_their_parts(tmp_path: Path) -> None:
    ragged = tf.function(
        lambda r: tf.reduce_sum(r, axis=1), input_signature=[tf.RaggedTensorSpec([None, None], tf.float32)]
    )
    sparse = tf.function(tf.sparse.to_dense, input_signature=[tf.SparseTensorSpec([3, 4], tf.float32)])
    rows = {"r__values": np.array([1, 2, 3], np.float32), "r__row_splits": np.array([0, 2, 2, 3])}
    cells = {
        "sp_input__indices": np.array([[0, 1], [2, 3]]),
        "sp_input__values": np.array([5, 6], np.float32),
        "sp_input__dense_shape": np.array([3, 4]),
    }
    inputs, _ = border(converted(ragged, tmp_path, data=[rows]))
    assert [name.split("[")[0] for name in inputs] == list(rows)
    inputs, _ = border(converted(sparse, tmp_path, data=[cells], overwrite=True))
    assert [name.split("[")[0] for name in inputs] == list(cells)


def test_a_model_that_came_from_onnx_gets_its_border_back(tmp_path: Path) -> None:
    value = oh.make_tensor_value_info
    source = model_of(
        [
            oh.make_node("MatMul", ["z/x", "a.1"], ["m"]),
            oh.make_node("Relu", ["m"], ["out 2"]),
            oh.make_node("Compress", ["z/x", "keep"], ["1"], axis=0),
        ],
        [
            value("z/x", TensorProto.FLOAT, ["n", "k"]),
            value("a.1", TensorProto.FLOAT, ["k", "p"]),
            value("keep", TensorProto.BOOL, ["n"]),
        ],
        [value("out 2", TensorProto.FLOAT, ["n", "p"]), value("1", TensorProto.FLOAT, ["kept", "k"])],
    )
    trueport.convert_file(source, tmp_path / "saved")
    report = trueport.convert_file(tmp_path / "saved", tmp_path / "back.onnx")
    assert border(onnx.load(tmp_path / "back.onnx")) == border(source)
    assert "renamed" not in str(report)
