"""What went in and what came out: files with hashes, borders, operators, parameters; and with what it was done."""

from __future__ import annotations

import hashlib
import math
import platform
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from itertools import product
from pathlib import Path

from trueport.drawing.graph import Graph, GraphValue
from trueport.runtimes.machine import loaded_versions

__all__ = ["Artifact", "Setting", "describe_artifact", "describe_setting"]

_PACKAGES = (
    *("onnx", "onnx_ir", "onnxruntime", "tensorflow", "keras", "torch", "ai_edge_litert", "numpy", "ml_dtypes"),
)
_NO_PARAMETERS = ("int32", "int64", "uint32", "uint64", "bool", "string")
"""Types of constants that are axes, shapes and switches, not what was learned."""

_BLOCK = 1 << 20


@dataclass(frozen=True)
class Artifact:
    """One of the two models."""

    name: str
    framework: str
    files: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each file by its name; none for a model that was handed over in memory"""
    bytes: int | None = None
    producer: str = ""
    opsets: Mapping[str, int] = field(default_factory=dict)
    parameters: int = 0
    """numbers in constant tensors, those of single values, shapes and indices not counted"""
    operators: Mapping[str, int] = field(default_factory=dict)
    inputs: tuple[GraphValue, ...] = ()
    outputs: tuple[GraphValue, ...] = ()


@dataclass(frozen=True)
class Setting:
    """With what, where and how a conversion was done."""

    trueport: str
    python: str
    platform: str
    at: str
    """when it ended, in UTC"""
    packages: Mapping[str, str] = field(default_factory=dict)
    """of the frameworks that took part"""
    command: str = ""
    """what to type to do it again"""
    peak_bytes: int | None = None
    """the most memory that the process held since it began; None where the system does not tell"""


def describe_artifact(graph: Graph, name: str, path: Path | None) -> Artifact:
    """A model by its graph and, where it is on disk, its files."""
    files = _files(path, graph.data_files) if path is not None else {}
    made = {value.name: value for node in graph.nodes for value in node.outputs}
    made |= {value.name: value for value in (*graph.inputs, *graph.constants)}
    return Artifact(
        name=name,
        framework=graph.framework,
        files={label: _sha256(file) for label, file in files.items()},
        bytes=sum(file.stat().st_size for file in files.values()) if files else None,
        producer=graph.producer,
        opsets=graph.opsets,
        parameters=sum(_count(value) for value in graph.constants),
        operators=dict(Counter(node.op for node in graph.nodes).most_common()),
        inputs=graph.inputs,
        outputs=tuple(
            replace(made.get(value, GraphValue(value)), name=name)
            for value, name in zip(graph.outputs, graph.output_names or graph.outputs, strict=True)
        ),
    )


def _files(path: Path, beside: Iterable[str]) -> dict[str, Path]:
    """By names that stay the same wherever the model lies."""
    if path.is_dir():
        return {str(file.relative_to(path)): file for file in sorted(path.rglob("*")) if file.is_file()}
    if not path.is_file():
        return {}
    found = {path.name: path}
    # A link's data files may be beside what it points to.
    for name, folder in product(beside, (path.resolve().parent, path.parent)):
        if (folder / name).is_file():
            found[Path(name).name if Path(name).is_absolute() else name] = folder / name
    return found


def _sha256(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _count(value: GraphValue) -> int:
    if not value.shape or value.dtype in _NO_PARAMETERS:
        return 0
    return math.prod(dim for dim in value.shape if isinstance(dim, int))


def describe_setting(version: str, command: str = "") -> Setting:
    """This process, now."""
    return Setting(
        trueport=version,
        python=platform.python_version(),
        platform=platform.platform(terse=True),
        at=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        packages=loaded_versions(_PACKAGES),
        command=command,
        peak_bytes=_peak_bytes(),
    )


def _peak_bytes() -> int | None:
    if sys.platform == "win32":
        return None
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
