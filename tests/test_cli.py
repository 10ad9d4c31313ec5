"""The command line: what it prints, where, and with which exit code."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnx.helper as oh
import pytest
from onnx import TensorProto

import trueport
from tests.command_line import Cli
from tests.models import model_of, relu_chain, weighted

FAITHFUL, NOT_FAITHFUL, REFUSED = 0, 1, 2


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    path.write_bytes(weighted(4).SerializeToString())
    return path


@pytest.fixture
def custom(tmp_path: Path) -> Path:
    """A model with an operator of a domain that nobody knows."""
    path = tmp_path / "custom.onnx"
    proto = model_of(
        [oh.make_node("Scale", ["x"], ["y"], "scale", domain="com.acme", factor=3.0)],
        [oh.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
        [oh.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])],
        opsets=[oh.make_opsetid("com.acme", 1)],
    )
    path.write_bytes(proto.SerializeToString())
    return path


@pytest.fixture
def lossy(tmp_path: Path) -> Path:
    """A handler that says that it loses something."""
    path = tmp_path / "lossy_ops.py"
    path.write_text(
        "from trueport import maps\n"
        "from trueport.fidelity import LOSSY\n"
        "@maps('Scale', domain='com.acme', fidelity=LOSSY, because='it is only an example')\n"
        "def scale(t, X, *, factor=1.0):\n"
        "    return X * factor\n"
    )
    return path


@pytest.fixture
def exact(tmp_path: Path) -> Path:
    path = tmp_path / "exact_ops.py"
    path.write_text(
        "from trueport import maps\n"
        "@maps('Scale', domain='com.acme', reference=lambda x, factor=1.0: x * x.dtype.type(factor))\n"
        "def scale(t, X, *, factor=1.0):\n"
        "    return X * factor\n"
    )
    return path


def test_convert_writes_and_says_so(cli: Cli, model: Path, tmp_path: Path) -> None:
    done = cli("convert", model, "-o", tmp_path / "saved")
    assert done.code == FAITHFUL, done.err
    assert "faithful" in done.out
    assert (tmp_path / "saved" / "saved_model.pb").exists()


def test_convert_json_is_json_and_nothing_else(cli: Cli, model: Path, tmp_path: Path) -> None:
    done = cli("convert", model, "-o", tmp_path / "saved", "--json")
    data = json.loads(done.out)
    assert data["schema"].startswith("trueport-report/")
    assert data["comparison"]["verdict"] == "faithful"
    assert [port["name"] for port in data["inputs"]] == ["x"]
    assert set(data["seconds"]) >= {"read", "plan", "build", "write", "verify"}


def test_convert_writes_a_report(cli: Cli, model: Path, tmp_path: Path) -> None:
    done = cli("convert", model, "-o", tmp_path / "saved", "--report", tmp_path / "report.json", "--quiet")
    assert done == (FAITHFUL, "", done.err)
    assert json.loads((tmp_path / "report.json").read_text())["target"] == str(tmp_path / "saved")


def test_convert_without_verifying_says_so(cli: Cli, model: Path, tmp_path: Path) -> None:
    done = cli("convert", model, "-o", tmp_path / "saved", "--no-verify")
    assert done.code == FAITHFUL
    assert "not compared" in done.out


def test_convert_leaves_what_stands_there(cli: Cli, model: Path, tmp_path: Path) -> None:
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "mine.txt").write_text("keep")
    done = cli("convert", model, "-o", tmp_path / "saved", "--no-verify")
    assert done.code == REFUSED
    assert "exists already" in done.err and "--overwrite" in done.err
    assert [file.name for file in (tmp_path / "saved").iterdir()] == ["mine.txt"]


def test_convert_overwrites_when_asked(cli: Cli, model: Path, tmp_path: Path) -> None:
    for _ in range(2):
        assert cli("convert", model, "-o", tmp_path / "saved", "--overwrite", "--no-verify").code == FAITHFUL
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_convert_refuses_what_it_cannot_carry(cli: Cli, custom: Path, tmp_path: Path) -> None:
    done = cli("convert", custom, "-o", tmp_path / "saved")
    assert done.code == REFUSED
    assert "com.acme" in done.err and "--ops" in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "saved").exists()


def test_convert_with_ops(cli: Cli, custom: Path, exact: Path, tmp_path: Path) -> None:
    done = cli("convert", custom, "-o", tmp_path / "saved", "--ops", exact)
    assert done.code == FAITHFUL, done.out + done.err
    assert "com.acme" in done.out
    x = np.ones((1, 3), np.float32)
    np.testing.assert_array_equal(trueport.load(tmp_path / "saved").run({"x": x})["y"], 3 * x)


def test_a_lossy_operator_is_exit_code_one(cli: Cli, custom: Path, lossy: Path, tmp_path: Path) -> None:
    checked = cli("check", custom, "--ops", lossy)
    assert checked.code == NOT_FAITHFUL
    assert "it is only an example" in checked.out
    assert cli("convert", custom, "-o", tmp_path / "saved", "--ops", lossy).code == NOT_FAITHFUL


@pytest.mark.parametrize("words", [["--ops", "nowhere.py"], ["--ops", "no_such_module"]])
def test_ops_that_are_not_there(cli: Cli, model: Path, words: list[str]) -> None:
    done = cli("check", model, *words)
    assert done.code == REFUSED
    assert words[1] in done.err


def test_check(cli: Cli, model: Path, custom: Path) -> None:
    good = cli("check", model)
    assert good.code == FAITHFUL
    assert "1 exact" in good.out
    bad = cli("check", custom)
    assert bad.code == REFUSED
    assert "has no mapping" in bad.out
    data = json.loads(cli("check", custom, "--json").out)
    assert data["fidelity"] == "unsupported"
    assert data["findings"][0]["reasons"][0]["label"] == "no-mapping"


@pytest.mark.parametrize("command", ["check", "ops"])
def test_an_unknown_target(cli: Cli, model: Path, command: str) -> None:
    done = cli(command, *([model] if command == "check" else []), "--to", "tensorphlow")
    assert done.code == REFUSED
    assert "tensorphlow" in done.err and "tensorflow" in done.err


def test_run_both_formats(cli: Cli, model: Path, tmp_path: Path) -> None:
    cli("convert", model, "-o", tmp_path / "saved", "--no-verify")
    np.save(tmp_path / "x.npy", np.ones((2, 3), np.float32))
    for artifact in (model, tmp_path / "saved"):
        done = cli("run", artifact, "--input", f"x={tmp_path / 'x.npy'}", "--save", tmp_path / "out.npz")
        assert done.code == FAITHFUL, done.err
        assert done.out.startswith("y: float32[2, 4] min ")
        with np.load(tmp_path / "out.npz") as saved:
            assert saved["y"].shape == (2, 4)


def test_run_fetches_inner_values(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "chain.onnx").write_bytes(relu_chain(3).SerializeToString())
    np.save(tmp_path / "x.npy", np.ones((2, 3), np.float32))
    done = cli("run", tmp_path / "chain.onnx", "-i", f"x={tmp_path / 'x.npy'}", "--fetch", "h1", "--fetch", "h2")
    assert [line.split(":")[0] for line in done.out.splitlines()] == ["h1", "h2"]


@pytest.mark.parametrize(
    "words, says",
    [
        ([], "input 'x': is missing"),
        (["-i", "x"], "is not NAME=FILE"),
        (["-i", "x=nowhere.npy"], "there is no file"),
        (["-i", "x={wrong}"], "has dtype float64"),
        (["-i", "x={text}"], "can't be read"),
        (["-i", "x={right}", "--fetch", "nothing"], "'nothing'"),
    ],
    ids=["missing", "no file name", "no file", "dtype", "no array", "unknown value"],
)
def test_run_refuses(words: list[str], says: str, cli: Cli, model: Path, tmp_path: Path) -> None:
    files = {name: tmp_path / f"{name}.npy" for name in ("wrong", "right", "text")}
    np.save(files["wrong"], np.ones((2, 3)))
    np.save(files["right"], np.ones((2, 3), np.float32))
    files["text"].write_text("this is no array")
    done = cli("run", model, *(word.format(**files) for word in words))
    assert done.code == REFUSED
    assert says in done.err
    assert "Traceback" not in done.err


def test_info(cli: Cli, model: Path, tmp_path: Path) -> None:
    cli("convert", model, "-o", tmp_path / "saved", "--no-verify")
    source = cli("info", model)
    assert source.code == FAITHFUL
    assert "x: float[n, 3]" in source.out and "MatMul: 1" in source.out
    assert json.loads(cli("info", model, "--json").out)["parameters"] == 12
    target = json.loads(cli("info", tmp_path / "saved", "--json").out)
    assert target["format"] == "SavedModel by Trueport"
    assert target["inputs"] == ["x: float[n, 3]"]
    assert target["weights"] == 1
    assert cli("info", tmp_path / "nowhere").code == REFUSED


def test_ops_prints_the_table(cli: Cli, exact: Path) -> None:
    table = cli("ops").out
    assert sum(line.startswith("Conv ") for line in table.splitlines()) == 1
    card = cli("ops", "LeakyRelu")
    assert card.code == FAITHFUL
    assert "declared in: trueport.backends.tensorflow.ops" in card.out
    assert "declared in: exact_ops" in cli("ops", "com.acme::Scale", "--ops", exact).out
    assert cli("ops", "NoSuchThing").code == REFUSED


@pytest.mark.parametrize("words", [["nonsense"], ["convert"], ["convert", "x.onnx"], ["check", "--nonsense"]])
def test_wrong_usage_is_refused(cli: Cli, words: list[str]) -> None:
    assert cli(*words).code == REFUSED


def test_help(cli: Cli) -> None:
    done = cli("--help")
    assert done.code == FAITHFUL
    assert all(command in done.out for command in ("convert", "check", "run", "info", "ops"))


@pytest.mark.parametrize(
    "environment", [{"NO_COLOR": "1"}, {"FORCE_COLOR": "1"}, {"LANG": "C", "PYTHONIOENCODING": "utf-8"}]
)
def test_as_a_process(environment: dict[str, str], model: Path) -> None:
    """As installed: nothing but the answer on stdout, and no control characters where none are wanted."""
    done = subprocess.run(
        [sys.executable, "-m", "trueport", "check", str(model)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert done.returncode == FAITHFUL, done.stderr
    plain = re.sub(r"\x1b\[[\d;]*m", "", done.stdout)
    assert "".join(plain.split("\n")[:3]).startswith(f"{model} → tensorflow: converts exactly")
    assert ("\x1b" in done.stdout) == ("FORCE_COLOR" in environment)
    assert done.stderr == ""


def test_a_broken_file_is_one_screen(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "broken.onnx").write_bytes(b"\x08\x0a" + b"no" * 100)
    done = cli("convert", tmp_path / "broken.onnx", "-o", tmp_path / "saved")
    assert done.code == REFUSED
    assert done.err.startswith("trueport: ")
    assert len(done.err.splitlines()) < 10


def test_models_are_not_touched(cli: Cli, model: Path, tmp_path: Path) -> None:
    before = model.read_bytes()
    cli("convert", model, "-o", tmp_path / "saved", "--no-verify")
    assert model.read_bytes() == before
    assert onnx.load(model).graph.node[0].op_type == "MatMul"


def test_no_temporary_folder_is_one_line(
    cli: Cli, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/ram']")

    monkeypatch.setattr(tempfile, "gettempdir", refuse)
    (tmp_path / "out").mkdir()
    done = cli("convert", model, "-o", tmp_path / "out" / "m.tflite")
    assert (done.code, done.err) == (REFUSED, "trueport: No usable temporary directory found in ['/ram']\n")
    assert not list((tmp_path / "out").iterdir())
