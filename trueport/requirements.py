"""What each command needs beside Trueport's own dependencies, asked before any work begins.

    convert   CAPTURE[source] + WRITE[target]; to verify: RUN_SOURCE[source] + RUN[target] as well
    check     CAPTURE[source]
    verify    RUN_SOURCE[source] + RUN[target]; locate the same
    run       RUN[model]
    info      INSPECT[model]
    diff      CAPTURE[model]
    ops, report, --version, --help    nothing

A package is looked up by the module that is imported: distributions of several names bring the same one
(tensorflow and tensorflow-cpu, onnxruntime and onnxruntime-gpu).
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from trueport.errors import MissingDependency

__all__ = [
    "CAPTURE",
    "INSPECT",
    "RUN",
    "RUN_SOURCE",
    "WRITE",
    "Form",
    "Package",
    "is_installed",
    "require_for_check",
    "require_for_comparison",
    "require_for_conversion",
    "require_to_inspect",
    "require_to_run",
]

Form = str
"""onnx, tensorflow, pytorch or tflite"""


@dataclass(frozen=True)
class Package:
    """What a user installs."""

    name: str
    modules: tuple[str, ...]
    """modules that are imported; any of them is enough"""
    extra: str
    """the extra of Trueport that brings it"""

    @property
    def is_installed(self) -> bool:
        return any(map(is_installed, self.modules))


TENSORFLOW = Package("TensorFlow", ("tensorflow",), "tensorflow")
ONNX_RUNTIME = Package("ONNX Runtime", ("onnxruntime",), "onnxruntime")
EXTENSIONS = Package("onnxruntime-extensions", ("onnxruntime_extensions",), "extensions")
PYTORCH = Package("PyTorch", ("torch",), "torch")
ONNXSCRIPT = Package("onnxscript", ("onnxscript",), "torch")
LITERT = Package("LiteRT (or TensorFlow)", ("ai_edge_litert", "tensorflow"), "litert")

_Needs = Mapping[Form, tuple[Package, ...]]

CAPTURE: _Needs = {"onnx": (), "tensorflow": (TENSORFLOW,), "pytorch": (PYTORCH, ONNXSCRIPT)}
"""To read a source and to translate it to a graph of ONNX operators."""
WRITE: _Needs = {"onnx": (), "tensorflow": (TENSORFLOW,), "tflite": (TENSORFLOW,)}
"""To write a target. ONNX files: the table of ONNX Runtime's kernels is stored where ONNX Runtime is not installed."""
RUN: _Needs = {
    "onnx": (ONNX_RUNTIME,),
    "tensorflow": (TENSORFLOW,),
    "pytorch": (PYTORCH,),
    "tflite": (LITERT,),
}
"""To run a model in its runtime."""
RUN_SOURCE: _Needs = {**RUN, "onnx": ()}
"""To run a source that a target is compared with: ONNX's reference evaluator stands in for ONNX Runtime."""
INSPECT: _Needs = {"onnx": (), "tensorflow": (TENSORFLOW,), "tflite": (LITERT,)}
"""To show inputs, outputs and operators of a file."""

_NAMES: Mapping[Form, str] = {"onnx": "ONNX", "tensorflow": "TensorFlow", "pytorch": "PyTorch", "tflite": "TFLite"}
_A_MODEL: Mapping[Form, str] = {form: f"a {name} model" for form, name in _NAMES.items()} | {"onnx": "an ONNX model"}
_WITHOUT_VERIFYING = "convert without verifying: --no-verify (verify=False)"


def is_installed(module: str) -> bool:
    """True if a module can be imported; loads nothing.

    A folder of that name without an __init__ file, in the current folder for example, is not the package.
    """
    if module in sys.modules:
        return sys.modules[module] is not None
    found = importlib.util.find_spec(module)
    return found is not None and found.origin is not None


def require_for_conversion(source: Form | None, target: Form | None, *, verify: bool, extensions: bool) -> None:
    """Raise `MissingDependency` if a conversion lacks a package; None is a form that no conversion knows."""
    if source is None or target is None or source not in CAPTURE or target not in WRITE:
        return
    step = f"converting {_NAMES[source]} to {_NAMES[target]}"
    needed = [*CAPTURE[source], *WRITE[target], *([EXTENSIONS] if extensions else [])]
    comparing = [*RUN_SOURCE[source], *RUN[target]] if verify else []
    if _missing(needed):
        _require(step, [*needed, *comparing])
    _require(f"verifying the {_NAMES[target]} model", comparing, instead=_WITHOUT_VERIFYING)


def require_for_check(source: Form | None, *, extensions: bool = False) -> None:
    """Raise `MissingDependency` if reading a source to check it, or to compare its graph, lacks a package."""
    if source is not None and source in CAPTURE:
        _require(f"reading {_A_MODEL[source]}", [*CAPTURE[source], *([EXTENSIONS] if extensions else [])])


def require_for_comparison(source: Form | None, target: Form | None, *, in_runtime: bool) -> None:
    """Raise `MissingDependency` if a source or a target lacks a runtime; ``in_runtime``: the reference won't do."""
    needed = [*(RUN if in_runtime else RUN_SOURCE).get(source or "", ())]
    needed += RUN.get(target or "", ())
    known = [_NAMES.get(form, form) for form in (source, target) if form]
    _require(f"comparing {' with '.join(known)}", needed)


def require_to_run(form: Form) -> None:
    """Raise `MissingDependency` if the runtime of a form is not installed."""
    _require(f"running {_A_MODEL.get(form, form)}", RUN.get(form, ()))


def require_to_inspect(form: Form) -> None:
    """Raise `MissingDependency` if what reads a file of a form is not installed."""
    _require(f"reading {_A_MODEL.get(form, form)}", INSPECT.get(form, ()))


def _missing(needed: Iterable[Package]) -> list[Package]:
    """Return what is not installed, each once, and nothing that another of them brings."""
    absent = [package for package in dict.fromkeys(needed) if not package.is_installed]
    return [one for one in absent if not any(set(other.modules) < set(one.modules) for other in absent)]


def _require(step: str, needed: Iterable[Package], *, instead: str = "") -> None:
    if missing := _missing(needed):
        extras = sorted({package.extra for package in missing})
        raise MissingDependency(step, [package.name for package in missing], extras, instead)
