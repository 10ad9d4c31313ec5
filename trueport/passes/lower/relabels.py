"""Steps back that change nothing for a node that uses nothing new, and operators that had no form before they came.

A step that only allowed more types is found by comparing the schemas. For every other one without an adapter the
reason stands here. That a node has no attribute, input or output that the old version lacks is checked for each node;
one that has is replaced by the operator's body, or refused.
"""

from __future__ import annotations

from collections.abc import Mapping

from trueport.passes.opset_steps import Step, listed_steps

__all__ = ["NO_FORM", "RELABELS"]

_REASONS: Mapping[str, str] = {
    "words only: an example, a formula's layout or a sentence was improved": """
        Dropout:22:13 EyeLike:22:9 LSTM:22:14 Squeeze:23:21 Transpose:21:13 Transpose:25:24 Unsqueeze:23:21""",
    "words only: the note tells which types were added": """
        Add:14:13 Div:14:13 Mul:14:13 Sub:14:13 QuantizeLinear:25:24 QuantizeLinear:28:25 ReduceMax:20:18
        ReduceMin:20:18""",
    "a node without the new attribute or input means the same": """
        Attention:24:23 Attention:25:24 AveragePool:19:11 CastLike:19:15 LpPool:18:11 SpaceToDepth:28:13
        ai.onnx.ml/TreeEnsembleClassifier:3:1 ai.onnx.ml/TreeEnsembleRegressor:3:1""",
    "the new attribute is for types that are widened to one that the old version has, which is what it asks for": """
        Range:27:11""",
    "the mean and variance of a batch may be accumulated in any type; float32 is what runtimes use": """
        BatchNormalization:15:14""",
    "float8e8m0 was added; the table for infinities was corrected to what ONNX's own tests of version 19 expect": """
        CastLike:24:23""",
    "float8 was added, and for a vector it is said that its one scale is for all of it": "DequantizeLinear:19:13",
    "the old version allows more types": "ReduceLogSum:28:18 ReduceLogSumExp:28:18",
    "the old version has another meaning and is deprecated: the body takes its place": "GroupNormalization:21:18",
    "deprecated in favour of TreeEnsemble, with an unchanged meaning": """
        ai.onnx.ml/TreeEnsembleClassifier:5:3 ai.onnx.ml/TreeEnsembleRegressor:5:3""",
}


RELABELS: Mapping[Step, str] = listed_steps(_REASONS)
"""Every step back without an adapter that is not a mere widening, and why a node may be taken as it is."""

NO_FORM: Mapping[tuple[str, str], str] = {
    ("", "Col2Im"): "sums overlapping blocks at places that no older operator counts",
    ("", "DeformConv"): "samples at offsets that are data",
    ("", "GridSample"): "samples at places that are data",
    ("", "ImageDecoder"): "reads files",
    ("", "MelWeightMatrix"): "makes a table from numbers that are data",
    ("", "Optional"): "older opsets have no optional values",
    ("", "OptionalGetElement"): "older opsets have no optional values",
    ("", "OptionalHasElement"): "older opsets have no optional values",
    ("", "RegexFullMatch"): "older opsets have no operators on the characters of strings",
    ("", "SequenceMap"): "its body would be a graph inside a function, which can't be inlined",
    ("", "StringConcat"): "older opsets have no operators on the characters of strings",
    ("", "StringSplit"): "older opsets have no operators on the characters of strings",
    ("ai.onnx.ml", "TreeEnsemble"): "the older operators know neither sets nor types of their own for thresholds",
}
"""Operators that are refused below the opset that brought them, and why."""
