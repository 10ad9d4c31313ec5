"""The search for what explains a node: hypotheses in the order of their description length, within a budget.

A hypothesis counts if it gives the target's numbers, on these inputs and on others that it was not fitted to. At most
`MOST` are evaluated for one node, fewer where an evaluation is expensive, each on as few rows of the batch as possible.
"""

from __future__ import annotations

import functools
import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueport.fidelity import Verdict
from trueport.operators.record import Kind
from trueport.operators.table import facts_of
from trueport.reference.walk import Hypothesis, NodeCase
from trueport.verifying.causes.hypothesis import run_on
from trueport.verifying.causes.solving import REFUSED, distance
from trueport.verifying.judge.output import judge

__all__ = ["MOST", "Found", "fewer_rows", "fits", "search", "texts_of"]

MOST = 800
"""Hypotheses that are evaluated for one node."""
_WORK = 3e9
"""Multiplications, about, that all evaluations of one node may take."""
_ENOUGH = 3
"""Explanations that are kept: several may fit, the first is the likeliest."""
_FAR = 8.0
"""Bits by which a description may be longer than the shortest that fits: what is longer is not looked at."""
_LARGE = 1e7
"""Multiplications of one evaluation from which on fewer rows of a batch are taken."""
_ROWS = 1
_BY_SIZE = 15.0
"""The ratio of what fits by the size of its error alone: four bits less likely than what fits in every element."""
_NEARLY, _HARDLY = 1e-2, 1e-3
"""Of the target's difference, what a prediction may leave unexplained to be judged by its own noise, or by its size."""
Others = Callable[[], Sequence[NodeCase]]


@dataclass(frozen=True)
class Found:
    """What fits, the shortest first, and how many hypotheses were evaluated."""

    hypotheses: tuple[Hypothesis, ...]
    tried: int


def search(case: NodeCase, rules: Iterable[Iterator[Hypothesis]], k: float, others: Others) -> Found:
    """Return the hypotheses that explain the target, in the order of their description length."""
    found: list[tuple[float, Hypothesis]] = []
    tried, most = 0, min(MOST, _WORK / max(_cost(case), 1.0))
    elsewhere: Sequence[NodeCase] | None = None
    said: set[str] = set()
    for hypothesis in heapq.merge(*rules, key=lambda one: one.bits):
        if tried >= most or len(found) >= _ENOUGH or (found and hypothesis.bits > found[0][1].bits + _FAR):
            break
        if not hypothesis.kind or hypothesis.what in said:
            continue
        tried += 1
        said.add(hypothesis.what)
        ratio = _ratio(hypothesis, case, k)
        if ratio is None:
            continue
        elsewhere = others() if elsewhere is None else elsewhere
        if hypothesis.is_read or all(_holds(hypothesis, other, k) for other in elsewhere):
            found.append((hypothesis.bits + math.log2(1 + ratio), hypothesis))
    return Found(tuple(one for _, one in sorted(found, key=lambda item: item[0])), tried)


def fits(hypothesis: Hypothesis, case: NodeCase, k: float) -> bool:
    """Whether a hypothesis gives the target's numbers."""
    return _ratio(hypothesis, case, k) is not None


def _holds(hypothesis: Hypothesis, case: NodeCase, k: float) -> bool:
    """Whether it gives them on other inputs as well; True where it only speaks of its own."""
    on = hypothesis.on
    return on is None or _ratio(replace(hypothesis, predict=lambda: on(case)), case, k) is not None


def _ratio(hypothesis: Hypothesis, case: NodeCase, k: float) -> float | None:
    """How far what is predicted is from the target, in units of what rounding explains; None if it does not fit."""
    predicted = _evaluated(hypothesis.predict)
    if isinstance(case.target, list) or isinstance(predicted, list):
        return _ratio_of_parts(predicted, case, k)
    got = np.asarray(case.target)
    if predicted is None or np.shape(predicted) != got.shape:
        return None
    array = np.asarray(predicted)
    if got.dtype.kind in "OUS":
        return 0.0 if array.dtype.kind in "OUS" and texts_of(array) == texts_of(got) else None
    if got.dtype.kind not in "fc" and got.dtype.name != "bfloat16":
        return 0.0 if array.dtype == got.dtype and np.array_equal(array, got) else None
    with np.errstate(all="ignore"):
        plain = array.astype(got.dtype)
    if np.any(np.isfinite(got) & ~np.isfinite(plain)):
        return None  # numbers that overflow are not compared with others: they explain nothing
    noisy = _noisy(array, case)
    found = judge(case.output, [plain], got, array, noisy, k=k)
    if found.verdict == Verdict.FAITHFUL:
        return float(found.ratio)
    left = distance(case, array)
    if left > _NEARLY:
        return None
    # Another node errs in another way than the source's: in a sum of large terms, by more.
    noisy = [*noisy, *_own_noise(hypothesis, case, array)]
    found = judge(case.output, [plain], got, array, noisy, k=k)
    if found.verdict == Verdict.FAITHFUL:
        return float(found.ratio)
    return _BY_SIZE if left < _HARDLY and _is_as_small(array, got, noisy) else None


def texts_of(array: np.ndarray) -> list[str]:
    """Return the elements of an array of text as strings: TensorFlow keeps them as bytes."""
    listed = array.ravel().tolist()
    return [one.decode("utf-8", "replace") if isinstance(one, bytes) else str(one) for one in listed]


