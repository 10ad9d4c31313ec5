"""The record of a machine: what the system lists, what was loaded, and one line of it; whatever machine this is."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from trueport.runtimes import machine
from trueport.runtimes.machine import Machine, cpu_features, describe_machine

X86 = """processor\t: 0
flags\t\t: fpu sse4_1 avx f16c avx2 fma avx512f avx512_vnni rdpid
processor\t: 1
flags\t\t: fpu
"""
ARM = "processor\t: 0\nFeatures\t: fp asimd evtstrm asimdhp asimddp\n"
TENSORFLOW = "tensorflow.python.util._pywrap_util_port"


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    cpu_features.cache_clear()
    yield
    cpu_features.cache_clear()


@pytest.mark.parametrize(
    ("text", "features"),
    [
        (X86, ("sse4_1", "avx", "f16c", "avx2", "fma", "avx512f", "avx512_vnni")),
        (ARM, ("asimd", "asimdhp", "asimddp")),
        ("processor\t: 0\n", ()),
    ],
    ids=["x86", "arm", "nothing"],
)
def test_features_are_those_that_linux_lists(
    text: str, features: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpuinfo").write_text(text)
    monkeypatch.setattr(machine, "_CPUINFO", tmp_path / "cpuinfo")
    assert cpu_features() == features


def test_elsewhere_features_are_those_that_numpy_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_CPUINFO", tmp_path / "none")
    found = SimpleNamespace(__cpu_features__={"SSE41": True, "AVX2": True, "FMA3": True, "AVX512F": False})
    monkeypatch.setitem(sys.modules, "numpy._core._multiarray_umath", found)
    assert cpu_features() == ("sse4_1", "avx2", "fma")


def test_versions_are_of_the_modules_that_are_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution may be called differently: tensorflow-cpu, onnxruntime-gpu, tf-nightly."""
    monkeypatch.setitem(sys.modules, "tensorflow", SimpleNamespace(__version__="9.9.9"))
    monkeypatch.setitem(sys.modules, "torch", None)
    found = describe_machine().versions
    assert found["tensorflow"] == "9.9.9" and "torch" not in found


@pytest.mark.parametrize("is_on", [True, False])
def test_onednn_is_what_tensorflow_says(is_on: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, TENSORFLOW, SimpleNamespace(IsMklEnabled=lambda: is_on))
    assert describe_machine().onednn is is_on
    monkeypatch.setitem(sys.modules, TENSORFLOW, None)
    assert describe_machine().onednn is None


def test_variables_that_choose_kernels_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    monkeypatch.delenv("ATEN_CPU_CAPABILITY", raising=False)
    found = describe_machine().environment
    assert found["ONEDNN_MAX_CPU_ISA"] == "AVX2" and "ATEN_CPU_CAPABILITY" not in found


def test_describing_loads_no_framework() -> None:
    code = (
        "import sys; from trueport.runtimes.machine import describe_machine; print(describe_machine().versions)\n"
        "print(*({'numpy', 'onnx', 'onnxruntime', 'tensorflow', 'keras', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["{}"]


def test_one_line_says_it_all() -> None:
    features = ("sse4_1", "avx", "f16c", "avx2", "fma", "avx512_vnni")
    versions = {"numpy": "2.4.6", "onnxruntime": "1.31.0", "tensorflow": "2.21.0"}
    found = Machine("x86_64", features, 2, True, {"ONEDNN_MAX_CPU_ISA": "AVX2"}, versions)
    assert str(found) == (
        "x86_64 AVX2 FMA AVX512_VNNI, 2 threads, oneDNN on, ONEDNN_MAX_CPU_ISA=AVX2; "
        "onnxruntime 1.31.0, tensorflow 2.21.0"
    )
    assert str(Machine("aarch64")) == "aarch64, 1 thread"
    assert str(Machine("x86_64", ("sse4_1", "avx"), 1, False)) == "x86_64 SSE4_1 AVX, 1 thread, oneDNN off"


def test_what_a_child_had_loaded_is_added() -> None:
    here = Machine("x86_64", threads=2, versions={"onnx": "1.20"})
    child = Machine("x86_64", threads=1, onednn=False, versions={"onnx": "1.20", "tensorflow": "2.21.0"})
    found = here.merged(child)
    assert (found.threads, found.onednn, dict(found.versions)) == (2, False, {"onnx": "1.20", "tensorflow": "2.21.0"})
