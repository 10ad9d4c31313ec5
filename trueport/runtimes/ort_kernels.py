"""What ONNX Runtime reads and runs: the newest opset, and the kernels of its CPU provider.

Those of ONNX Runtime 1.31 are stored: an ONNX file can be written where no runtime is installed.
``python -m tests.installs.kernels write`` makes the file; a test fails when it is stale.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from trueport.ir.schemas import CANONICAL_OPSETS
from trueport.ir.widening import Kernel
from trueport.lazy import LazyModule
from trueport.requirements import is_installed
from trueport.versions.onnxruntime import newest_opset

__all__ = ["FILE", "as_plain", "cpu_kernels", "listed_kernels", "readable_opset", "stored_kernels"]

ort: Any = LazyModule("onnxruntime", "ONNX Runtime", "onnxruntime")
_OPEN_END = 2**31 - 1
FILE = Path(__file__).with_name("kernels.json")


def readable_opset() -> int:
    """Return the newest opset of ``ai.onnx`` that ONNX Runtime reads; the newest of all if it is not installed."""
    return newest_opset(ort) if is_installed("onnxruntime") else CANONICAL_OPSETS[""]


@functools.cache
def cpu_kernels() -> tuple[Kernel, ...]:
    """All kernels of ONNX Runtime's CPU provider, as it lists them itself; the stored list where it is not installed.

    float16 counts as allowed where float is: ONNX Runtime puts casts around such nodes when it loads a model.
    """
    listed = listed_kernels() if is_installed("onnxruntime") else stored_kernels()
    return tuple(
        replace(kernel, types={key: _with_half(types) for key, types in kernel.types.items()}) for kernel in listed
    )


def listed_kernels() -> tuple[Kernel, ...]:
    """Return the kernels of the installed ONNX Runtime's CPU provider."""
    return tuple(
        Kernel(
            "" if kernel.domain == "ai.onnx" else kernel.domain,
            kernel.op_name,
            kernel.version_range[0],
            None if kernel.version_range[1] >= _OPEN_END else kernel.version_range[1],
            {key: frozenset(types) for key, types in kernel.type_constraints.items()},
        )
        for kernel in ort.capi.onnxruntime_pybind11_state.get_all_opkernel_def()
        if kernel.provider == "CPUExecutionProvider"
    )


def _with_half(types: frozenset[str]) -> frozenset[str]:
    return types | {"tensor(float16)"} if "tensor(float)" in types else types


def stored_kernels() -> tuple[Kernel, ...]:
    """Return the kernels in the order in which ONNX Runtime lists them."""
    held = json.loads(FILE.read_text(encoding="utf-8"))
    types = [frozenset(names) for names in held["types"]]
    return tuple(
        Kernel(domain, op, first, last, {key: types[index] for key, index in allowed.items()})
        for domain, op, first, last, allowed in held["kernels"]
    )


def as_plain(kernels: Sequence[Kernel], version: str) -> dict[str, Any]:
    """Return what the file holds: sets of types stand once, kernels name them by their positions."""
    types = sorted({tuple(sorted(names)) for kernel in kernels for names in kernel.types.values()})
    position = {frozenset(names): index for index, names in enumerate(types)}
    rows = [
        [
            kernel.domain,
            kernel.op,
            kernel.first,
            kernel.last,
            {key: position[kernel.types[key]] for key in kernel.types},
        ]
        for kernel in kernels
    ]
    return {"onnxruntime": version, "types": types, "kernels": rows}
