"""Transposes that the target's order of axes makes necessary."""

from __future__ import annotations

from collections.abc import Iterator

from trueport.checking.remarks import Severity
from trueport.checking.rules.base import Hit, Subject, rule
from trueport.ir.provenance import MADE_BY

__all__: list[str] = []

_LAYOUT_PASS = "pass:layout"


@rule(
    "layout-transpose",
    Severity.NOTE,
    "is moved between channel-first and channel-last here: the numbers stay, the time does not",
)
def layout_transposes(subject: Subject) -> Iterator[Hit]:
    for node in subject.nodes:
        if node.op_type == "Transpose" and node.metadata_props.get(MADE_BY) == _LAYOUT_PASS:
            yield Hit(node)
