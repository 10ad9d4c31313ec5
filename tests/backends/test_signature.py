"""serving_default has the source's inputs and outputs: names, order, types, ranks, open dims."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest
import tensorflow as tf
from onnx import TensorProto, numpy_helper

import trueport
from tests.models import model_of
from trueport.ir.artifact import ArtifactMap

FLOAT = TensorProto.FLOAT


def tensor(name: str, shape: Any = ("n",), dtype: int = FLOAT) -> onnx.ValueInfoProto:
    return oh.make_tensor_value_info(name, dtype, None if shape is None else list(shape))


def saved(model: onnx.ModelProto, folder: Path) -> tuple[Any, ArtifactMap]:
    """The signature of the written model, and the map beside it."""
    trueport.convert(model, verify=False).save(folder / "saved")
    loaded = tf.saved_model.load(str(folder / "saved"))
    found = ArtifactMap.read(folder / "saved")
    assert found is not None
    signature = loaded.signatures["serving_default"]
    signature.keeps = loaded
    return signature, found


def run_both(model: onnx.ModelProto, folder: Path, feeds: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Through ONNX Runtime and through the written SavedModel."""
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    trueport.convert(model, verify=False).save(folder / "saved")
    return trueport.load(folder / "model.onnx").run(feeds), trueport.load(folder / "saved").run(feeds)


def identities(names: dict[str, str], **options: Any) -> onnx.ModelProto:
    """One Identity per input name and output name."""
    return model_of(
        [oh.make_node("Identity", [a], [b], f"node{i}") for i, (a, b) in enumerate(names.items())],
        [tensor(name) for name in names],
        [tensor(name) for name in names.values()],
        **options,
    )


def test_names_order_types_ranks_and_open_dims(tmp_path: Path) -> None:
    inputs = [
        tensor("zeta", ("batch", 3), FLOAT),
        tensor("alpha", (2, "k", None), TensorProto.INT64),
        tensor("scalar", (), TensorProto.DOUBLE),
        tensor("any", None, TensorProto.BOOL),
        tensor("words", ("w",), TensorProto.STRING),
    ]
    outputs = [oh.make_tensor_value_info(f"out_{v.name}", v.type.tensor_type.elem_type, None) for v in inputs]
    nodes = [oh.make_node("Identity", [v.name], [f"out_{v.name}"]) for v in inputs]
    signature, found = saved(model_of(nodes, inputs, outputs), tmp_path)
    specs = signature.structured_input_signature[1]
    assert [port.name for port in found.inputs] == ["zeta", "alpha", "scalar", "any", "words"]
    assert {name: (spec.dtype, spec.shape.rank) for name, spec in specs.items()} == {
        "zeta": (tf.float32, 2),
        "alpha": (tf.int64, 3),
        "scalar": (tf.float64, 0),
        "any": (tf.bool, None),
        "words": (tf.string, 1),
    }
    assert specs["zeta"].shape.as_list() == [None, 3]
    assert specs["alpha"].shape.as_list() == [2, None, None]
    assert found.inputs[0].shape == ("batch", 3)
    assert found.inputs[1].shape == (2, "k", None)
    assert [port.name for port in found.outputs] == [v.name for v in outputs]
    assert set(signature.structured_outputs) == {v.name for v in outputs}
    assert signature.structured_outputs["out_zeta"].shape.as_list() == [None, 3]


def test_positions_follow_the_source(tmp_path: Path) -> None:
    """Not the alphabet: TensorFlow sorts names, a call by position must not see that."""
    model = model_of([oh.make_node("Sub", ["z", "a"], ["y"])], [tensor("z"), tensor("a")], [tensor("y")])
    conversion = trueport.convert(model, verify=False)
    conversion.save(tmp_path / "m")
    loaded = tf.saved_model.load(str(tmp_path / "m"))
    z, a = tf.constant([5.0]), tf.constant([2.0])
    for module in (conversion.model, loaded):
        assert module(z, a)["y"].numpy() == [3]
        assert module(a=a, z=z)["y"].numpy() == [3]


