"""Models that are large."""

from __future__ import annotations

from collections.abc import Iterator

from trueport.checking.remarks import Severity
from trueport.checking.rules.base import Hit, Subject, rule

__all__ = ["EXPECTED_MORE", "EXPECTED_TIMES", "weight_bytes"]

_PROTOBUF = 2**31
"""bytes that one protobuf message can hold"""
_WORTH_SAYING = 2**28
EXPECTED_TIMES, EXPECTED_MORE = 1.5, 1e9
"""What a conversion is allowed to take: so many times the weights, and so many bytes more."""


@rule(
    "beyond-protobuf",
    Severity.NOTE,
    "the weights are more than a protobuf of 2 GB holds: they are written to files beside the graph",
    remedy="move and copy the whole folder, or the .onnx file with the file of its weights",
)
def beyond_protobuf(subject: Subject) -> Iterator[Hit]:
    size = weight_bytes(subject)
    if size > _PROTOBUF:
        yield Hit("the model")


@rule("peak-memory", Severity.NOTE, "a conversion holds about one and a half times the weights, and the frameworks")
def peak_memory(subject: Subject) -> Iterator[Hit]:
    size = weight_bytes(subject)
    if size > _WORTH_SAYING:
        expected = EXPECTED_TIMES * size + EXPECTED_MORE
        yield Hit(
            "the model", f"{size / 1e9:.1f} GB of weights: converting it takes up to {expected / 1e9:.1f} GB of memory"
        )


def weight_bytes(subject: Subject) -> int:
    """Bytes of all initializers, told by their types and shapes: nothing is read."""
    return sum(
        value.const_value.nbytes
        for graph in subject.model.graphs()
        for value in graph.initializers.values()
        if value.const_value is not None
    )
