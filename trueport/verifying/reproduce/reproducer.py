"""The smallest thing that still shows a fault: both models' parts, each in its own form, inputs, a few lines of Python.

What is written is run before it is handed over: the script compares both parts with the float64 truth of the source's
and with how far from it rounding may lead, so a difference that is rounding alone does not count as the fault.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from trueport.errors import NoOracle, UsageError
from trueport.ir.artifact import InnerValue
from trueport.mapping.registry import RECORDS, Registry
from trueport.reference.onnx.oracle import OnnxOracle
from trueport.reference.onnx.part import part_model
from trueport.runtimes.exact_sums import with_exact_sums
from trueport.runtimes.onnxruntime import OnnxRuntimeModel
from trueport.runtimes.parts import PART_ENDINGS, count_nodes, run_part
from trueport.verifying.align.values import AlignedModel
from trueport.verifying.judge.output import DEFAULT_K, allowance
from trueport.verifying.locate.result import Culprit, Part
from trueport.verifying.reproduce.anonymous import Anonymous, anonymized
from trueport.verifying.reproduce.script import script

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

    part: Part
    source: Path
    target: Path
    arrays: Mapping[str, np.ndarray]
    """by the source's names"""
    taken: Mapping[str, InnerValue]
    """what the target's part calls them, and in which order it takes them"""
    made: InnerValue
    registry: Registry
    k: float

    @property
    def runtimes(self) -> tuple[str, str]:
        """Those that the parts need."""
        return "tensorflow" if self.source.is_dir() else "onnxruntime", self.part.target.runtime

    def expected(self, arrays: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """The truth of the source's part on inputs, and how far each element may be from it."""
        if self.source.is_dir():
            plain, exact, noisy = np.asarray(self.part.result), self.part.truth, list(self.part.noisy)
            return (plain, np.zeros(())) if _is_whole(plain) else allowance(plain, exact, noisy, self.k)
        plain = next(iter(OnnxRuntimeModel(self.source, optimize=False).run(arrays).values()))
        if _is_whole(plain):
            return plain, np.zeros(())
        try:
            made, runs = OnnxOracle.of(onnx.load(self.source), self.registry).run(arrays)
        except NoOracle:
            return plain, np.zeros(())
        name = next(iter(made))
        return allowance(plain, made[name], [run[name] for run in runs], self.k)

    def shows(self, arrays: Mapping[str, np.ndarray]) -> bool:
        """Whether the target's part departs on these inputs, and the source's does not; as the script tells it."""
        truth, allowed = self.expected(arrays)
        source = run_part(self.source, arrays)
        given = {value.tensor: _turned(arrays[name], value) for name, value in self.taken.items()}
        target = run_part(self.target, given)
        target = np.transpose(target, np.argsort(self.made.perm)) if self.made.perm else target
        return departs(target, source, truth, allowed) and not departs(source, source, truth, allowed)


def _is_whole(array: np.ndarray) -> bool:
    return array.dtype.kind not in "fc" and array.dtype.name != "bfloat16"


def _turned(array: np.ndarray, value: InnerValue) -> np.ndarray:
    return np.ascontiguousarray(np.transpose(array, value.perm)) if value.perm else array


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
    feeds: Mapping[str, Any],
    folder: Path,
    *,
    registry: Registry = RECORDS,
    k: float = DEFAULT_K,
    anonymize: bool = False,
) -> Reproducer:
    """A folder: both parts, ``inputs.npz``, ``expected.npz`` and ``show.py``, which ends with 0 if the target departs.

    The source's part is a SavedModel for a TensorFlow source, else ``source.onnx``. With ``anonymize`` weights and
    inputs become random numbers as far as the fault still shows.
    """
    part, where = culprit.part, culprit.node or culprit.value
    assert part is not None, "who locates keeps the part"
    assert isinstance(part.target, AlignedModel), "and the target in the source's names"
    if part.target.runtime not in PART_ENDINGS:
        raise UsageError(
            f"parts of a model can't be written from {part.target.runtime}",
            where=where,
            remedy="leave --reproduce out",
        )
    if anonymize and part.source.runtime == "tensorflow":
        raise UsageError(
            "a part of a TensorFlow source can't be given random weights", where=where, remedy="leave --anonymize out"
        )
    arrays = _arrays(part, where)
    folder.mkdir(parents=True, exist_ok=False)
    try:
        pieces = _write(culprit, part, part.target, feeds, arrays, folder, registry, k)
        hidden = anonymized(pieces) if anonymize else None
        given = hidden.inputs if hidden else arrays
        made = Reproducer(folder, count_nodes(pieces.source), count_nodes(pieces.target), pieces.shows(given), hidden)
        _explain(made, culprit, pieces, given)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return made


def _explain(made: Reproducer, culprit: Culprit, pieces: Pieces, arrays: Mapping[str, np.ndarray]) -> None:
    """Inputs, what is expected, and the script."""
    truth, allowed = pieces.expected(arrays)
    causes = "; ".join(cause.what for cause in culprit.causes) or "cause unknown"
    what = f"{culprit.op} departs from its source: {causes}"
    words = script(what, pieces.runtimes, list(arrays), (pieces.taken, pieces.made), shows=made.shows)
    (made.folder / "show.py").write_text(words, encoding="utf-8")
    np.savez(made.folder / "inputs.npz", *(_storable(array) for array in arrays.values()))
    np.savez(made.folder / "expected.npz", truth=_storable(truth), allowed=allowed)


def _storable(array: np.ndarray) -> np.ndarray:
    return array.astype(str) if array.dtype.kind == "O" else array


def _arrays(part: Part, where: str) -> dict[str, np.ndarray]:
    """What goes into the part, in the order of the names."""
    for name, array in part.given.items():
        kept = isinstance(array, (np.ndarray, np.generic)) and np.asarray(array).dtype.kind in "fciubOUS"
        if not kept:
            raise UsageError(
                f"its input {name!r} is of a kind that NumPy's files don't hold",
                where=where,
                remedy="leave --reproduce out",
            )
    return {name: np.asarray(part.given[name]) for name in sorted(part.given)}


def _write(
    culprit: Culprit,
    part: Part,
    target: AlignedModel,
    feeds: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    folder: Path,
    registry: Registry,
    k: float,
) -> Pieces:
    source = folder / ("source" if part.source.runtime == "tensorflow" else "source.onnx")
    if part.source.runtime == "tensorflow":
        part.source.cut(arrays, part.value, feeds, source)
    else:
        nodes = [case.node for case in reversed(culprit.cases)]
        # The script runs both parts plainly: they must show the fault on every CPU, and no saturated sum of a runtime.
        onnx.save(with_exact_sums(part_model(nodes, part.value, arrays)), source)
    place = folder / f"target{PART_ENDINGS[target.runtime]}"
    taken, made = target.write_part(arrays, part.ports, part.value, feeds, place)
    if target.runtime == "onnxruntime":
        onnx.save(with_exact_sums(onnx.load(place)), place)
    return Pieces(part, source, place, arrays, taken, made, registry, k)
