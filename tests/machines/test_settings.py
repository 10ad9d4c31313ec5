"""A few of the settings of other CPUs, in processes of their own; `make test-machines` runs all of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.machines import masked
from tests.machines.settings import ROOT, SETTINGS, environment_of

BY_NAME = {setting.name: setting for setting in SETTINGS}
EMULATOR = "qemu-x86_64"


def python(setting: str, *arguments: str, folder: Path = Path()) -> subprocess.CompletedProcess[str]:
    """Run Python in the environment of a setting; ``folder`` is for what a masked one needs."""
    environment = environment_of(BY_NAME[setting], folder)
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=1500)


@pytest.mark.parametrize("setting", ["oneDNN off", "oneDNN on"])
def test_grouped_and_depthwise_chains(setting: str) -> None:
    """Each chain that Grappler fuses has a kernel: bias, batch norm, activation, residual."""
    done = python(
        setting, "-m", "tests.machines.chains", "^2-D g[26] (padded |uneven dilated|doubled)$|^1-D g2 valid $"
    )
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert "7 passed, 0 failed" in done.stdout


EMPTY = """
import numpy as np, tests.backends.test_dynamic_shapes as shapes
from trueport.backend import prepare
(got,) = prepare(shapes.cnn()).run({"x": np.zeros((0, 3, 8, 8), np.float32)})
print("shape", list(got.shape))
"""
WRONG_SHAPE = "TensorFlow 2.21 (oneDNN) gives the convolution of an empty batch the shape of its input"


@pytest.mark.parametrize(
    "setting", ["oneDNN off", pytest.param("oneDNN on", marks=pytest.mark.xfail(strict=True, reason=WRONG_SHAPE))]
)
def test_a_network_takes_an_empty_batch(setting: str) -> None:
    done = python(setting, "-c", EMPTY)
    assert "shape [0, 5]" in done.stdout, done.stdout + done.stderr[-2000:]


@pytest.mark.skipif(bool(masked.why_not()), reason=f"ONNX Runtime can't be shown another CPU: {masked.why_not()}")
def test_saturated_sums_are_told(tmp_path_factory: pytest.TempPathFactory) -> None:
    """On a CPU without VNNI the report names ONNX Runtime, not the target."""
    folder = tmp_path_factory.mktemp("masked")
    done = python("a CPU with AVX2 only", "-m", "tests.machines.emulated", "sums", folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


@pytest.mark.skipif(shutil.which(EMULATOR) is None, reason=f"{EMULATOR} (Debian's qemu-user) is not installed")
@pytest.mark.parametrize("part", ["sums", pytest.param("chains", marks=pytest.mark.slow)])
def test_an_emulated_cpu(part: str) -> None:
    """The same, and a grouped convolution, on an emulated CPU with AVX2 and nothing newer."""
    done = subprocess.run(
        [EMULATOR, "-cpu", "Haswell", sys.executable, "-m", "tests.machines.emulated", part],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=1500,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


def test_the_settings_reach_the_frameworks() -> None:
    """A setting that does nothing would show nothing."""
    ask = "from tensorflow.python.util import _pywrap_util_port as p; print(p.IsMklEnabled())"
    assert "False" in python("oneDNN off", "-c", ask).stdout
    assert "True" in python("oneDNN on", "-c", ask).stdout
    ask = "import torch; print(torch.backends.cpu.get_cpu_capability())"
    assert "DEFAULT" in python("OpenBLAS SSE4.2, PyTorch baseline", "-c", ask).stdout
