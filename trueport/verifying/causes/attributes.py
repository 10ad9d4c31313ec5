"""Attributes of another value: alternatives by type, default, documentation and shapes; floats are solved for."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from trueport.ir.schemas import canonical_schema
from trueport.mapping.bind import bind_by_schema
from trueport.reference.walk import Hypothesis, NodeCase
from trueport.verifying.causes.documented import choices, defaults, is_flag, output_types
from trueport.verifying.causes.hypothesis import ATTRIBUTE, NUMBER, among, hypothesis, pause, text, with_attributes
from trueport.verifying.causes.quantization import AXIS, role
from trueport.verifying.causes.solving import decimals, is_overdetermined, solve

__all__ = [
    "GRID",
    "attribute_alternatives",
    "attribute_pairs",
    "bound_attributes",
    "changed_attributes",
    "fitted_attributes",
    "other_attributes",
]

GRID: tuple[float, ...] = (
    0.0,
    1e-12,
    1e-8,
    1e-6,
    1e-5,
    1e-3,
    1e-2,
    0.05,
    0.1,
    0.25,
    0.5,
    0.75,
    1.0,
    1.5,
    2.0,
    5.0,
    10.0,
    100.0,
    -0.1,
    -1.0,
)
_KNOWN: Mapping[str, Sequence[Any]] = {"cubic_coeff_a": (-0.5, -0.75), "p": (1, 2, 3)}
"""Numbers that implementations are known to use, where the schema does not name them."""
_MAX_PERM = 5
_MAX_ENTRIES = 24
_MAX_PAIRS = 200
_TYPES = frozenset({"to", "dtype", "output_dtype"})


def other_attributes(case: NodeCase) -> Iterator[Hypothesis]:
    """The same node with one attribute changed."""
    listed = list(attribute_alternatives(case))
    for name, value, bits in sorted(listed, key=lambda item: item[2]):
        yield changed_attributes(case, {name: value}, ATTRIBUTE + bits)


def attribute_pairs(case: NodeCase) -> Iterator[Hypothesis]:
    """Two attributes changed at once, the shortest descriptions first."""
    yield pause(2 * ATTRIBUTE + 6)
    listed = sorted(attribute_alternatives(case), key=lambda item: item[2])
    pairs = [
        ({one[0]: one[1], other[0]: other[1]}, one[2] + other[2])
        for one, other in itertools.combinations(listed, 2)
        if one[0] != other[0]
    ]
    for values, bits in sorted(pairs, key=lambda item: item[1])[:_MAX_PAIRS]:
        yield changed_attributes(case, values, 2 * ATTRIBUTE + bits + 2)


def changed_attributes(case: NodeCase, values: Mapping[str, Any], bits: float, evidence: str = "") -> Hypothesis:
    """Return the hypothesis that the node has these attributes."""
    has, values = bound_attributes(case), dict(sorted(values.items()))
    before = _listed({name: has.get(name) for name in values}) if len(values) > 1 else text(has.get(next(iter(values))))
    words, kind = f"it behaves as with {_listed(values)}, the source has {before}", "attribute"
    if [*values] == ["axis"] and any(role(case, index) for index in range(len(case.inputs))):
        words, kind = f"scales go along axis {values['axis']}, in the source along {has['axis']}", AXIS
    return hypothesis(case, kind, words, with_attributes(_settled(has, values)), bits, evidence)


def bound_attributes(case: NodeCase) -> Mapping[str, Any]:
    """Return all attributes of the schema, defaults included; none for an operator without one."""
    schema = canonical_schema(case.node.op_type, case.node.domain)
    return bind_by_schema(case.node, schema).attributes if schema is not None else {}


def _settled(has: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Explicit pads count only where they are not left to the operator."""
    explicit = "pads" in values and has.get("auto_pad") not in (None, "NOTSET") and "auto_pad" not in values
    return {**values, "auto_pad": "NOTSET"} if explicit else dict(values)


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {text(value)}" for name, value in values.items())


def attribute_alternatives(case: NodeCase) -> Iterator[tuple[str, Any, float]]:
    """Every attribute with its alternatives, and the bits that say which one."""
    has = bound_attributes(case)
    schema = canonical_schema(case.node.op_type, case.node.domain)
    for name, now in has.items():
        assert schema is not None, "only a schema has attributes"
        kind = schema.attributes[name].type
        seen = [now]
        values = list(_alternatives(case, name, now, kind))
        for value in values:
            if not any(_same(value, other) for other in seen):
                seen.append(value)
                yield name, value, among(len(has)) + among(len(seen))


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def _alternatives(case: NodeCase, name: str, now: Any, kind: Any) -> Iterator[Any]:
    of = case.node.op_type, case.node.domain, name
    yield from defaults(*of)
    yield from _KNOWN.get(name, ())
    types = onnx.defs.OpSchema.AttrType
    if kind == types.INT:
        yield from _integers(case, name, now)
    elif kind == types.INTS:
        yield from _integer_lists(case, name, now)
    elif kind == types.STRING:
        yield from choices(*of)
    elif kind == types.STRINGS and now:
        words = choices(*of)
        # Labels and keys are words of the model's own.
        yield from _text_lists(now, words if set(now) <= {*words} else tuple(dict.fromkeys(now)))
    elif kind == types.FLOATS and now and len(now) <= _MAX_ENTRIES:
        yield from _reordered(list(now))
    elif kind == types.FLOAT and now is not None:
        yield from (-now, now * 2, now / 2, now + 1, now - 1, 1 - now, 1 / now if now else 0.0, 0.0, 1.0)


