"""The catalogue: models of this package and those of the first injector, each with its inputs' bounds."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from pathlib import Path

import onnx

from bench.faults.strangers.nets import exported, numbers, sequences, tables, vision
from bench.faults.strangers.nets.sketch import Net
from bench.faults.zoo import ZOO
from bench.models import CACHE

__all__ = ["NETS", "OWN", "load_net"]

_BOUNDS = {"text": {"tokens": (0, 9)}}

OWN: tuple[Net, ...] = (*vision.NETS, *numbers.NETS, *sequences.NETS, *tables.NETS, *exported.NETS)
"""Models that are written here."""
_SHARED = tuple(Net(f"zoo_{name}", make, bounds=_BOUNDS.get(name, {})) for name, make in ZOO.items())
NETS: Mapping[str, Net] = {item.name: item for item in (*OWN, *_SHARED)}


@functools.cache
def load_net(name: str) -> onnx.ModelProto:
    """Return a model; what frameworks export is kept in a file, for as long as their recipes stay the same."""
    item = NETS[name]
    if not item.cached:
        return item.make()
    recipes = hashlib.sha256(Path(exported.__file__).read_bytes()).hexdigest()[:12]
    file = CACHE / "strangers" / recipes / f"{name}.onnx"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        onnx.save(item.make(), file)
    return onnx.load(file)
