"""The kernels of ONNX Runtime 1.31's CPU provider, stored: an ONNX file can be written where no runtime is installed.

``python -m tests.installs.kernels write`` makes the file; a test fails when it is stale.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trueport.ir.widening import Kernel

__all__ = ["FILE", "as_plain", "stored_kernels"]

FILE = Path(__file__).with_name("kernels.json")


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
