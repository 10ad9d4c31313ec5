"""ONNX's own schemas with their history: which versions an operator has, and which one an opset means."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import onnx.defs
from onnx.defs import OpSchema

from trueport.versions.opsets import WRITTEN_FOR, canonical_opsets, within

__all__ = [
    "CANONICAL_OPSETS",
    "DOMAINS",
    "EXPERIMENTAL_OPERATORS",
    "EXTENSIONS",
    "canonical_schema",
    "has_body",
    "history",
    "operators",
    "schema_at",
]

EXPERIMENTAL_OPERATORS = frozenset(
    {
        "Affine",
        "ConstantFill",
        "Crop",
        "DynamicSlice",
        "GivenTensorFill",
        "ImageScaler",
        "MeanVarianceNormalization",
        "ParametricSoftplus",
        "Scale",
        "ScaledTanh",
        "ThresholdedRelu",
    }
)
"""What ONNX had on trial up to opset 9; some have a schema since, the others are gone from its history."""

EXTENSIONS = "ai.onnx.contrib"
"""The domain of onnxruntime-extensions, which have no schemas here."""

DOMAINS = tuple(WRITTEN_FOR)


@functools.cache
def _histories() -> Mapping[tuple[str, str], tuple[OpSchema, ...]]:
    found: dict[tuple[str, str], list[OpSchema]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if within(schema):
            found.setdefault((schema.domain, schema.name), []).append(schema)
    return {key: tuple(sorted(versions, key=lambda s: s.since_version)) for key, versions in found.items()}


CANONICAL_OPSETS: Mapping[str, int] = canonical_opsets()
"""The one opset per domain that handlers see: 28 for ``ai.onnx``, or the newest of an installed onnx that is older."""


def history(op: str, domain: str = "") -> tuple[OpSchema, ...]:
    """All versions of an operator, oldest first; empty when ONNX does not define it."""
    return _histories().get((domain, op), ())


def operators() -> list[tuple[str, str]]:
    """(domain, name) of every operator that ONNX defines in our domains."""
    return sorted(key for key in _histories() if key[0] in DOMAINS)


def has_body(schema: OpSchema) -> bool:
    """Whether ONNX defines the operator by a function of other operators."""
    # onnx's stubs do not list these two.
    fixed, by_context = schema.has_function, schema.has_context_dependent_function  # type: ignore[attr-defined]
    return bool(fixed or by_context)


def schema_at(op: str, domain: str, opset: int) -> OpSchema | None:
    """The version of an operator that a model importing ``opset`` means."""
    fitting = [schema for schema in history(op, domain) if schema.since_version <= opset]
    return fitting[-1] if fitting else None


def canonical_schema(op: str, domain: str = "") -> OpSchema | None:
    """The version that handlers are written for."""
    return schema_at(op, domain, CANONICAL_OPSETS.get(domain, 1))
