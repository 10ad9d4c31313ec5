"""Types that the target lacks, at the border and inside."""

from __future__ import annotations

from collections.abc import Iterator

import onnx_ir as ir

from trueport.checking.remarks import Severity
from trueport.checking.rules.base import Hit, Subject, rule
from trueport.ir.ports import CONTAINERS

__all__: list[str] = []


@rule(
    "carried-type",
    Severity.WARNING,
    "the target has no such type, or no kernel for it: its bits travel in an integer type",
    remedy="trueport.load(…).run packs and unpacks them; other callers view the array as the integer type",
    targets=("tensorflow",),
)
def carried_types(subject: Subject) -> Iterator[Hit]:
    for where, port in subject.border():
        if port.element in CONTAINERS:
            yield Hit(where, f"{port.dtype} is carried as its bits in {CONTAINERS[port.element].name}")


@rule(
    "carried-type-inside",
    Severity.NOTE,
    "makes values of a type that the target lacks; inside they are held as their bits",
    targets=("tensorflow",),
)
def carried_types_inside(subject: Subject) -> Iterator[Hit]:
    for node in subject.nodes:
        for dtype in dict.fromkeys(value.dtype for value in node.outputs):
            if dtype is not None and dtype in CONTAINERS:
                yield Hit(node, f"makes {dtype.name}, which is held as its bits in {CONTAINERS[dtype].name}")


@rule(
    "split-port",
    Severity.WARNING,
    "a signature holds plain tensors: the value stands as several of them",
    remedy="trueport.load(…).run takes and gives the value whole",
    targets=("tensorflow",),
)
def split_ports(subject: Subject) -> Iterator[Hit]:
    for where, port in subject.border():
        if port.kind not in ("tensor", "pair"):
            kind = port.kind.replace("_", " of ")
            yield Hit(where, f"{kind}: it stands as the tensors {', '.join(map(repr, port.parts))}")


@rule(
    "complex-port",
    Severity.WARNING,
    "ONNX Runtime takes no complex tensors: the two parts of each number stand on a last axis of two",
    targets=("onnx",),
)
def complex_ports(subject: Subject) -> Iterator[Hit]:
    for where, port in subject.border():
        if port.kind == "pair":
            yield Hit(where)


@rule(
    "renamed-port",
    Severity.NOTE,
    "the target can't hold the name",
    remedy="trueport.load(…).run takes the source's name",
    targets=("tensorflow",),
)
def renamed_ports(subject: Subject) -> Iterator[Hit]:
    for where, port in subject.border():
        if port.renamed:
            yield Hit(where, f"its name in the target is {port.parts[0]!r}, which can't hold all letters")


@rule(
    "strings",
    Severity.NOTE,
    "text is UTF-8 bytes in TensorFlow: callers without trueport encode what they feed and decode what they get",
    targets=("tensorflow",),
)
def strings(subject: Subject) -> Iterator[Hit]:
    for where, port in subject.border():
        if port.element == ir.DataType.STRING:
            yield Hit(where)
