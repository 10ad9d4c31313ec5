"""Whether the kernels that files are written for are all in the oldest ONNX Runtime."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from trueport.backends.onnx.oldest import READABLE_OPSET, kernels_of_oldest
from trueport.ir.schemas import history
from trueport.ir.widening import Kernel
from trueport.passes.lower.times import opsets_of_time
from trueport.passes.to_onnx import OLDEST_OPSET
from trueport.runtimes.ort_kernels import cpu_kernels

__all__ = ["missing_kernels"]

_LIST = """
import json
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_opkernel_def
print(json.dumps([
    [k.domain, k.op_name, *k.version_range, {name: list(types) for name, types in k.type_constraints.items()}]
    for k in get_all_opkernel_def() if k.provider == "CPUExecutionProvider"
]))
"""
_OPEN_END = 2**31 - 1
_PROBED = ("", "ai.onnx.ml")


def missing_kernels(python: Path) -> list[str]:
    """Return the operators and types that are taken to have a kernel in an environment's release and have none."""
    listed = subprocess.run([python, "-c", _LIST], check=True, capture_output=True, text=True)
    there = [
        Kernel(
            "" if domain == "ai.onnx" else domain,
            op,
            first,
            None if last >= _OPEN_END else last,
            {name: frozenset(types) for name, types in constraints.items()},
        )
        for domain, op, first, last, constraints in json.loads(listed.stdout)
    ]
    known = kernels_of_oldest(cpu_kernels())
    operators = sorted({(kernel.domain, kernel.op) for kernel in known if kernel.domain in _PROBED})
    return [line for domain, op in operators for line in _missing(domain, op, known, there)]


def _missing(domain: str, op: str, known: Iterable[Kernel], there: Iterable[Kernel]) -> Iterator[str]:
    oldest, newest = (opsets_of_time(opset)[domain] for opset in (OLDEST_OPSET, READABLE_OPSET))
    versions = [schema.since_version for schema in history(op, domain)]
    in_force = max((version for version in versions if version <= oldest), default=oldest)
    for version in (version for version in versions if in_force <= version <= newest):
        wanted, found = (_types(domain, op, version, kernels) for kernels in (known, there))
        for name, types in wanted.items():
            lacking = types - found.get(name, frozenset())
            if lacking:
                yield f"{op} of version {version}, {name}: {', '.join(sorted(lacking))}"


def _types(domain: str, op: str, version: int, kernels: Iterable[Kernel]) -> dict[str, frozenset[str]]:
    """All types of each variable over the kernels for a version; float16 counts where float32 is taken."""
    found: dict[str, frozenset[str]] = {}
    for kernel in kernels:
        if (kernel.domain, kernel.op) == (domain, op) and kernel.implements(version):
            for name, types in kernel.types.items():
                half = {"tensor(float16)"} if "tensor(float)" in types else set()
                found[name] = found.get(name, frozenset()) | types | half
    return found
