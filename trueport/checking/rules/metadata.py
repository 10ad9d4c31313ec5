"""What a model says of itself, and where the target keeps it."""

from __future__ import annotations

from collections.abc import Iterator

from trueport.checking.remarks import Severity
from trueport.checking.rules.base import Hit, Subject, rule

__all__: list[str] = []


@rule(
    "metadata-aside",
    Severity.NOTE,
    "a SavedModel has no place for it: it stands in assets.extra/trueport.json, which TensorFlow does not read",
    targets=("tensorflow",),
)
def metadata_aside(subject: Subject) -> Iterator[Hit]:
    described = subject.described
    if described.get("metadata"):
        yield Hit(f"metadata {', '.join(map(repr, sorted(described['metadata'])))}")
    if described.get("doc") or described.get("graph", {}).get("doc"):
        yield Hit("the model's doc string")


@rule(
    "training-setup",
    Severity.NOTE,
    "what trains the model is not part of what it computes, and ONNX has no place for it",
    remedy="keep the Keras model where training shall go on",
    targets=("onnx",),
)
def training_setup(subject: Subject) -> Iterator[Hit]:
    optimizer = subject.described.get("optimizer")
    if optimizer:
        yield Hit(f"optimizer {optimizer}, loss and metrics")