@pytest.mark.parametrize(
    "names",
    [
        ["x.1", "x:1", "x_1"],
        ["class", "class_", "lambda", "self"],
        ["1", "_1", "x_1"],
        ["größe", "gr__e", "x y", "x/y"],
        ["__x", "x__x", "a" * 300],
        ["None", "True", "inputs", "name", "args", "kwargs"],
    ],
    ids=lambda names: names[0],
)
def test_names_that_are_no_identifiers_or_collide(names: list[str], tmp_path: Path) -> None:
    model = identities({name: f"{name}.out" for name in names})
    feeds = {name: np.array([float(i)], np.float32) for i, name in enumerate(names)}
    want, got = run_both(model, tmp_path, feeds)
    assert list(got) == list(want) == [f"{name}.out" for name in names]
    for name, array in want.items():
        np.testing.assert_array_equal(got[name], array)
    found = ArtifactMap.read(tmp_path / "saved")
    assert found is not None
    parts = [part for port in found.inputs for part in port.parts]
    assert len(set(parts)) == len(names)
    assert all(part.isidentifier() for part in parts)


def test_names_are_kept_where_possible(tmp_path: Path) -> None:
    signature, _ = saved(identities({"input_ids": "last_hidden_state"}), tmp_path)
    assert list(signature.structured_input_signature[1]) == ["input_ids"]
    assert list(signature.structured_outputs) == ["last_hidden_state"]


def test_an_output_may_have_the_mapped_name_of_an_input(tmp_path: Path) -> None:
    want, got = run_both(identities({"a.b": "a_b"}), tmp_path, {"a.b": np.ones(2, np.float32)})
    np.testing.assert_array_equal(got["a_b"], want["a_b"])


def test_an_output_that_is_an_input(tmp_path: Path) -> None:
    model = model_of(
        [oh.make_node("Neg", ["x"], ["y"])], [tensor("x"), tensor("z")], [tensor("x"), tensor("y"), tensor("z")]
    )
    feeds = {"x": np.array([1, 2], np.float32), "z": np.array([3, 4, 5], np.float32)}
    want, got = run_both(model, tmp_path, feeds)
    assert list(got) == ["x", "y", "z"]
    for name, array in want.items():
        np.testing.assert_array_equal(got[name], array)


def test_an_output_that_is_an_initializer(tmp_path: Path) -> None:
    weights = [
        numpy_helper.from_array(np.array([1.5, 2.5], np.float32), "w"),
        numpy_helper.from_array(np.arange(3), "shape"),
    ]
    model = model_of(
        [oh.make_node("Add", ["x", "w"], ["y"])],
        [tensor("x", (2,))],
        [tensor("w", (2,)), tensor("shape", (3,), TensorProto.INT64), tensor("y", (2,))],
        initializers=weights,
    )
    want, got = run_both(model, tmp_path, {"x": np.zeros(2, np.float32)})
    for name, array in want.items():
        np.testing.assert_array_equal(got[name], array)
        assert got[name].dtype == array.dtype


def test_a_model_without_inputs(tmp_path: Path) -> None:
    model = model_of(
        [oh.make_node("Add", ["w", "w"], ["y"])],
        [],
        [tensor("y", (2,))],
        initializers=[numpy_helper.from_array(np.array([1, 2], np.float32), "w")],
    )
    want, got = run_both(model, tmp_path, {})
    np.testing.assert_array_equal(got["y"], want["y"])
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    np.testing.assert_array_equal(loaded()["y"], [2, 4])


def test_a_model_without_nodes(tmp_path: Path) -> None:
    want, got = run_both(model_of([], [tensor("x")], [tensor("x")]), tmp_path, {"x": np.ones(3, np.float32)})
    np.testing.assert_array_equal(got["x"], want["x"])


def test_an_input_with_a_default_is_settled_and_reported() -> None:
    """An initializer that is listed among the inputs: the signature has no optional inputs."""
    model = model_of(
        [oh.make_node("Add", ["x", "w"], ["y"])],
        [tensor("x", (2,)), tensor("w", (2,))],
        [tensor("y", (2,))],
        initializers=[numpy_helper.from_array(np.array([1, 2], np.float32), "w")],
    )
    conversion = trueport.convert(model)
    assert [port.name for port in conversion.built.inputs] == ["x"]


