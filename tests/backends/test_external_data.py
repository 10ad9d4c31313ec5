"""Weights in files of their own: several tensors, offsets, several files, read from where the model stands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnx.helper as oh
import onnx_ir as ir
import pytest
import tensorflow as tf
from onnx import TensorProto, numpy_helper

import trueport
from tests.models import model_of
from trueport.fidelity import Verdict
from trueport.ir.reading import read_whole
from trueport.runtimes.onnxruntime import OnnxRuntimeModel
from trueport.runtimes.reference import ReferenceModel

SIZES = ((3, 40), (40, 30), (30, 2))


def network() -> onnx.ModelProto:
    rng = np.random.default_rng(5)
    weights = [numpy_helper.from_array(rng.normal(size=s).astype(np.float32), f"w{i}") for i, s in enumerate(SIZES)]
    names = ["x", "h0", "h1", "y"]
    nodes = [oh.make_node("MatMul", [names[i], f"w{i}"], [names[i + 1]], f"layer{i}") for i in range(3)]
    return model_of(
        nodes,
        [oh.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
        [oh.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2])],
        initializers=weights,
    )


def write(folder: Path, *, one_file: bool) -> Path:
    path = folder / "model.onnx"
    onnx.save_model(
        network(),
        path,
        save_as_external_data=True,
        all_tensors_to_one_file=one_file,
        location="weights.bin" if one_file else None,
        size_threshold=0,
    )
    return path


def held_outside(path: Path) -> list[dict[str, str]]:
    proto = onnx.load(path, load_external_data=False)
    return [{entry.key: entry.value for entry in tensor.external_data} for tensor in proto.graph.initializer]


@pytest.mark.parametrize("one_file", [True, False])
def test_converts_from_a_path(one_file: bool, tmp_path: Path) -> None:
    path = write(tmp_path, one_file=one_file)
    outside = held_outside(path)
    assert all(outside)
    assert len({entry["location"] for entry in outside}) == (1 if one_file else 3)
    report = trueport.convert_file(path, tmp_path / "saved")
    assert report.verdict == Verdict.FAITHFUL
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    for tensor in network().graph.initializer:
        np.testing.assert_array_equal(loaded.weights[tensor.name], numpy_helper.to_array(tensor))


def test_the_saved_model_stands_alone(tmp_path: Path) -> None:
    path = write(tmp_path, one_file=True)
    x = np.ones((2, 3), np.float32)
    want = trueport.load(path).run({"x": x})["y"]
    trueport.convert_file(path, tmp_path / "saved", verify=False)
    path.unlink()
    (tmp_path / "weights.bin").unlink()
    np.testing.assert_allclose(trueport.load(tmp_path / "saved").run({"x": x})["y"], want, rtol=1e-5)


def test_the_current_folder_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, elsewhere = tmp_path / "source", tmp_path / "elsewhere"
    source.mkdir()
    elsewhere.mkdir()
    write(source, one_file=True)
    monkeypatch.chdir(elsewhere)
    assert trueport.convert(Path("..", "source", "model.onnx")).report.verdict == Verdict.FAITHFUL


def test_a_folder_below_the_model(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    path = tmp_path / "model.onnx"
    ir.save(ir.from_proto(network()), path, external_data="data/w.bin", size_threshold_bytes=0)
    assert held_outside(path)[0]["location"] == "data/w.bin"
    assert trueport.convert(path).report.verdict == Verdict.FAITHFUL


def test_alignment_leaves_gaps_between_tensors(tmp_path: Path) -> None:
    path = write(tmp_path, one_file=True)
    proto = onnx.load(path, load_external_data=False)
    content = (tmp_path / "weights.bin").read_bytes()
    spaced = bytearray(b"\xff" * 64)
    for tensor in reversed(proto.graph.initializer):
        entries = {entry.key: entry for entry in tensor.external_data}
        start, size = int(entries["offset"].value), int(entries["length"].value)
        entries["offset"].value = str(len(spaced))
        spaced += content[start : start + size] + b"\xff" * (4096 - size % 4096)
    (tmp_path / "weights.bin").write_bytes(spaced)
    path.write_bytes(proto.SerializeToString())
    loaded = trueport.convert(path).model
    for tensor in network().graph.initializer:
        np.testing.assert_array_equal(loaded.weights[tensor.name], numpy_helper.to_array(tensor))


def test_the_model_may_be_changed_before(tmp_path: Path) -> None:
    """Surgery keeps the weights outside."""
    model = trueport.surgery.open(write(tmp_path, one_file=True))
    trueport.surgery.cut(model, outputs=["h1"])
    conversion = trueport.convert(model, verify=False)
    x = np.ones((2, 3), np.float32)
    w0, w1, _ = (numpy_helper.to_array(tensor) for tensor in network().graph.initializer)
    wide = [array.astype(np.float64) for array in (x, w0, w1)]
    # Each product rounds every term once: relative to the sum of the terms' magnitudes, over both products.
    allowed = (len(w0) + len(w1)) * np.finfo(np.float32).eps * np.linalg.multi_dot([np.abs(array) for array in wide])
    error = np.abs(conversion.model(tf.constant(x))["h1"] - np.linalg.multi_dot(wide))
    assert np.all(error <= allowed)


def cached(folder: Path) -> Path:
    """A snapshot as Hugging Face's cache has it: model and data are links into a folder of blobs."""
    blobs, snapshot = folder / "blobs", folder / "snapshots" / "5d0f2e8" / "onnx"
    blobs.mkdir()
    snapshot.mkdir(parents=True)
    write(blobs, one_file=True).rename(blobs / "0a1b2c")
    (blobs / "weights.bin").rename(blobs / "3d4e5f")
    (snapshot / "model.onnx").symlink_to("../../../blobs/0a1b2c")
    (snapshot / "weights.bin").symlink_to("../../../blobs/3d4e5f")
    return snapshot / "model.onnx"