def _integers(case: NodeCase, name: str, now: int | None) -> Iterator[int]:
    op, domain = case.node.op_type, case.node.domain
    if is_flag(op, domain, name):
        yield from (0, 1)
    elif "axis" in name or name in ("batch_dims", "start", "end"):
        ranks = [np.ndim(array) for array in case.inputs[:1]] + [np.ndim(case.truth)]
        rank = max(ranks)
        taken = (now or 0) % rank if rank else 0
        yield from (axis for axis in range(rank) if axis != taken)
    elif name in _TYPES:
        yield from (int(kind) for kind in output_types(op, domain))
    else:
        yield from (0, 1)
        if now is not None:
            yield from (now + 1, now - 1, now * 2, now // 2, now + 2, now - 2, -now)
        yield from range(2, 9)
        yield from sorted({int(size) for array in case.inputs[:1] for size in np.shape(array)})


def _integer_lists(case: NodeCase, name: str, now: Sequence[int] | None) -> Iterator[list[int] | None]:
    rank = np.ndim(case.inputs[0]) if case.inputs and case.inputs[0] is not None else 0
    yield None
    if name == "perm":
        if rank <= _MAX_PERM:
            yield from (list(perm) for perm in itertools.permutations(range(rank)))
        return
    if name == "axes":
        for count in dict.fromkeys((len(now or ()), *range(1, rank + 1))):
            yield from ([*axes] for axes in itertools.combinations(range(rank), count))
        return
    spatial = max(rank - 2, 1)
    flat = list(now) if now else [0 if "pad" in name else 1] * (2 * spatial if "pads" in name else spatial)
    if "pads" in name and len(flat) % 2 == 0:
        yield from _pads(flat)
    yield from ([n] * len(flat) for n in (0, 1, 2, 3))
    yield from _reordered(flat)
    for step in (1, -1, 2, -2):
        yield [n + step for n in flat]
        for index in range(min(len(flat), _MAX_ENTRIES)):
            yield [n + step if i == index else n for i, n in enumerate(flat)]
    yield [2 * n for n in flat]


def _reordered(flat: list[Any]) -> Iterator[list[Any]]:
    yield flat[::-1]
    yield [*flat[1:], *flat[:1]]
    yield [*flat[-1:], *flat[:-1]]
    for one, other in itertools.islice(itertools.combinations(range(len(flat)), 2), 64):
        swapped = list(flat)
        swapped[one], swapped[other] = swapped[other], swapped[one]
        yield swapped


def _text_lists(now: Sequence[str], words: Sequence[str]) -> Iterator[list[str]]:
    for index in range(min(len(now), _MAX_ENTRIES)):
        yield from ([word if i == index else old for i, old in enumerate(now)] for word in words)
    yield from ([word] * len(now) for word in words)
    yield from _reordered(list(now))


def _pads(flat: list[int]) -> Iterator[list[int]]:
    axes = len(flat) // 2
    before, after = flat[:axes], flat[axes:]
    total = [b + a for b, a in zip(before, after, strict=True)]
    yield [*after, *before]
    yield [0] * (2 * axes)
    yield [*(t // 2 for t in total), *(t - t // 2 for t in total)]
    yield [*(t - t // 2 for t in total), *(t // 2 for t in total)]
    yield [*total, *[0] * axes]
    yield [*[0] * axes, *total]
    yield [n for pair in zip(before, after, strict=True) for n in pair]
    for axis in range(axes):
        for step in (1, -1):
            moved = list(flat)
            moved[axis] += step
            moved[axis + axes] -= step
            if min(moved) >= 0:
                yield moved


def fitted_attributes(case: NodeCase) -> Iterator[Hypothesis]:
    """The same node with a number solved for, then with all of its numbers; a cause only if more elements differ."""
    yield pause(ATTRIBUTE + NUMBER)
    if np.asarray(case.target).dtype.kind != "f":
        return
    has = bound_attributes(case)
    schema = canonical_schema(case.node.op_type, case.node.domain)
    kinds = {name: attribute.type for name, attribute in schema.attributes.items()} if schema is not None else {}
    names = [name for name in has if kinds[name] == onnx.defs.OpSchema.AttrType.FLOAT]
    for name in names if is_overdetermined(case, 0) else ():
        now = has[name]
        starts = [[now], *([value] for value in GRID)] if now is not None else [[value] for value in GRID]
        found = solve(case, lambda v, name=name: with_attributes({name: v[0]})(case), starts)  # type: ignore[misc]
        for value in decimals(found[0]) if found else ():
            if value != now:
                yield changed_attributes(case, {name: value}, ATTRIBUTE + NUMBER + among(len(has)))
    both = [name for name in names if has[name] is not None]
    if len(both) > 1 and is_overdetermined(case, len(both)):
        at = [float(has[name]) for name in both]
        found = solve(case, lambda v: with_attributes(dict(zip(both, v, strict=True)))(case), [at])
        values = {name: float(f"{value:.4g}") for name, value in zip(both, found or at, strict=True)}
        changed = {name: value for name, value in values.items() if value != has[name]}
        if changed:
            yield changed_attributes(case, changed, ATTRIBUTE + NUMBER * len(changed))
