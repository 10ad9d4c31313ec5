"""Settings of runtimes that may differ in rounding only: optimization levels, threads, kernels, instructions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from trueport.runtimes.base import Model
from trueport.runtimes.machine import Machine
from trueport.runtimes.onnxruntime import LEVELS

__all__ = ["SETTINGS", "NotShown", "Reopens", "Setting", "settings_of", "why_not_here"]


class NotShown(Exception):
    """The setting has no effect in the process that was started for it."""


@dataclass(frozen=True)
class Setting:
    """One way in which users run a model."""

    runtime: str
    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    """how the model is opened"""
    environment: Mapping[str, str] = field(default_factory=dict)
    """variables of the process, which runtimes read once, when they are loaded"""
    needs: str = ""
    """the CPU feature without which the runtime silently does something else"""
    onednn: bool | None = None
    """whether TensorFlow's oneDNN operators must be on in the process; None where that is left as it is"""
    compiles: bool = False
    """the model is compiled at its first run, which is refused for some"""
    optimization: bool = False
    """turns an optimization on or off: what ``locate`` tries where no node explains a difference"""

    @property
    def needs_process(self) -> bool:
        """True if it holds for a whole process, so that the model must be opened in a new one."""
        return bool(self.environment) or "grappler" in self.options


def _onnxruntime() -> list[Setting]:
    levels = [Setting("onnxruntime", f"level {level}", {"level": level}, optimization=True) for level in LEVELS]
    threads = [Setting("onnxruntime", _threads(n), {"level": "all", "threads": n}) for n in (1, 2)]
    return [*levels, *threads]


def _tensorflow() -> list[Setting]:
    capped = [("SSE41", "sse4_1"), ("AVX2", "avx2"), ("AVX512_CORE", "avx512f")]
    return [
        Setting("tensorflow", "oneDNN off", environment=_onednn("0"), onednn=False, optimization=True),
        Setting("tensorflow", "oneDNN on", environment=_onednn("1"), onednn=True, optimization=True),
        *(
            Setting(
                "tensorflow",
                f"oneDNN with {isa}",
                environment={**_onednn("1"), "ONEDNN_MAX_CPU_ISA": isa},
                needs=feature,
                onednn=True,
            )
            for isa, feature in capped
        ),
        Setting("tensorflow", "without Grappler", {"grappler": False}, optimization=True),
        Setting("tensorflow", "XLA", {"xla": True}, compiles=True, optimization=True),
        *(
            Setting(
                "tensorflow",
                _threads(n),
                environment={"TF_NUM_INTRAOP_THREADS": str(n), "TF_NUM_INTEROP_THREADS": str(n)},
            )
            for n in (1, 2)
        ),
    ]


def _tflite() -> list[Setting]:
    return [
        Setting("tflite", f"{kernels} kernels", {"kernels": kernels}, optimization=True)
        for kernels in ("delegate", "builtin", "reference")
    ]


def _pytorch() -> list[Setting]:
    capable = [("default", ""), ("avx2", "avx2"), ("avx512", "avx512f")]
    return [
        *(
            Setting("pytorch", f"kernels for {isa}", environment={"ATEN_CPU_CAPABILITY": isa}, needs=feature)
            for isa, feature in capable
        ),
        *(Setting("pytorch", _threads(n), environment={"OMP_NUM_THREADS": str(n)}) for n in (1, 2)),
    ]


def _onednn(value: str) -> dict[str, str]:
    return {"TF_ENABLE_ONEDNN_OPTS": value}


def _threads(count: int) -> str:
    return f"{count} thread" + "s" * (count > 1)


SETTINGS: Sequence[Setting] = (*_onnxruntime(), *_tensorflow(), *_tflite(), *_pytorch())
"""All of them, in the order in which they are tried."""


class Reopens(Protocol):
    """A model that can be opened again under settings."""

    @property
    def role(self) -> str:
        """``source`` or ``target``."""

    @property
    def model(self) -> Model:
        """As it is open, under no particular setting."""

    def why_not(self, setting: Setting) -> str:
        """Return the reason why the setting can't be tried; empty where it can."""

    def open(self, setting: Setting) -> Model:
        """Return the model under a setting; raises what the runtime raises, or `NotShown`."""


def settings_of(runtime: str) -> list[Setting]:
    """Return the settings of a runtime; ONNX's reference, which stands in for ONNX Runtime, has that one's."""
    wanted = "onnxruntime" if runtime == "onnx reference" else runtime
    return [setting for setting in SETTINGS if setting.runtime == wanted]


def why_not_here(setting: Setting, machine: Machine) -> str:
    """Return the reason why this machine can't show the setting; empty where it can."""
    if not setting.needs or setting.needs in machine.features:
        return ""
    if not machine.features:
        return f"the system does not list the CPU's instructions, {setting.needs.upper()} may be missing"
    return f"this CPU has no {setting.needs.upper()}"
