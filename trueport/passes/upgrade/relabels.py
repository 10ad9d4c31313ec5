"""Steps between versions that change nothing for a node, though the schemas' words or attributes differ.

A step that only allows more types is found by comparing the schemas (:func:`only_widens`). Every other one has
an adapter, or stands here with the reason why a node of the old version means the same in the new one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from onnx.defs import OpSchema

from trueport.mapping.bind import attribute_defaults
from trueport.passes.opset_steps import Step, listed_steps

__all__ = ["RELABELS", "only_widens"]


def only_widens(old: OpSchema, new: OpSchema) -> bool:
    """Whether two versions have the same parameters, attributes, defaults and words, and the newer allows all types."""
    return (
        not new.deprecated
        and _signature(old) == _signature(new)
        and _words(old) == _words(new)
        and all(set(mine.types) <= set(theirs.types) for mine, theirs in zip(old.inputs, new.inputs, strict=True))
    )


def _signature(schema: OpSchema) -> object:
    defaults = attribute_defaults(schema)
    attributes = {
        name: (attribute.type, attribute.required, repr(defaults[name]))
        for name, attribute in schema.attributes.items()
    }
    return [p.option for p in schema.inputs], [p.option for p in schema.outputs], attributes


def _words(schema: OpSchema) -> str:
    """All descriptions, without their layout."""
    parameters = [*schema.inputs, *schema.outputs]
    texts = [schema.doc or "", *(p.description for p in parameters)]
    texts += [schema.attributes[name].description for name in sorted(schema.attributes)]
    return re.sub(r"<br/>|[\s`*]", "", " ".join(texts)).lower()


_REASONS: Mapping[str, str] = {
    "words only: an example, a formula's layout or a sentence was improved": """
        Abs:6:13 ArgMax:12:13 ArgMin:12:13 Clip:12:13 Dropout:13:22 EyeLike:9:22 Gather:11:13
        GatherElements:11:13 Gemm:1:6 LSTM:14:22 Loop:1:11 Loop:11:13 Mod:10:13 NonMaxSuppression:10:11 Pow:12:13
        ReduceL1:11:13 ReduceL2:11:13 ReduceLogSum:11:13 ReduceLogSumExp:11:13 ReduceMax:11:12 ReduceMax:12:13
        ReduceMean:11:13 ReduceMin:11:12 ReduceMin:12:13 ReduceProd:11:13 ReduceSumSquare:11:13 Resize:18:19
        Slice:11:13 Squeeze:21:23 Transpose:13:21 Transpose:24:25 Unsqueeze:21:23""",
    "words only: the note tells which types were added": """
        Add:13:14 Div:13:14 Mul:13:14 Sub:13:14 ReduceMax:18:20 ReduceMin:18:20 QuantizeLinear:24:25
        QuantizeLinear:25:28""",
    "states the result for values that the old text left open (whole numbers, infinities, NaN, empty input)": """
        Ceil:6:13 Floor:6:13 ArgMax:1:11 ArgMin:1:11 BitShift:11:28""",
    "negative axes (or indices) are allowed as well": """
        Compress:9:11 Concat:4:11 Flatten:9:11 Gather:1:11 ReduceL1:1:11 ReduceL2:1:11 ReduceLogSum:1:11
        ReduceLogSumExp:1:11 ReduceMax:1:11 ReduceMean:1:11 ReduceMin:1:11 ReduceProd:1:11 ReduceSum:1:11
        ReduceSumSquare:1:11 Scan:9:11 Slice:10:11 Split:2:11 Squeeze:1:11 Unsqueeze:1:11""",
    "broadcasting was added; inputs of one shape mean what they meant": "Max:6:8 Mean:6:8 Min:6:8 Sum:6:8",
    "the default of an optional attribute, which was meant before, is written down": """
        Conv:1:11 LpPool:2:11 MaxPool:10:11 MaxUnpool:9:11""",
    "the formula of the output's size was corrected to what runtimes do at every version, and auto_pad's text says": """
        AveragePool:10:11 MaxPool:11:12""",
    "how odd padding is split was corrected to what auto_pad's text says; runtimes do the same at every version": """
        ConvTranspose:1:11""",
    "a window that starts in the padding holds no element: runtimes ignore it at every version": """
        AveragePool:19:22 MaxPool:12:22""",
    "an attribute was added whose default is the old behaviour": """
        ArgMax:11:12 ArgMin:11:12 AveragePool:1:7 AveragePool:7:10 AveragePool:11:19 Cast:13:19 CastLike:15:19
        Constant:9:11 Constant:11:12 DepthToSpace:1:11 DequantizeLinear:10:13 DequantizeLinear:19:21
        DequantizeLinear:21:23 GRU:7:14 GatherND:11:12 LSTM:7:14 LpPool:11:18 MaxPool:8:10 QuantizeLinear:10:13
        QuantizeLinear:13:19 QuantizeLinear:19:21 QuantizeLinear:21:23 RNN:7:14 Reshape:13:14 Resize:13:18
        ScatterElements:13:16 ScatterND:13:16 Shape:13:15 SpaceToDepth:13:28 TopK:10:11 Attention:24:25
        ai.onnx.ml/LabelEncoder:2:4 ai.onnx.ml/TreeEnsembleClassifier:1:3 ai.onnx.ml/TreeEnsembleRegressor:1:3""",
    "the attribute that was added is for types that the old version did not have": "Range:11:27",
    "an optional input was added, or an input became optional": """
        Attention:23:24 Gemm:9:11 OptionalHasElement:15:18 Pad:13:18""",
    "an optional output and an attribute about it were added": "MaxPool:1:8",
    "another mode, reduction or kind of input is allowed as well": """
        OptionalGetElement:15:18 Pad:11:13 Pad:18:19 ScatterElements:16:18 ScatterND:16:18""",
    "the branches' shapes may differ as well": "If:1:11",
    "the mean and variance of a batch are to be accumulated in float32, which only makes them exacter": """
        BatchNormalization:14:15""",
    "conversions that the old text left undefined or did not have (strings, numbers out of range) are described": """
        Cast:6:9 Cast:9:13""",
    "float8e8m0 was added; the table for infinities was corrected to what ONNX's own tests of version 19 expect": """
        Cast:23:24 CastLike:23:24""",
    "floats with fmod=0 are allowed as well": "Mod:13:28",
    "float8 was added, and for a vector it is said that its one scale is for all of it": "DequantizeLinear:13:19",
    "deprecated in favour of TreeEnsemble, with an unchanged meaning": """
        ai.onnx.ml/TreeEnsembleClassifier:3:5 ai.onnx.ml/TreeEnsembleRegressor:3:5""",
}


RELABELS: Mapping[Step, str] = listed_steps(_REASONS)
"""Every step without an adapter that is not a mere widening, and why a node may be taken as it is."""