def _is_as_small(predicted: np.ndarray, got: np.ndarray, noisy: Sequence[Any]) -> bool:
    """Whether no element is farther off than rounding moves any: how a kernel rounds a single one is not known."""
    if got.dtype.kind != "f" or not noisy or not np.array_equal(np.isfinite(predicted), np.isfinite(got)):
        return False
    where = np.isfinite(predicted)
    with np.errstate(all="ignore"):
        off = np.max(np.abs(predicted - got.astype(np.float64))[where], initial=0.0)
        floor = max(float(np.max(np.abs(run - predicted)[where], initial=0.0)) for run in noisy)
    return bool(off <= floor)


def _ratio_of_parts(predicted: Any, case: NodeCase, k: float) -> float | None:
    """Do the same for a sequence: all of its members must fit."""
    if not isinstance(case.target, list) or not isinstance(predicted, list) or len(predicted) != len(case.target):
        return None
    ratios = []
    for index, (one, got) in enumerate(zip(predicted, case.target, strict=True)):
        of = [run[index] for run in case.noisy if len(run) > index]
        part = replace(case, source=got, target=got, truth=_member(case.truth, index), noisy=tuple(of), noisy_again=())
        ratio = _ratio(Hypothesis("", "", functools.partial(_itself, one)), part, k)
        if ratio is None:
            return None
        ratios.append(ratio)
    return max(ratios, default=0.0)


def _member(truth: Any, index: int) -> Any:
    return truth[index] if isinstance(truth, list) and index < len(truth) else np.zeros(0)


def _itself(value: Any) -> Any:
    return value


def _evaluated(predict: Callable[[], Any]) -> Any:
    """Return what is predicted; None for a node that does not exist."""
    try:
        with np.errstate(all="ignore"):
            return predict()
    except REFUSED:
        return None
    except Exception:  # the reference raises many kinds for a node that does not exist
        return None


def _own_noise(hypothesis: Hypothesis, case: NodeCase, predicted: np.ndarray) -> list[Any]:
    """Return what the changed node gives with rounding put in."""
    on = hypothesis.on
    if on is None:
        return []
    runs = [_evaluated(lambda run=run: on(replace(case, again=run))) for run in case.noisy_again]  # type: ignore[misc]
    return [np.asarray(run) for run in runs if np.shape(run) == predicted.shape]


def _noisy(predicted: Any, case: NodeCase) -> Sequence[Any]:
    """The node's own noise, around what is predicted; for another shape errors drawn from among the node's."""
    truth, made = case.truth, np.asarray(predicted)
    if not isinstance(truth, np.ndarray) or truth.dtype.kind != "f" or not truth.size:
        return ()
    with np.errstate(all="ignore"):
        errors = [run - truth for run in case.noisy if np.shape(run) == truth.shape]
    if made.shape != truth.shape:
        generator = np.random.default_rng(0)
        errors = [generator.choice(error.ravel(), made.shape) for error in errors]
    # Where the truth is NaN or infinite its noise says nothing about another number in that place.
    return [made + np.where(np.isfinite(error), error, 0) for error in errors]


def _cost(case: NodeCase) -> float:
    """Multiplications of one evaluation, about: for each element of the result those of one row of the weight."""
    read = sum(np.size(array) for array in case.inputs if isinstance(array, np.ndarray))
    size = float(np.size(case.truth))
    weight = case.inputs[1] if len(case.inputs) > 1 else None
    if case.node.op_type in ("Conv", "ConvTranspose") and isinstance(weight, np.ndarray):
        return float(read + size * weight[0].size)
    if facts_of(case.node).kind in (Kind.PRODUCT, Kind.ATTENTION) and np.ndim(case.inputs[0]):
        return float(read + size * np.shape(case.inputs[0])[-1])
    return 8.0 * (read + size)


def fewer_rows(case: NodeCase) -> NodeCase:
    """Return the case on the row of the batch that differs most, if the node is large and computes each by itself."""
    truth, got = case.truth, np.asarray(case.target)
    if _cost(case) < _LARGE or not isinstance(truth, np.ndarray) or truth.shape != got.shape or truth.ndim < 2:
        return case
    data = [
        index
        for index, (value, array) in enumerate(zip(case.node.inputs, case.inputs, strict=True))
        if value is not None and value.const_value is None and np.ndim(array) > 1 and len(array) == len(truth)
    ]
    if len(truth) <= _ROWS or not data:
        return case
    errors = np.nan_to_num(np.abs(got.astype(np.float64) - truth)).reshape(len(truth), -1).max(axis=1)
    row = int(np.argmax(errors))

    def cut(array: Any) -> Any:
        return array[row : row + 1]

    inputs = tuple(cut(array) if index in data else array for index, array in enumerate(case.inputs))
    small = replace(
        case,
        inputs=inputs,
        source=cut(np.asarray(case.source)),
        target=cut(got),
        truth=cut(truth),
        noisy=tuple(cut(run) for run in case.noisy if np.shape(run) == truth.shape),
    )
    try:
        alone = np.asarray(run_on(small, small.node, inputs))
    except Exception:  # the reference raises many kinds: a row by itself is no input of it
        return case
    return small if alone.shape == small.truth.shape and np.allclose(alone, small.truth, equal_nan=True) else case
