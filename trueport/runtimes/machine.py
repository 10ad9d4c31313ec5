"""On which machine numbers were computed: the CPU, the number of threads, and the runtimes that were loaded.

Kernels are chosen by the CPU's instructions, so the same model gives other last digits on another machine.
"""

from __future__ import annotations

import functools
import os
import platform
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

__all__ = ["Machine", "cpu_features", "describe_machine", "loaded_versions"]

_CPUINFO = Path("/proc/cpuinfo")
_X86 = (
    "sse4_1",
    "avx",
    "f16c",
    "avx2",
    "fma",
    "avx512f",
    "avx512_vnni",
    "avx_vnni",
    "avx512_bf16",
    "avx512_fp16",
    "amx_tile",
    "amx_int8",
    "amx_bf16",
)
_ARM = ("asimd", "asimdhp", "asimddp", "sve", "i8mm", "bf16")
_FEATURES = (*_X86, *_ARM)
"""Instructions by which runtimes choose their kernels, as Linux spells them."""
_BY_NUMPY = {"SSE41": "sse4_1", "FMA3": "fma", "AVX512VNNI": "avx512_vnni", "AVX512BF16": "avx512_bf16"}
"""Features that NumPy spells differently."""
_IMPLIED = ("sse4_1", "avx", "f16c")
"""What every CPU with AVX2 has: not worth a word in one line."""
_MODULES = ("numpy", "onnx", "onnxruntime", "tensorflow", "keras", "torch", "ai_edge_litert")
_RUNTIMES = ("onnxruntime", "tensorflow", "torch", "ai_edge_litert")
_VARIABLES = (
    "TF_ENABLE_ONEDNN_OPTS",
    "ONEDNN_MAX_CPU_ISA",
    "ATEN_CPU_CAPABILITY",
    "OPENBLAS_CORETYPE",
    "NPY_DISABLE_CPU_FEATURES",
    "TF_NUM_INTRAOP_THREADS",
    "TF_NUM_INTEROP_THREADS",
    "OMP_NUM_THREADS",
)
"""Environment variables that choose other kernels or another order of sums."""


@dataclass(frozen=True)
class Machine:
    """The machine and the runtimes that a verdict was given on."""

    architecture: str
    features: tuple[str, ...] = ()
    """instructions of the CPU that runtimes choose kernels by; empty where the system does not list them"""
    threads: int = 1
    """CPU threads that this process may use"""
    onednn: bool | None = None
    """whether TensorFlow's oneDNN operators are on; None where TensorFlow is not loaded or does not say"""
    environment: Mapping[str, str] = field(default_factory=dict)
    """variables that are set and choose kernels or threads"""
    versions: Mapping[str, str] = field(default_factory=dict)
    """of the frameworks that were loaded, by the name they are imported with"""

    def merged(self, other: Machine) -> Machine:
        """Return the same with what another process on it had loaded."""
        onednn = other.onednn if self.onednn is None else self.onednn
        return replace(self, onednn=onednn, versions={**other.versions, **self.versions})

    def __str__(self) -> str:
        shown = [name for name in self.features if "avx2" not in self.features or name not in _IMPLIED]
        parts = [" ".join([self.architecture, *(name.upper() for name in shown)])]
        parts.append(f"{self.threads} thread" + "s" * (self.threads != 1))
        if self.onednn is not None:
            parts.append(f"oneDNN {'on' if self.onednn else 'off'}")
        parts += [f"{name}={value}" for name, value in self.environment.items()]
        runtimes = [f"{name} {self.versions[name]}" for name in _RUNTIMES if name in self.versions]
        return "; ".join(filter(None, [", ".join(parts), ", ".join(runtimes)]))


def describe_machine() -> Machine:
    """Return this machine, and what this process has loaded by now; loads no framework."""
    return Machine(
        architecture=platform.machine() or "unknown",
        features=cpu_features(),
        threads=_threads(),
        onednn=_onednn(),
        environment={name: os.environ[name] for name in _VARIABLES if name in os.environ},
        versions=loaded_versions(_MODULES),
    )


@functools.cache
def cpu_features() -> tuple[str, ...]:
    """Return those features of the CPU that matter, in a fixed order."""
    found = _listed(_CPUINFO.read_text(encoding="utf-8")) if _CPUINFO.exists() else _seen_by_numpy()
    return tuple(name for name in _FEATURES if name in found)


def _listed(cpuinfo: str) -> set[str]:
    """Return what Linux lists for the first CPU: ``flags`` on x86, ``Features`` on ARM."""
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("flags", "Features"):
            return set(value.split())
    return set()


def _seen_by_numpy() -> set[str]:
    """Return what NumPy found when it was loaded, for systems without /proc."""
    known: Mapping[str, bool] = getattr(sys.modules.get("numpy._core._multiarray_umath"), "__cpu_features__", {})
    return {_BY_NUMPY.get(name, name.lower()) for name, present in known.items() if present}


def _threads() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _onednn() -> bool | None:
    """Return what TensorFlow decided when it was loaded: by its variable, else by the CPU."""
    port = sys.modules.get("tensorflow.python.util._pywrap_util_port")
    is_on = getattr(port, "IsMklEnabled", None)
    return bool(is_on()) if is_on is not None else None


def loaded_versions(names: Iterable[str]) -> dict[str, str]:
    """Return the versions of modules that are loaded: the same module comes from distributions of several names."""
    found = {name: getattr(sys.modules.get(name), "__version__", None) for name in names}
    return {name: str(version) for name, version in found.items() if version is not None}
