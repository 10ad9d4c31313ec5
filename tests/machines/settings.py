"""Settings of other CPUs: environments under which the numerical tests must give the same answers.

Frameworks choose kernels by the CPU they meet. Most of that choice can be set from outside, so one machine shows
what many do: TensorFlow's oneDNN operators off (as on CPUs without AVX-512 VNNI), oneDNN limited to older instruction
sets, NumPy, OpenBLAS and PyTorch likewise, one thread or two, XLA. ONNX Runtime has no such setting: see
:mod:`tests.machines.masked` and :mod:`tests.machines.emulated`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.machines import masked, xla

__all__ = ["ROOT", "SETTINGS", "Setting", "environment_of", "print_failures"]

ROOT = Path(__file__).parents[2]

_NUMPY_OFF = "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR"


@dataclass(frozen=True)
class Setting:
    """One environment."""

    name: str
    variables: Mapping[str, str] = field(default_factory=dict)
    suite: tuple[str, ...] = ()
    """arguments for tests/conformance/run_suite.py: cases that can't pass"""
    masked: bool = False
    """ONNX Runtime sees a CPU with AVX2 and nothing newer"""


def _onednn(level: str) -> dict[str, str]:
    return {"TF_ENABLE_ONEDNN_OPTS": "1", "ONEDNN_MAX_CPU_ISA": level}


def _threads(count: int) -> dict[str, str]:
    number = str(count)
    return {
        "TF_NUM_INTRAOP_THREADS": number,
        "TF_NUM_INTEROP_THREADS": number,
        "OMP_NUM_THREADS": number,
        "OPENBLAS_NUM_THREADS": number,
    }


SETTINGS: tuple[Setting, ...] = (
    Setting("oneDNN off", {"TF_ENABLE_ONEDNN_OPTS": "0"}),
    Setting("oneDNN on", {"TF_ENABLE_ONEDNN_OPTS": "1"}),
    Setting("oneDNN SSE4.1", _onednn("SSE41")),
    Setting("oneDNN AVX2", _onednn("AVX2")),
    Setting("oneDNN AVX-512", _onednn("AVX512_CORE")),
    Setting(
        "NumPy, OpenBLAS, PyTorch AVX2",
        {"NPY_DISABLE_CPU_FEATURES": _NUMPY_OFF, "OPENBLAS_CORETYPE": "Haswell", "ATEN_CPU_CAPABILITY": "avx2"},
    ),
    Setting("OpenBLAS SSE4.2, PyTorch baseline", {"OPENBLAS_CORETYPE": "Nehalem", "ATEN_CPU_CAPABILITY": "default"}),
    Setting("PyTorch AVX-512", {"ATEN_CPU_CAPABILITY": "avx512"}),
    Setting("1 thread", _threads(1)),
    Setting("2 threads", _threads(2)),
    Setting(
        "XLA",
        {"TF_XLA_FLAGS": "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit"},
        ("--failing", "|".join(xla.FAILING.values())),
    ),
    Setting(
        "a CPU with AVX2 only",
        {"TF_ENABLE_ONEDNN_OPTS": "0", "OPENBLAS_CORETYPE": "Haswell", "ATEN_CPU_CAPABILITY": "avx2"},
        masked=True,
    ),
)


def environment_of(setting: Setting, folder: Path) -> dict[str, str]:
    """Return the variables of a process under a setting; ``folder`` holds what a masked one needs."""
    variables = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **setting.variables}
    hidden = masked.environment(folder) if setting.masked else {}
    paths = [hidden.pop("PYTHONPATH"), str(ROOT)] if hidden else [str(ROOT)]
    return {**variables, **hidden, "PYTHONPATH": os.pathsep.join(paths)}


def print_failures(found: Iterable[tuple[str, str]]) -> int:
    """Print each name with what is wrong with it, if anything is, then the count; return the number of failures."""
    passed = failed = 0
    for name, wrong in found:
        passed, failed = passed + (not wrong), failed + bool(wrong)
        if wrong:
            print(f"FAIL {name}: {wrong}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return failed
