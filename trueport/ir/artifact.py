"""The map that Trueport stores in an artifact: border, inner names, weights, and what the target can't hold itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trueport.errors import InvalidModel
from trueport.ir.files import check_regular
from trueport.ir.ports import Port

__all__ = ["ARTIFACT_MAP", "ArtifactMap", "InnerValue", "StoredWeight"]

ARTIFACT_MAP = Path("assets.extra", "trueport.json")
"""Where the map stands in a SavedModel: TensorFlow keeps this folder for the writer's own files."""

_VERSION = 1


@dataclass(frozen=True)
class InnerValue:
    """An ONNX value's tensor in the target, and the permutation it is held in."""

    tensor: str
    perm: tuple[int, ...] | None = None


@dataclass(frozen=True)
class StoredWeight:
    """How an initializer is kept: under which key, and permuted by what."""

    initializer: str
    key: str
    perm: tuple[int, ...] | None = None


@dataclass(frozen=True)
class ArtifactMap:
    """Everything about a converted model that its own format has no place for."""

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    values: Mapping[str, InnerValue] = field(default_factory=dict)
    weights: tuple[StoredWeight, ...] = ()
    source: Mapping[str, Any] = field(default_factory=dict)
    """producer, opsets, doc strings, metadata properties, nodes of the source"""

    def to_json(self) -> str:
        return json.dumps(
            {
                "format": "trueport-map",
                "version": _VERSION,
                "inputs": [port.to_json() for port in self.inputs],
                "outputs": [port.to_json() for port in self.outputs],
                "values": {name: [value.tensor, value.perm] for name, value in self.values.items()},
                "weights": [[w.initializer, w.key, w.perm] for w in self.weights],
                "source": dict(self.source),
            },
            indent=1,
        )

    @classmethod
    def read(cls, folder: Path) -> ArtifactMap | None:
        """The map in a SavedModel's folder; None for one that Trueport did not write."""
        file = folder / ARTIFACT_MAP
        if not file.exists():
            return None
        check_regular(file)
        try:
            return cls._from_json(json.loads(file.read_text(encoding="utf-8")), str(file))
        except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
            raise InvalidModel(
                f"cannot read its map: {type(error).__name__}: {str(error)[:100]}",
                where=str(file),
                remedy="convert the model again",
            ) from error

    @classmethod
    def _from_json(cls, data: Any, where: str) -> ArtifactMap:
        if data.get("version") != _VERSION:
            raise InvalidModel(
                f"its map has version {data.get('version')}, this Trueport reads {_VERSION}",
                where=where,
                remedy="convert the model again, or install the Trueport that wrote it",
            )
        return cls(
            inputs=tuple(Port.from_json(port) for port in data["inputs"]),
            outputs=tuple(Port.from_json(port) for port in data["outputs"]),
            values={n: InnerValue(t, tuple(p) if p else None) for n, (t, p) in data["values"].items()},
            weights=tuple(StoredWeight(n, k, tuple(p) if p else None) for n, k, p in data["weights"]),
            source=data["source"],
        )