@pytest.mark.parametrize("dtype", [np.float32, np.int64, object], ids=str)
def test_sequences_go_in_and_out(dtype: Any, tmp_path: Path) -> None:
    element = TensorProto.STRING if dtype is object else oh.np_dtype_to_tensor_dtype(np.dtype(dtype))
    kind = oh.make_sequence_type_proto(oh.make_tensor_type_proto(element, None))
    model = model_of(
        [oh.make_node("Identity", ["s"], ["t"])],
        [oh.make_value_info("s", kind)],
        [oh.make_value_info("t", kind)],
    )
    trueport.convert(model, verify=False).save(tmp_path / "saved")
    words = np.array([["a", "bc"]], object)
    elements = (
        [words, words[:, :1]]
        if dtype is object
        else [np.ones((2, 3), dtype), np.zeros((0,), dtype), np.array(7, dtype)]
    )
    loaded = trueport.load(tmp_path / "saved")
    for given in (elements, []):
        got = loaded.run({"s": given})["t"]
        assert len(got) == len(given)
        for a, b in zip(got, given, strict=True):
            assert a.shape == b.shape
            assert (a == b).all()


def test_an_optional_goes_in_and_out(tmp_path: Path) -> None:
    kind = oh.make_optional_type_proto(oh.make_tensor_type_proto(FLOAT, None))
    model = model_of(
        [oh.make_node("OptionalHasElement", ["o"], ["has"]), oh.make_node("Identity", ["o"], ["p"])],
        [oh.make_value_info("o", kind)],
        [tensor("has", (), TensorProto.BOOL), oh.make_value_info("p", kind)],
    )
    trueport.convert(model, verify=False).save(tmp_path / "saved")
    loaded = trueport.load(tmp_path / "saved")
    empty = loaded.run({"o": None})
    assert not empty["has"] and empty["p"] is None
    full = loaded.run({"o": np.ones((2,), np.float32)})
    assert full["has"] and full["p"].tolist() == [1, 1]


def test_maps_come_out(tmp_path: Path) -> None:
    kind = oh.make_sequence_type_proto(oh.make_map_type_proto(TensorProto.STRING, oh.make_tensor_type_proto(FLOAT, [])))
    model = model_of(
        [oh.make_node("ZipMap", ["x"], ["z"], domain="ai.onnx.ml", classlabels_strings=["a", "b"])],
        [tensor("x", ("n", 2))],
        [oh.make_value_info("z", kind)],
        opsets=[oh.make_opsetid("ai.onnx.ml", 1)],
    )
    want, got = run_both(model, tmp_path, {"x": np.array([[0.25, 0.75]], np.float32)})
    assert got == want == {"z": [{"a": 0.25, "b": 0.75}]}
    found = ArtifactMap.read(tmp_path / "saved")
    assert found is not None
    assert found.outputs[0].parts == ("z__keys", "z__values")


def test_parts_of_a_port_do_not_collide_with_plain_names(tmp_path: Path) -> None:
    kind = oh.make_sequence_type_proto(oh.make_tensor_type_proto(FLOAT, None))
    model = model_of(
        [oh.make_node("Identity", ["s"], ["t"]), oh.make_node("Identity", ["s__values"], ["t__values"])],
        [oh.make_value_info("s", kind), tensor("s__values")],
        [oh.make_value_info("t", kind), tensor("t__values")],
    )
    trueport.convert(model, verify=False).save(tmp_path / "saved")
    got = trueport.load(tmp_path / "saved").run({"s": [np.zeros(2, np.float32)], "s__values": np.ones(1, np.float32)})
    assert got["t"][0].tolist() == [0, 0]
    assert got["t__values"].tolist() == [1]


def test_types_that_tensorflow_lacks_travel_as_their_bits(tmp_path: Path) -> None:
    kind = TensorProto.FLOAT8E5M2FNUZ
    model = model_of([oh.make_node("Identity", ["x"], ["y"])], [tensor("x", ("n",), kind)], [tensor("y", ("n",), kind)])
    signature, found = saved(model, tmp_path)
    assert signature.structured_input_signature[1]["x"].dtype == tf.uint8
    assert found.inputs[0].dtype == "FLOAT8E5M2FNUZ"
    x = np.array([1.0, -2.0, 0.5]).astype(oh.tensor_dtype_to_np_dtype(kind))
    got = trueport.load(tmp_path / "saved").run({"x": x})["y"]
    assert got.dtype == x.dtype
    np.testing.assert_array_equal(got.view(np.uint8), x.view(np.uint8))
