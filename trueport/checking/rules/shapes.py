"""Open dims, sizes that depend on data, and where shape inference stops."""

from __future__ import annotations

from collections.abc import Iterator

import onnx_ir as ir

from trueport.checking.remarks import Severity
from trueport.checking.rules.base import Hit, Subject, rule
from trueport.operators.record import Sizing
from trueport.operators.table import facts_of

__all__: list[str] = []


@rule(
    "open-dims",
    Severity.NOTE,
    "the dim stays open: the target takes any size there",
)
def open_dims(subject: Subject) -> Iterator[Hit]:
    for where, port in subject.border():
        dims = [dim for dim in port.shape or () if not isinstance(dim, int)]
        if dims and port.kind == "tensor":
            names = ", ".join(repr(dim) if dim else "one without a name" for dim in dims)
            yield Hit(where, f"stays open in {'one dim' if len(dims) == 1 else f'{len(dims)} dims'}: {names}")


@rule(
    "shared-dims",
    Severity.NOTE,
    "a TensorFlow signature can't say that two dims are equal; the names are kept in the artifact's map",
    targets=("tensorflow",),
)
def shared_dims(subject: Subject) -> Iterator[Hit]:
    ports: dict[str, list[str]] = {}
    for port in subject.inputs:
        for dim in dict.fromkeys(port.shape or ()):
            if isinstance(dim, str):
                ports.setdefault(dim, []).append(port.name)
    for dim, names in ports.items():
        if len(names) > 1:
            yield Hit(f"dim {dim!r} of {', '.join(map(repr, names))}")


@rule("unknown-rank", Severity.NOTE, "nothing says how many dims it has", remedy="declare the input with a shape")
def unknown_ranks(subject: Subject) -> Iterator[Hit]:
    for value in subject.graph.inputs:
        if isinstance(value.type, ir.TensorType) and value.shape is None:
            yield Hit(f"input {value.name!r}")


@rule(
    "declared-shape",
    Severity.WARNING,
    "the file declares another shape than the operators give: the declaration is not used",
    remedy="correct the declared shape (value_info, output) in the file; onnx.shape_inference derives it once it is "
    "removed",
)
def declared_shapes(subject: Subject) -> Iterator[Hit]:
    yield from subject.contradictions


@rule(
    "inference-stops",
    Severity.WARNING,
    "the number of dims is not known from here on: a later operator that needs it may be refused while the model is "
    "converted",
    remedy="make the shape that it depends on a constant, or put a Reshape with a constant shape behind it",
)
def inference_stops(subject: Subject) -> Iterator[Hit]:
    for node in subject.nodes:
        known = all(value is None or not _unknown(value) for value in node.inputs)
        if known and any(value.name and _unknown(value) for value in node.outputs):
            yield Hit(node)


@rule(
    "data-dependent-shape",
    Severity.NOTE,
    "how many elements it makes is found while running: compilers that want fixed shapes (XLA) refuse it",
)
def data_dependent_shapes(subject: Subject) -> Iterator[Hit]:
    for node in subject.nodes:
        if facts_of(node).sizing is Sizing.VALUES and any(_open(value) for value in node.outputs):
            yield Hit(node)


def _unknown(value: ir.Value) -> bool:
    """Whether a tensor's rank is not known; sequences, optionals and maps have none."""
    tensor = value.type is None or isinstance(value.type, ir.TensorType)
    return tensor and value.shape is None and value.const_value is None


def _open(value: ir.Value) -> bool:
    return bool(value.name) and (value.shape is None or not value.shape.is_static())
