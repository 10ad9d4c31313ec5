"""Attributes that were read otherwise: another mode, epsilon, axis, padding, flag."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from trueport.errors import NoOracle
from trueport.ir.schemas import canonical_schema
from trueport.mapping.bind import bind_by_schema
from trueport.reference.walk import Hypothesis, NodeCase
from trueport.verifying.causes.hypothesis import altered, text

__all__ = ["fitted_attributes", "other_attributes"]

_CHOICES: Mapping[str, Sequence[Any]] = {
    "align_corners": (0, 1),
    "allowzero": (0, 1),
    "alpha": (0.0, 0.01, 0.1, 0.2, 0.25, 0.3, 0.5, 1.0, 1.6732632),
    "antialias": (0, 1),
    "approximate": ("none", "tanh"),
    "auto_pad": ("VALID", "SAME_UPPER", "SAME_LOWER"),
    "beta": (0.0, 0.2, 0.5, 1.0),
    "bias": (0.0, 0.5, 1.0),
    "ceil_mode": (0, 1),
    "coordinate_transformation_mode": (
        "half_pixel",
        "asymmetric",
        "align_corners",
        "pytorch_half_pixel",
        "half_pixel_symmetric",
        "tf_crop_and_resize",
    ),
    "count_include_pad": (0, 1),
    "cubic_coeff_a": (-0.5, -0.75),
    "direction": ("forward", "reverse"),
    "epsilon": (0.0, 1e-12, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2),
    "exclude_outside": (0, 1),
    "exclusive": (0, 1),
    "fmod": (0, 1),
    "gamma": (1.0, 1.0507009),
    "group": (1,),
    "input_forget": (0, 1),
    "keepdims": (0, 1),
    "lambd": (0.0, 0.5, 1.0),
    "largest": (0, 1),
    "linear_before_reset": (0, 1),
    "mode": (
        *("nearest", "linear", "cubic", "bilinear", "bicubic"),
        *("constant", "reflect", "edge", "wrap"),
        *("DCR", "CRD", "max", "avg"),
    ),
    "nearest_mode": ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
    "norm": ("MAX", "L1", "L2"),
    "p": (1, 2),
    "padding_mode": ("zeros", "border", "reflection"),
    "reduction": ("none", "add", "mul", "max", "min"),
    "reverse": (0, 1),
    "select_last_index": (0, 1),
    "sorted": (0, 1),
    "to": (1, 6, 7, 10, 11),
    "transA": (0, 1),
    "transB": (0, 1),
    "upper": (0, 1),
}
"""Values that are worth a try, by the attribute's name."""
_TOGETHER: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "Resize": (
        {"cubic_coeff_a": -0.5, "exclude_outside": 1},  # TensorFlow's bicubic
        {"cubic_coeff_a": -0.75, "exclude_outside": 0},  # PyTorch's
    ),
}
"""Values that belong together in an implementation, by the operator."""
_MAX_RANK = 5
_SECANTS = 16


def other_attributes(case: NodeCase) -> Iterator[Hypothesis]:
    """The same node with one attribute changed to a value that implementations are known to use."""
    schema = canonical_schema(case.node.op_type, case.node.domain)
    if schema is None:
        return
    has = bind_by_schema(case.node, schema).attributes
    for name, now in has.items():
        for value in _alternatives(case, name, now):
            if value != now:
                words = f"it behaves as with {name} = {text(value)}, the source has {text(now)}"
                yield Hypothesis("attribute", words, altered(case, **{name: value}))
    for values in _TOGETHER.get(case.node.op_type, ()):
        if sum(has[name] != value for name, value in values.items()) > 1:
            words = f"it behaves as with {_listed(values)}, the source has {_listed({n: has[n] for n in values})}"
            yield Hypothesis("attribute", words, altered(case, **values))


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {text(value)}" for name, value in values.items())


def fitted_attributes(case: NodeCase) -> Iterator[Hypothesis]:
    """The same node with a number solved for: the one for which the change is what the target shows."""
    schema = canonical_schema(case.node.op_type, case.node.domain)
    truth, got = case.truth, np.asarray(case.target)
    if schema is None or not isinstance(truth, np.ndarray) or truth.dtype.kind != "f" or truth.shape != got.shape:
        return
    for name, now in bind_by_schema(case.node, schema).attributes.items():
        if isinstance(now, float):
            value = _solved(case, name, now, got.astype(np.float64) - truth)
            if value is not None and value != now:
                words = f"it behaves as with {name} = {text(value)}, the source has {text(now)}"
                yield Hypothesis("attribute", words, altered(case, **{name: value}))


def _solved(case: NodeCase, name: str, now: float, change: np.ndarray) -> float | None:
    """By secants: the share of the target's change that a value of the attribute makes is to be one."""
    size = float(np.vdot(change, change))
    if not np.isfinite(size) or size == 0:
        return None

    def share(value: float) -> float:
        made = np.asarray(altered(case, **{name: value})())
        return float(np.vdot(made - case.truth, change)) / size - 1

    before, here = now, now * 1.01 + 1e-6
    try:
        low, at = -1.0, share(here)
        for _ in range(_SECANTS):
            if at == low or not np.isfinite(at):
                return None
            before, here, low = here, here - at * (here - before) / (at - low), at
            at = share(here)
            if abs(at) < 1e-7:
                break
    except (NoOracle, ValueError, TypeError, IndexError):
        return None
    return float(f"{here:.4g}") if np.isfinite(here) else None


def _alternatives(case: NodeCase, name: str, now: Any) -> Iterator[Any]:
    rank = np.ndim(case.inputs[0]) if case.inputs and case.inputs[0] is not None else 0
    if name in ("axis", "batch_dims", "batch_axis", "time_axis"):
        yield from range(rank)
    elif name == "axes" and isinstance(now, list):
        yield from ([*axes] for axes in itertools.combinations(range(rank), len(now)))
    elif name == "perm" and rank <= _MAX_RANK:
        yield from (list(perm) for perm in itertools.permutations(range(rank)))
    elif name == "pads":
        yield from _pads(now, rank - 2)
    elif name in ("dilations", "strides") and rank > 2:
        yield from ([n] * (rank - 2) for n in (1, 2, 3))
        if now:
            yield list(reversed(now))
    else:
        yield from _CHOICES.get(name, ())


def _pads(now: Any, axes: int) -> Iterator[list[int]]:
    if axes < 1:
        return
    flat = list(now or [0] * (2 * axes))
    before, after = flat[:axes], flat[axes:]
    yield [*after, *before]
    yield [0] * (2 * axes)
    total = [b + a for b, a in zip(before, after, strict=True)]
    yield [*(t // 2 for t in total), *(t - t // 2 for t in total)]
    yield [*(t - t // 2 for t in total), *(t // 2 for t in total)]
    yield [*total, *[0] * axes]
    yield [*[0] * axes, *total]
    for place in range(axes):
        for step in (1, -1):
            moved = list(flat)
            moved[place] += step
            moved[place + axes] -= step
            if min(moved) >= 0:
                yield moved
