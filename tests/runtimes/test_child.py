"""Models in processes of their own: crashes, endless runs and too much memory are errors, not the end of us."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import trueport
from tests.models import relu_chain
from trueport.errors import InvalidInput, InvalidModel, RunFailed, UsageError
from trueport.runtimes.child import ChildFailure, ChildModel, Limits
from trueport.sources.open import open_source

X = np.array([[-1, 0, 2]], np.float32)
FAULTY = '''
import ctypes, time
import numpy as np
from trueport.runtimes.onnxruntime import OnnxRuntimeModel


class Faulty(OnnxRuntimeModel):
    """Does by its first input's first number what natively written runtimes have been seen to do."""

    def _run(self, feeds, fetch):
        match int(feeds["x"].flat[0]):
            case 1:
                ctypes.string_at(0)
            case 2:
                time.sleep(600)
            case 3:
                held = np.ones(80_000_000)
                time.sleep(600)
            case 4:
                raise ValueError("what the runtime says")
        print("a runtime that talks", flush=True)
        return super()._run(feeds, fetch)
'''


@pytest.fixture
def faulty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "faulty.py").write_text(FAULTY)
    onnx.save(relu_chain(), tmp_path / "m.onnx")
    monkeypatch.syspath_prepend(str(tmp_path))
    return lambda limits: ChildModel("faulty:Faulty", str(tmp_path / "m.onnx"), limits, {}, {})


def started(number: float) -> dict[str, np.ndarray]:
    return {"x": np.full((1, 3), number, np.float32)}


def test_it_answers_as_any_model_does(tmp_path: Path) -> None:
    onnx.save(relu_chain(), tmp_path / "m.onnx")
    model = open_source(tmp_path / "m.onnx", limits=Limits()).deployed()
    assert model.runtime == "onnxruntime"
    np.testing.assert_array_equal(model.run({"x": X})["y"], np.maximum(X, 0))
    assert "h1" in model.inner()
    np.testing.assert_array_equal(model.segment({"h1": X}, ["y"], {"x": X})["y"], np.maximum(X, 0))
    with pytest.raises(InvalidInput, match="no value 'nowhere'"):
        model.run({"x": X}, fetch=["nowhere"])
    with pytest.raises(InvalidModel, match="no such file"):
        open_source(tmp_path / "missing.onnx", limits=Limits()).deployed()


def test_weights_are_read_one_by_one(tmp_path: Path) -> None:
    graph = "g (float[1,3] x) => (float[1,3] y) <float[3] w = {1, 2, 4}> { y = Mul(x, w) }"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 18]> {graph}'), tmp_path / "m.onnx")
    weights = open_source(tmp_path / "m.onnx", limits=Limits()).deployed().constants()
    assert list(weights) == ["w"]
    np.testing.assert_array_equal(weights["w"], np.array([1, 2, 4], np.float32))


def test_a_crash_is_an_error(faulty: Any) -> None:
    model = faulty(Limits())
    np.testing.assert_array_equal(model.run(started(0))["y"], np.zeros((1, 3)))
    with pytest.raises(RunFailed, match=r"m.onnx: the process that ran the model died \(SIGSEGV\)"):
        model.run(started(1))
    with pytest.raises(RunFailed, match="died"):
        model.run(started(0))


def test_time_is_limited(faulty: Any) -> None:
    model = faulty(Limits(seconds=1))
    start = time.monotonic()
    with pytest.raises(RunFailed, match="took longer than 1 s"):
        model.run(started(2))
    assert time.monotonic() - start < 30


def test_memory_is_limited(faulty: Any) -> None:
    model = faulty(Limits(memory=400 << 20))
    with pytest.raises(RunFailed, match="400 MB are allowed"):
        model.run(started(3))


def test_what_a_runtime_raises_comes_in_its_words_and_the_child_lives(faulty: Any) -> None:
    model = faulty(Limits())
    with pytest.raises(ChildFailure, match="ValueError: what the runtime says"):
        model.run(started(4))
    assert model.run(started(0))["y"].shape == (1, 3)


def test_the_child_ends_with_its_model(faulty: Any) -> None:
    model = faulty(Limits())
    process = model._process.pid
    model.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_verify_in_processes_of_their_own(tmp_path: Path) -> None:
    onnx.save(relu_chain(), tmp_path / "m.onnx")
    words = ["verify", "m.onnx", "m.onnx", "--isolate", "--timeout", "60", "--memory", "4GB"]
    fine = subprocess.run([sys.executable, "-m", "trueport", *words], cwd=tmp_path, capture_output=True, text=True)
    assert (fine.returncode, fine.stdout.split(":")[0]) == (0, "faithful"), fine.stderr
    with pytest.raises(RunFailed, match="MB are allowed"):
        trueport.verify(tmp_path / "m.onnx", tmp_path / "m.onnx", isolate=True, memory=20 << 20)
    with pytest.raises(UsageError, match="isolate"):
        trueport.verify(tmp_path / "m.onnx", tmp_path / "m.onnx", timeout=1)


def test_what_is_in_memory_can_not_be_isolated() -> None:
    with pytest.raises(UsageError, match="isolate: a ModelProto in memory"):
        trueport.verify(relu_chain(), relu_chain(), isolate=True)
