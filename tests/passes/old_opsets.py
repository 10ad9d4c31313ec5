"""Small models for every operator at every version before its newest.

Where ONNX's own suite has a model that is valid at the old version, it is taken from there; what changed between
versions is written down here, by hand, with a numpy expectation where neither ONNX Runtime nor ONNX's reference
evaluator runs the old version.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh

from tests.conformance import suite
from tests.passes.old_row import N, Row
from tests.passes.old_rows_network import network_rows
from tests.passes.old_rows_tensor import tensor_rows
from trueport.ir.schemas import CANONICAL_OPSETS, history

Pair = tuple[str, str, int]
"""domain, operator, version"""

__all__ = ["Case", "Pair", "by_hand", "from_suite", "old_versions"]


@dataclass(frozen=True)
class Case:
    """One model at an old opset."""

    label: str
    pair: Pair
    model: onnx.ModelProto
    feeds: Mapping[str, Any]
    want: list[Any] | None = None
    """an independent expectation; used when given"""
    fallback: list[Any] | None = None
    """the newest version's expectation; used when nothing runs the old one"""
    random: bool = False
    """only shapes and types can be compared"""


def old_versions() -> list[Pair]:
    """All versions of all operators that are not the newest and not merely the announcement of a removal."""
    pairs = {(s.domain, s.name, s.since_version) for s in onnx.defs.get_all_schemas_with_history()}
    newest = {(d, op): history(op, d)[-1].since_version for d, op, _ in pairs}
    return sorted((d, op, v) for d, op, v in pairs if v < newest[d, op] and d in CANONICAL_OPSETS)


def _opset(pair: Pair) -> int:
    """The newest opset in which this version counts: runtimes know it best."""
    domain, op, version = pair
    last = next((s.since_version for s in history(op, domain) if s.since_version > version), _TRIALS_ENDED) - 1
    return last if domain else max(version, min(last, _ORT_OPSET))


_TRIALS_ENDED = 10
_ORT_OPSET, _ORT_IR = 26, 10
"""What ONNX Runtime loads: a newer stamp would keep it from running the old version."""
_RANDOM = {
    "Bernoulli",
    "Dropout",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
}

_MEANS_OTHER = {
    ("", "BatchNormalization", 1): "is_test=0 was training",
    ("", "BatchNormalization", 6): "is_test=0 was training",
    ("", "Dropout", 1): "is_test=0 was training",
    ("", "Dropout", 6): "is_test=0 was training",
    ("", "Dropout", 7): "what the mask holds was not said",
    ("", "Dropout", 10): "what the mask holds was not said",
    ("", "PRelu", 1): "a vector of slopes belonged to the channels",
    ("", "PRelu", 6): "a vector of slopes belonged to the channels",
    ("", "GridSample", 16): "the modes had other names",
    ("", "OneHot", 9): "negative indices were out of range",
    ("", "Selu", 1): "the defaults had fewer digits",
}
"""Where a model of the suite is no case at the old version, for nothing that runs follows its text; by hand then."""

_LARGEST = 20_000
_PER_VERSION = 3


@functools.cache
def from_suite() -> dict[Pair, list[Case]]:
    """Models of ONNX's suite with one node, relabelled to an old opset in which they are valid."""
    single: dict[tuple[str, str], list[tuple[int, str, onnx.ModelProto]]] = {}
    for name, case in suite.cases().items():
        model = suite.model_of(case)
        if len(model.graph.node) == 1 and model.ByteSize() < _LARGEST and not model.functions:
            node = model.graph.node[0]
            single.setdefault((node.domain, node.op_type), []).append((model.ByteSize(), name, model))
    found: dict[Pair, list[Case]] = {}
    for pair in sorted(set(old_versions()) - set(_MEANS_OTHER)):
        for _, name, model in sorted(single.get(pair[:2], []), key=lambda item: item[:2]):
            if len(found.get(pair, ())) < _PER_VERSION and (old := _relabelled(model, pair)):
                found.setdefault(pair, []).append(_suite_case(name, pair, old))
    return found


