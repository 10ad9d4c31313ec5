"""Inner values by their ONNX names: the same from ONNX Runtime and from the SavedModel, however they are held."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.helper as oh
import pytest
from onnx import TensorProto, numpy_helper

import trueport
from tests.models import model_of
from trueport.errors import InvalidInput
from trueport.ir.artifact import ArtifactMap


def cnn() -> onnx.ModelProto:
    """Two convolutions with everything between that channel-last data passes through, and a part that folds away."""
    rng = np.random.default_rng(2)

    def weight(name: str, *shape: int) -> onnx.TensorProto:
        return numpy_helper.from_array((rng.normal(size=shape) * 0.4).astype(np.float32), name)

    nodes = [
        oh.make_node("Conv", ["x", "k1", "b1"], ["conv1"], "conv1", pads=[1, 1, 1, 1]),
        oh.make_node("BatchNormalization", ["conv1", "s", "o", "m", "v"], ["norm"], "norm"),
        oh.make_node("Relu", ["norm"], ["relu"], "relu"),
        oh.make_node("MaxPool", ["relu"], ["pool"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        oh.make_node("Conv", ["pool", "k2"], ["conv2"], "conv2", pads=[1, 1, 1, 1]),
        oh.make_node("Add", ["conv2", "pool"], ["sum"], "sum"),
        oh.make_node("Mul", ["c1", "c2"], ["scale"], "scale"),
        oh.make_node("Mul", ["sum", "scale"], ["scaled"], "scaled"),
        oh.make_node("Concat", ["scaled", "pool"], ["joined"], "joined", axis=1),
        oh.make_node("GlobalAveragePool", ["joined"], ["mean"], "mean"),
        oh.make_node("Concat", ["minus_one", "eight"], ["shape"], "shape", axis=0),
        oh.make_node("Reshape", ["mean", "shape"], ["flat"], "flat"),
        oh.make_node("Gemm", ["flat", "w"], ["logits"], "fc"),
        oh.make_node("Softmax", ["logits"], ["y"], "softmax"),
    ]
    weights = [
        weight("k1", 4, 3, 3, 3),
        weight("b1", 4),
        weight("k2", 4, 4, 3, 3),
        weight("s", 4),
        weight("o", 4),
        weight("m", 4),
        numpy_helper.from_array(np.ones(4, np.float32), "v"),
        weight("c1", 1, 4, 1, 1),
        weight("c2", 1, 4, 1, 1),
        weight("w", 8, 5),
        numpy_helper.from_array(np.array([-1]), "minus_one"),
        numpy_helper.from_array(np.array([8]), "eight"),
    ]
    return model_of(
        nodes,
        [oh.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, "h", "w_"])],
        [oh.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 5])],
        initializers=weights,
    )


X = np.random.default_rng(0).normal(size=(2, 3, 8, 8)).astype(np.float32)
FOLDED = {"shape"}
INNER = [value for node in cnn().graph.node for value in node.output if value not in FOLDED]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[trueport.runtimes.base.Model, trueport.runtimes.base.Model]:
    folder = tmp_path_factory.mktemp("fetch")
    (folder / "model.onnx").write_bytes(cnn().SerializeToString())
    trueport.convert_file(folder / "model.onnx", folder / "saved", verify=False)
    return trueport.load(folder / "model.onnx", optimize=False), trueport.load(folder / "saved")


def test_every_inner_value_agrees(both: tuple) -> None:
    source, target = both
    want = source.run({"x": X}, fetch=INNER)
    got = target.run({"x": X}, fetch=INNER)
    assert list(got) == list(want) == INNER
    for name, array in want.items():
        assert got[name].shape == array.shape, name
        np.testing.assert_allclose(got[name], array, rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("name", INNER)
def test_each_alone(name: str, both: tuple) -> None:
    source, target = both
    (want,) = source.run({"x": X}, fetch=[name]).values()
    (got,) = target.run({"x": X}, fetch=[name]).values()
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_values_are_held_permuted(both: tuple) -> None:
    """Otherwise the test above shows nothing: inside, images are channel-last."""
    held = both[1]._map.values
    assert held["relu"].perm is not None
    assert held["logits"].perm is None


def test_outputs_without_fetch_and_with_it(both: tuple) -> None:
    for model in both:
        plain = model.run({"x": X})
        fetched = model.run({"x": X}, fetch=["y"])
        np.testing.assert_array_equal(plain["y"], fetched["y"])


def test_a_value_folded_away_is_a_clear_error(both: tuple) -> None:
    with pytest.raises(InvalidInput, match="no tensor is known for the value 'shape'") as caught:
        both[1].run({"x": X}, fetch=["shape"])
    assert "folded away" in str(caught.value)


@pytest.mark.parametrize("which", [0, 1])
def test_an_unknown_value_is_a_clear_error(which: int, both: tuple) -> None:
    with pytest.raises(InvalidInput, match="'nowhere'"):
        both[which].run({"x": X}, fetch=["nowhere"])


@pytest.mark.parametrize("which", [0, 1])
def test_another_size_of_the_open_dims(which: int, both: tuple) -> None:
    x = np.zeros((1, 3, 4, 6), np.float32)
    assert both[which].run({"x": x}, fetch=["pool"])["pool"].shape == (1, 4, 2, 3)


@pytest.mark.parametrize(
    "feeds, words",
    [
        ({}, "input 'x': is missing"),
        ({"x": X, "z": X}, "there is no input 'z'"),
        ({"x": X[0]}, "has shape [3, 8, 8]"),
        ({"x": X[:, :2]}, "has shape [2, 2, 8, 8]"),
        ({"x": X.astype(np.float64)}, "has dtype float64, the model takes float32"),
    ],
    ids=["missing", "unknown", "rank", "dim", "dtype"],
)
@pytest.mark.parametrize("which", [0, 1])
def test_wrong_feeds_are_refused_alike(which: int, feeds: dict, words: str, both: tuple) -> None:
    with pytest.raises(InvalidInput) as caught:
        both[which].run(feeds)
    assert words in str(caught.value)


def test_the_map_lists_where_values_are(tmp_path: Path) -> None:
    trueport.convert_file(cnn(), tmp_path / "saved", verify=False)
    found = ArtifactMap.read(tmp_path / "saved")
    assert found is not None
    assert set(INNER) <= set(found.values)
    kernel = next(w for w in found.weights if w.initializer == "k1")
    assert kernel.perm == (2, 3, 1, 0)
