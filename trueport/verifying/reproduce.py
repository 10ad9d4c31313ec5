"""The smallest thing that still shows a fault: the node as ONNX, the target's part, inputs, a few lines of Python.

What is written is run before it is handed over: the script compares both parts with the float64 truth of the node and
with how far from it rounding may lead, so a difference that is rounding alone does not count as the fault.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from trueport.backends.tensorflow.registry import registry as onnx_operators
from trueport.errors import NoOracle, UsageError
from trueport.frontends.onnx.load import load_onnx
from trueport.ir.schemas import CANONICAL_OPSETS
from trueport.mapping.registry import Registry
from trueport.passes.lower.model import lower_model
from trueport.passes.outgoing import DEFAULT_OPSET
from trueport.runtimes.base import Model
from trueport.runtimes.onnxruntime import OnnxRuntimeModel
from trueport.runtimes.parts import PART_NAMES, count_nodes, run_part
from trueport.runtimes.wide.evaluate import captured
from trueport.verifying.anonymous import Anonymous, anonymized
from trueport.verifying.causes.hypothesis import own_type
from trueport.verifying.judge import DEFAULT_K, allowance
from trueport.verifying.locate import Culprit, NodeCase
from trueport.verifying.oracle import OnnxOracle
from trueport.verifying.script import script

__all__ = ["Reproducer", "write_reproducer"]


@dataclass(frozen=True)
class Reproducer:
    """What was written."""

    folder: Path
    source_nodes: int
    target_nodes: int
    shows: bool
    """whether the target's part departs from the truth, and the source's does not"""
    anonymous: Anonymous | None = None
    """what was replaced by random numbers, where that was asked for"""

    def __str__(self) -> str:
        size = f"{self.source_nodes} and {self.target_nodes} nodes"
        shown = "shows the fault" if self.shows else "does not show the fault by itself"
        return f"{self.folder}: {size}, {shown}" + (f"; {self.anonymous}" if self.anonymous else "")


@dataclass(frozen=True)
class Pieces:
    """Both parts on disk, and what goes into them."""

    folder: Path
    names: tuple[str, ...]
    """inputs of the target's part, in their order"""
    arrays: Mapping[str, np.ndarray]
    target: Path
    registry: Registry
    k: float

    @property
    def source(self) -> Path:
        return self.folder / "source.onnx"

    def expected(self, arrays: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """The truth of the source's part on inputs, and how far each element may be from it."""
        plain = next(iter(OnnxRuntimeModel(self.source, optimize=False).run(arrays).values()))
        if plain.dtype.kind not in "fc" and plain.dtype.name != "bfloat16":
            return plain, np.zeros(())
        try:
            exact, noisy = OnnxOracle(load_onnx(onnx.load(self.source)), self.registry).run(arrays)
        except NoOracle:
            return plain, np.zeros(())
        name = next(iter(exact))
        return allowance(plain, exact[name], [run[name] for run in noisy], self.k)

    def shows(self, arrays: Mapping[str, np.ndarray]) -> bool:
        """Whether the target's part departs on these inputs, and the source's does not; as the script tells it."""
        truth, allowed = self.expected(arrays)
        source = np.asarray(next(iter(OnnxRuntimeModel(self.source).run(arrays).values())))
        target = run_part(self.target, self.names, arrays)
        return departs(target, source, truth, allowed) and not departs(source, source, truth, allowed)


def departs(value: np.ndarray, source: np.ndarray, truth: np.ndarray, allowed: np.ndarray) -> bool:
    """The script's own question, asked here."""
    if value.shape != source.shape or (value.dtype != source.dtype and value.dtype.kind not in "OUS"):
        return True
    if value.dtype.kind not in "fciu":
        return bool(np.any(value != truth))
    wide = np.complex128 if value.dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        near = np.abs(value.astype(wide) - truth) <= allowed
    return not bool(np.all(near | (value == truth) | ((value != value) & (truth != truth))))


def write_reproducer(
    culprit: Culprit,
    target: Model,
    feeds: Mapping[str, Any],
    folder: Path,
    *,
    source: Model | None = None,
    registry: Registry | None = None,
    k: float = DEFAULT_K,
    anonymize: bool = False,
) -> Reproducer:
    """A folder: ``source.onnx``, the target's part, ``inputs.npz``, ``expected.npz`` and ``show.py``.

    The script ends with 0 if the target departs. ``source`` gives the values that a node's graphs use of the graph
    around them. With ``anonymize`` weights and inputs become random numbers as far as the fault still shows.
    """
    case = culprit.case
    where = culprit.node or culprit.value
    if case is None:
        raise UsageError("the node could not be run by itself, so it can't be cut out", where=where)
    if target.runtime not in PART_NAMES:
        raise UsageError(f"parts of a model can't be written from {target.runtime}", where=where)
    arrays = _arrays(case, source, feeds, where)
    folder.mkdir(parents=True, exist_ok=False)
    try:
        pieces = _write(case, target, feeds, arrays, folder, registry or onnx_operators(), k)
        hidden = anonymized(pieces) if anonymize else None
        given = hidden.inputs if hidden else arrays
        made = Reproducer(folder, count_nodes(pieces.source), count_nodes(pieces.target), pieces.shows(given), hidden)
        _explain(made, culprit, target.runtime, pieces, given)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return made


def _explain(
    made: Reproducer, culprit: Culprit, runtime: str, pieces: Pieces, arrays: Mapping[str, np.ndarray]
) -> None:
    """Inputs, what is expected, and the script."""
    truth, allowed = pieces.expected(arrays)
    causes = "; ".join(cause.what for cause in culprit.causes) or "cause unknown"
    what = f"{culprit.op} departs from its source: {causes}"
    words = script(what, runtime, list(arrays), list(pieces.names), shows=made.shows)
    (made.folder / "show.py").write_text(words, encoding="utf-8")
    np.savez(made.folder / "inputs.npz", *(_storable(array) for array in arrays.values()))
    np.savez(made.folder / "expected.npz", truth=_storable(truth), allowed=allowed)


def _storable(array: np.ndarray) -> np.ndarray:
    return array.astype(str) if array.dtype.kind == "O" else array


def _arrays(case: NodeCase, source: Model | None, feeds: Mapping[str, Any], where: str) -> dict[str, np.ndarray]:
    """What goes into the node, of the source's own types: its inputs, and what its graphs use from outside."""
    pairs = zip(case.node.inputs, case.inputs, strict=True)
    found = {v.name or "": own_type(v, a) for v, a in pairs if v is not None and v.const_value is None}
    outer = [v.name or "" for v in captured(case.node) if v.const_value is None and v.name not in found]
    inner = [name for name in outer if name not in feeds]
    if inner and source is None:
        raise UsageError("its graphs use values around it, so it can't be cut out", where=where)
    found |= {name: feeds[name] for name in outer if name in feeds}
    found |= source.run(feeds, fetch=inner) if inner and source is not None else {}
    for name, array in found.items():
        kept = isinstance(array, (np.ndarray, np.generic)) and np.asarray(array).dtype.kind in "fciubOUS"
        if not kept:
            raise UsageError(f"its input {name!r} is of a kind that NumPy's files don't hold", where=where)
    return {name: np.asarray(found[name]) for name in sorted(found)}


def _write(
    case: NodeCase,
    target: Model,
    feeds: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    folder: Path,
    registry: Registry,
    k: float,
) -> Pieces:
    onnx.save(_one_node(case.node, case.output, arrays), folder / "source.onnx")
    fed = {name: array for name, array in arrays.items() if name in target.inner() or name in feeds}
    place = folder / PART_NAMES[target.runtime]
    target.cut(fed, case.output, feeds, place)
    return Pieces(folder, tuple(sorted(fed)), arrays, place, registry, k)


def _one_node(node: ir.Node, output: str, arrays: Mapping[str, np.ndarray]) -> onnx.ModelProto:
    """A model of the node alone, at an opset that ONNX Runtime runs."""
    used = [value for value in (*node.inputs, *captured(node)) if value is not None]
    constants = {v.name or "": v.const_value for v in used if v.const_value is not None}
    types = {v.name: v for v in used}
    inputs = [
        onnx.helper.make_tensor_value_info(name, int(_dtype(types[name], array)), array.shape)
        for name, array in arrays.items()
    ]
    made = next(value for value in node.outputs if value.name == output)
    shape = None if made.shape is None else [d if isinstance(d, int) else None for d in made.shape]
    outputs = [onnx.helper.make_tensor_value_info(output, int(made.dtype or 0), shape)]
    graph = onnx.helper.make_graph(
        [ir.to_proto(node)],
        "reproducer",
        inputs,
        outputs,
        [onnx.numpy_helper.from_array(np.asarray(tensor.numpy()), name) for name, tensor in constants.items()],
    )
    opsets = [onnx.helper.make_opsetid(domain, version) for domain, version in CANONICAL_OPSETS.items()]
    if node.domain not in CANONICAL_OPSETS:
        opsets.append(onnx.helper.make_opsetid(node.domain, 1))
    model = ir.from_proto(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10))
    lower_model(model, DEFAULT_OPSET)
    return ir.to_proto(model)


def _dtype(value: ir.Value, array: np.ndarray) -> ir.DataType:
    if value.dtype is not None:
        return value.dtype
    return ir.DataType.STRING if array.dtype.kind in "OUS" else ir.DataType.from_numpy(array.dtype)