def _relabelled(model: onnx.ModelProto, pair: Pair) -> onnx.ModelProto | None:
    old = onnx.ModelProto.FromString(model.SerializeToString())
    old.ir_version = min(old.ir_version, _ORT_IR)
    for imported in old.opset_import:
        if imported.domain == pair[0]:
            imported.version = _opset(pair)
    try:
        onnx.checker.check_model(old, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        return None
    return old


def _suite_case(name: str, pair: Pair, model: onnx.ModelProto) -> Case:
    inputs, outputs = next(suite.data_of(suite.cases()[name], model))
    arrays = [np.asarray(value) if isinstance(value, np.generic) else value for value in inputs]
    feeds = dict(zip((value.name for value in model.graph.input), arrays, strict=False))
    return Case(name, pair, model, feeds, fallback=outputs, random=pair[1] in _RANDOM)


def by_hand(ranks_known: bool = True) -> Iterator[Case]:
    """The table's cases; without ranks the inputs are declared by their type alone."""
    for index, item in enumerate([*tensor_rows(), *network_rows()]):
        pair = (item.domain, item.op, item.version)
        arrays = [None if x is None else np.asarray(x) for x in item.inputs]
        names = ["" if x is None else f"x{i}" for i, x in enumerate(arrays)]
        node = oh.make_node(
            item.op, names, [f"y{i}" for i in range(item.outputs)], name="node", domain=item.domain, **item.attributes
        )
        feeds = {n: x for i, (n, x) in enumerate(zip(names, arrays, strict=True)) if n and i not in item.constants}
        declared = [_declared(name, array, ranks_known) for name, array in feeds.items()]
        fixed = [onnx.numpy_helper.from_array(arrays[i], names[i]) for i in item.constants]
        want = _wanted(item, arrays)
        results = [
            onnx.ValueInfoProto(name=f"y{i}") if want is None else _declared(f"y{i}", np.asarray(want[i]), ranks_known)
            for i in range(item.outputs)
        ]
        graph = oh.make_graph([node], "old", declared, results, fixed)
        opsets = [oh.make_opsetid(item.domain, _opset(pair))] + [oh.make_opsetid("", 12)] * bool(item.domain)
        model = oh.make_model(graph, opset_imports=opsets, ir_version=8)
        yield Case(f"{item.op}-{item.version}#{index}", pair, _typed(model), feeds, want, random=item.random)
    yield _optional()


def _wanted(item: Row, arrays: list[Any]) -> list[Any] | None:
    made = None if item.want is None else item.want(*arrays)
    return made if made is None or isinstance(made, list) else list(made) if isinstance(made, tuple) else [made]


def _optional() -> Case:
    """An optional cannot leave every runtime: it is opened again."""
    pair = ("", "Optional", 15)
    text = "agraph (float[N] x) => (float[N] y) { o = Optional(x) y = OptionalGetElement(o) }"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {_opset(pair)}]> {text}')
    return Case("Optional-15", pair, model, {"x": N(3)}, [N(3)])


def _declared(name: str, array: np.ndarray, ranks_known: bool) -> onnx.ValueInfoProto:
    kind = onnx.TensorProto.STRING if array.dtype.kind in "UO" else oh.np_dtype_to_tensor_dtype(array.dtype)
    return oh.make_tensor_value_info(name, kind, [f"{name}_d{k}" for k in range(array.ndim)] if ranks_known else None)


def _typed(model: onnx.ModelProto) -> onnx.ModelProto:
    """With the outputs' types, as ONNX asks for them; where inference finds none they are like the first input."""
    inferred = onnx.shape_inference.infer_shapes(model)
    for value in inferred.graph.output:
        if not value.type.WhichOneof("value"):
            value.type.CopyFrom(inferred.graph.input[0].type)
            for dim in value.type.tensor_type.shape.dim:
                dim.Clear()
    return inferred
