"""Bad input: a clear error with place, reason and remedy, exit code 2, nothing written, nothing damaged."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnx.helper as oh
import pytest
from onnx import TensorProto

import trueport
from tests.models import model_of, relu_chain, weighted
from trueport.fidelity import Verdict

X = oh.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])
Y = oh.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])


def write(folder: Path, model: onnx.ModelProto) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def not_a_model(folder: Path) -> Path:
    path = folder / "model.onnx"
    path.write_text("this is no protobuf at all, only words\n" * 20)
    return path


def empty_file(folder: Path) -> Path:
    path = folder / "model.onnx"
    path.touch()
    return path


def truncated(folder: Path) -> Path:
    path = write(folder, weighted())
    path.write_bytes(path.read_bytes()[:-100])
    return path


def zip_with_wrong_checksum(folder: Path) -> Path:
    path = folder / "model.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.onnx", weighted().SerializeToString())
    data = bytearray(path.read_bytes())
    data[2000] ^= 0xFF
    path.write_bytes(bytes(data))
    return path


def external(folder: Path, location: str) -> Path:
    model = weighted()
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", "0"), ("length", "7200")):
        tensor.external_data.add(key=key, value=value)
    return write(folder, model)


def missing_external_data(folder: Path) -> Path:
    return external(folder, "weights.bin")


def short_external_data(folder: Path) -> Path:
    (folder / "weights.bin").write_bytes(b"\0" * 100)
    return external(folder, "weights.bin")


def external_data_above(folder: Path) -> Path:
    (folder / "weights.bin").write_bytes(b"\0" * 7200)
    inner = folder / "inner"
    inner.mkdir()
    return external(inner, "../weights.bin")


def external_data_absolute(folder: Path) -> Path:
    (folder / "weights.bin").write_bytes(b"\0" * 7200)
    return external(folder, str(folder / "weights.bin"))


def external_data_by_symlink(folder: Path) -> Path:
    (folder / "weights.bin").write_bytes(b"\0" * 7200)
    inner = folder / "inner"
    inner.mkdir()
    (inner / "link.bin").symlink_to(folder / "weights.bin")
    return external(inner, "link.bin")


def external_data_in_two_folders(folder: Path) -> Path:
    store = folder / "store"
    store.mkdir()
    model = weighted()
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="here.bin")
    second = model.graph.initializer.add()
    second.CopyFrom(tensor)
    second.name, second.external_data[0].value = "second", "there.bin"
    for place in (folder / "inner" / "here.bin", store / "there.bin"):
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(b"\0" * 7200)
    (folder / "inner" / "model.onnx").symlink_to(write(store, model))
    return folder / "inner" / "model.onnx"


def external_data_at_a_negative_offset(folder: Path) -> Path:
    path = external(folder, "weights.bin")
    model = onnx.load(path, load_external_data=False)
    model.graph.initializer[0].external_data[1].value = "-8"
    return write(folder, model)


def cyclic(folder: Path) -> Path:
    nodes = [oh.make_node("Add", ["x", "b"], ["a"], "first"), oh.make_node("Relu", ["a"], ["b"], "second")]
    return write(folder, model_of([*nodes, oh.make_node("Relu", ["b"], ["y"])], [X], [Y]))


def unknown_operator(folder: Path) -> Path:
    return write(folder, model_of([oh.make_node("Reluu", ["x"], ["y"], "odd")], [X], [Y]))


def opset_from_the_future(folder: Path) -> Path:
    return write(folder, model_of([oh.make_node("Relu", ["x"], ["y"])], [X], [Y], opset=999))


def dtype_against_schema(folder: Path) -> Path:
    strings = oh.make_tensor_value_info("x", TensorProto.STRING, ["n", 3])
    return write(folder, model_of([oh.make_node("Relu", ["x"], ["y"], "relu")], [strings], [Y]))


def duplicate_names(folder: Path) -> Path:
    nodes = [oh.make_node("Relu", ["x"], ["y"], "one"), oh.make_node("Neg", ["x"], ["y"], "two")]
    return write(folder, model_of(nodes, [X], [Y]))


def missing_attribute(folder: Path) -> Path:
    return write(folder, model_of([oh.make_node("Cast", ["x"], ["y"], "cast")], [X], [Y]))


def no_such_file(folder: Path) -> Path:
    return folder / "nothing.onnx"


CASES: dict[Callable[[Path], Path], str] = {
    not_a_model: "is not an ONNX model, or is cut short",
    empty_file: "the file is empty",
    truncated: "cut short",
    zip_with_wrong_checksum: "checksum of 'model.onnx' is wrong",
    missing_external_data: "external data file 'weights.bin' is missing",
    short_external_data: "has 100 bytes, 7200 are needed",
    external_data_above: "leads out of the model's folder",
    external_data_absolute: "leads out of the model's folder",
    external_data_by_symlink: "leads out of the model's folder",
    external_data_in_two_folders: "'here.bin', 'there.bin' are in different folders",
    external_data_at_a_negative_offset: "is not a number >= 0",
    cyclic: "has a cycle",
    unknown_operator: "Reluu",
    opset_from_the_future: "imports opset 999",
    dtype_against_schema: "ONNX's checker refuses it",
    duplicate_names: "the value 'y' is made twice",
    missing_attribute: "to",
    no_such_file: "there is no such file",
}


@pytest.mark.parametrize(("build", "reason"), CASES.items(), ids=lambda item: getattr(item, "__name__", ""))
def test_refused_with_a_reason(build: Callable[[Path], Path], reason: str, tmp_path: Path) -> None:
    source = build(tmp_path)
    target = tmp_path / "out"
    with pytest.raises(trueport.TrueportError) as caught:
        trueport.convert_file(source, target)
    assert reason in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 24, "more than a screen"
    assert not target.exists()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".out")], "a temporary folder was left"


def command(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "trueport", *map(str, words)],
        capture_output=True,
        text=True,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )


def test_a_good_zip_converts_and_is_compared(tmp_path: Path) -> None:
    path = tmp_path / "model.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.onnx", weighted().SerializeToString())
    assert trueport.convert_file(path, tmp_path / "out").verdict == Verdict.FAITHFUL


def test_the_command_line_exits_with_2(tmp_path: Path) -> None:
    done = command("convert", truncated(tmp_path), "-o", tmp_path / "out")
    assert done.returncode == 2
    assert "cut short" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_an_existing_output_is_kept(tmp_path: Path) -> None:
    source = write(tmp_path, relu_chain())
    target = tmp_path / "out"
    target.mkdir()
    (target / "precious.txt").write_text("mine")
    with pytest.raises(trueport.OutputExists, match="exists already"):
        trueport.convert_file(source, target)
    assert (target / "precious.txt").read_text() == "mine"
    with pytest.raises(trueport.OutputExists, match=r"holds 'precious\.txt'"):
        trueport.convert_file(source, target, overwrite=True)
    assert (target / "precious.txt").read_text() == "mine"
    (target / "precious.txt").unlink()
    trueport.convert_file(source, target, overwrite=True)
    assert (target / "saved_model.pb").exists()


def test_a_failed_overwrite_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write(tmp_path, relu_chain())
    target = tmp_path / "out"
    trueport.convert_file(source, target)
    before = (target / "saved_model.pb").read_bytes()

    def break_off(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("trueport.backends.tensorflow.target.write_saved_model", break_off)
    with pytest.raises(trueport.WriteFailed, match="disk full"):
        trueport.convert_file(source, target, overwrite=True)
    assert (target / "saved_model.pb").read_bytes() == before


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    trueport.convert_file(write(folder, relu_chain()), folder / "out")
    return folder / "out"


@pytest.mark.parametrize(
    ("feeds", "reason"),
    [
        ({}, "input 'x': is missing"),
        ({"z": np.zeros((1, 3), np.float32)}, "input 'x': is missing"),
        ({"x": np.zeros((1, 3), np.float32), "z": np.zeros(1)}, "there is no input 'z'"),
        ({"x": np.zeros((1, 3), np.float64)}, "has dtype float64, the model takes float32"),
        ({"x": np.zeros((1, 4), np.float32)}, "has shape [1, 4], the model takes [n, 3]"),
        ({"x": np.zeros(3, np.float32)}, "has shape [3], the model takes [n, 3]"),
    ],
)
@pytest.mark.parametrize("runtime", ["onnx", "tensorflow"])
def test_wrong_inputs_at_run_time(feeds: dict[str, np.ndarray], reason: str, runtime: str, saved: Path) -> None:
    model = trueport.load(saved if runtime == "tensorflow" else saved.parent / "model.onnx")
    with pytest.raises(trueport.InvalidInput) as caught:
        model.run(feeds)
    assert reason in str(caught.value)