def hard_linked(folder: Path) -> Path:
    path = write(folder, one_file=True)
    (folder / "second name.bin").hardlink_to(folder / "weights.bin")
    return path


def linked_beside_its_target(folder: Path) -> Path:
    (folder / "store").mkdir()
    write(folder / "store", one_file=True)
    (folder / "model.onnx").symlink_to("store/model.onnx")
    return folder / "model.onnx"


def linked_data_below(folder: Path) -> Path:
    path = write(folder, one_file=True)
    (folder / "data").mkdir()
    (folder / "weights.bin").rename(folder / "data" / "w")
    (folder / "weights.bin").symlink_to("data/w")
    return path


@pytest.mark.parametrize("build", [cached, hard_linked, linked_beside_its_target, linked_data_below])
def test_links_to_files(build: Callable[[Path], Path], tmp_path: Path) -> None:
    path = build(tmp_path)
    conversion = trueport.convert(path)
    assert conversion.report.verdict == Verdict.FAITHFUL
    for tensor in network().graph.initializer:
        np.testing.assert_array_equal(conversion.model.weights[tensor.name], numpy_helper.to_array(tensor))
    x = np.ones((2, 3), np.float32)
    got = OnnxRuntimeModel(path)
    np.testing.assert_array_equal(got.run({"x": x})["y"], OnnxRuntimeModel(network()).run({"x": x})["y"])
    np.testing.assert_array_equal(got.constants()["w1"], numpy_helper.to_array(network().graph.initializer[1]))
    np.testing.assert_allclose(ReferenceModel(read_whole(path)).run({"x": x})["y"], got.run({"x": x})["y"], rtol=1e-4)
    went_in = conversion.report.went_in
    assert went_in is not None and len(went_in.files) == 2


def data_link_out_of_the_blobs(folder: Path) -> Path:
    path = cached(folder)
    (folder / "secret.bin").write_bytes(b"\0" * 10_000)
    (path.parent / "weights.bin").unlink()
    (path.parent / "weights.bin").symlink_to(folder / "secret.bin")
    return path


def location_into_the_blobs(folder: Path) -> Path:
    path = cached(folder)
    blob = path.resolve()
    blob.write_bytes(onnx_with_location(blob, "../../../blobs/3d4e5f"))
    return path


def location_absolute(folder: Path) -> Path:
    path = cached(folder)
    blob = path.resolve()
    blob.write_bytes(onnx_with_location(blob, str(blob.with_name("3d4e5f"))))
    return path


def onnx_with_location(path: Path, location: str) -> bytes:
    proto = onnx.load(path, load_external_data=False)
    for tensor in proto.graph.initializer:
        next(entry for entry in tensor.external_data if entry.key == "location").value = location
    return proto.SerializeToString()


@pytest.mark.parametrize("build", [data_link_out_of_the_blobs, location_into_the_blobs, location_absolute])
@pytest.mark.parametrize("read", [trueport.check, trueport.load], ids=["check", "load"])
def test_what_leads_out_of_the_folder_is_refused(
    build: Callable[[Path], Path], read: Callable[[Path], object], tmp_path: Path
) -> None:
    with pytest.raises(trueport.InvalidModel, match="leads out of the model's folder"):
        read(build(tmp_path))


def test_sparse_initializers_in_a_file(tmp_path: Path) -> None:
    values = numpy_helper.from_array(np.array([2.0, 3.0], np.float32), "w")
    (tmp_path / "values.bin").write_bytes(values.raw_data)
    values.ClearField("raw_data")
    values.data_location = TensorProto.EXTERNAL
    values.external_data.add(key="location", value="values.bin")
    indices = numpy_helper.from_array(np.array([0, 2], np.int64), "i")
    model = model_of(
        [oh.make_node("Mul", ["x", "w"], ["y"])],
        [oh.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
        [oh.make_tensor_value_info("y", TensorProto.FLOAT, [3])],
    )
    model.graph.sparse_initializer.append(oh.make_sparse_tensor(values, indices, [3]))
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    converted = trueport.convert(tmp_path / "model.onnx", verify=False).model
    np.testing.assert_array_equal(converted(tf.constant([1.0, 1.0, 1.0]))["y"], [2.0, 0.0, 3.0])
    values.external_data[0].value = "../values.bin"
    model.graph.sparse_initializer[0].values.CopyFrom(values)
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "model.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(trueport.InvalidModel, match="leads out of the model's folder"):
        trueport.check(tmp_path / "inner" / "model.onnx")
