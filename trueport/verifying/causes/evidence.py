"""What can be seen: weights that differ, other shapes and types, a result that is narrowed."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np

from trueport.reference.walk import Hypothesis, NodeCase
from trueport.runtimes.base import Model
from trueport.verifying.causes.hypothesis import STRUCTURE, formal, hypothesis, text, with_operand
from trueport.verifying.causes.quantization import role
from trueport.verifying.causes.relation import relation
from trueport.verifying.locate.first_node import Cause

__all__ = ["result_evidence", "shape_evidence", "weights_of_the_same_name"]


def result_evidence(case: NodeCase) -> Iterator[Cause]:
    """Another type of the result, or its numbers all of a narrower one."""
    yield from _type(case)
    yield from _narrowed(case)


def shape_evidence(case: NodeCase) -> Iterator[Cause]:
    """Another shape: what only the results show."""
    source, got = np.asarray(case.source), np.asarray(case.target)
    if source.shape != got.shape:
        yield Cause("shape", f"its result has shape {list(got.shape)}", f"the source's has {list(source.shape)}")


def _type(case: NodeCase) -> Iterator[Cause]:
    source, got = np.asarray(case.source), np.asarray(case.target)
    if source.dtype != got.dtype and not {source.dtype.kind, got.dtype.kind} <= {"O", "U", "S"}:
        yield Cause("dtype", f"its result is {_way(source, got)}: {got.dtype}", f"the source's is {source.dtype}")


def _way(source: np.ndarray, got: np.ndarray) -> str:
    if source.dtype.kind != got.dtype.kind or source.dtype.itemsize == got.dtype.itemsize:
        return "of another type"
    return "narrowed" if got.dtype.itemsize < source.dtype.itemsize else "widened"


def weights_of_the_same_name(case: NodeCase, target: Model) -> Iterator[Hypothesis]:
    """The node with the target's weights of the same names, where they differ."""
    known = target.constants()
    for index, value in enumerate(case.node.inputs):
        name = value.name or "" if value is not None else ""
        if value is None or value.const_value is None or name not in known:
            continue
        mine, theirs = np.asarray(value.const_value.numpy()), np.asarray(known[name])
        if mine.shape != theirs.shape:
            words = f"weight {name!r} has shape {list(theirs.shape)}"
            on = with_operand(index, functools.partial(_as, array=theirs))
            yield hypothesis(case, "weight", words, on, STRUCTURE, f"the source's has {list(mine.shape)}")
        elif mine.dtype != object and not np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f"):
            yield _differing(case, index, name, mine, theirs)


def _as(given: Any, array: np.ndarray) -> Any:
    return array.astype(np.asarray(given).dtype)


def _differing(case: NodeCase, index: int, name: str, mine: np.ndarray, theirs: np.ndarray) -> Hypothesis:
    differ = np.argwhere(np.asarray(mine != theirs))
    place = tuple(int(i) for i in differ[0])
    evidence = f"first at {list(place)}: {theirs[place]!s}, the source has {mine[place]!s}"
    on = with_operand(index, functools.partial(_as, array=theirs))
    kind = role(case, index)
    if kind is None:
        words = f"weight {name!r} differs in {len(differ)} of {mine.size} elements"
        how = relation(mine, theirs)
        evidence = f"{evidence}; it is operand {formal(case.node, index)!r}{'; ' + how if how else ''}"
        return hypothesis(case, "weight", words, on, STRUCTURE, evidence)
    step = f" (off by {int(theirs[place]) - int(mine[place]):+d})" if mine.dtype.kind in "iu" else ""
    words = (
        f"{formal(case.node, index)} is {text(theirs[place].item())}, the source has {text(mine[place].item())}{step}"
    )
    evidence = f"constant {name!r} differs in {len(differ)} of {mine.size} elements, {evidence}"
    return hypothesis(case, kind, words, on, STRUCTURE, evidence)


def _narrowed(case: NodeCase) -> Iterator[Cause]:
    """All of the target's numbers are of a narrower type, the source's are not."""
    source, got = np.asarray(case.source), np.asarray(case.target)
    if source.dtype != np.float32 or source.dtype != got.dtype or source.shape != got.shape:
        return
    for kind in (ml_dtypes.float8_e4m3fn, ml_dtypes.bfloat16, np.float16):
        with np.errstate(all="ignore"):
            fits = [np.array_equal(a.astype(kind).astype(a.dtype), a, equal_nan=True) for a in (got, source)]
            near = np.allclose(got, source.astype(kind).astype(np.float32), rtol=4 * float(ml_dtypes.finfo(kind).eps))
        if fits == [True, False] and near:
            name = np.dtype(kind).name
            yield Cause("dtype", f"its result is narrowed: rounded to {name}", f"every number of it is a {name}")
            return
