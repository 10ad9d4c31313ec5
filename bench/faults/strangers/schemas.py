"""Questions to ONNX's operator schemas: which operators have an attribute, an input, a signature."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping

import onnx
from onnx.defs import OpSchema

__all__ = [
    "FLAGS",
    "LEGAL",
    "TYPE_CODES",
    "attributes_of",
    "operators_with_attribute",
    "operators_with_input",
    "same_signature",
    "schemas",
]

FLAGS: Mapping[str, tuple[str, ...]] = {
    "pooling": ("ceil_mode", "count_include_pad"),
    "keepdims": ("keepdims",),
    "transposed": ("transA", "transB"),
    "order": ("exclusive", "reverse", "inverse", "upper"),
    "choice": ("largest", "sorted", "select_last_index", "zeros"),
    "geometry": ("align_corners", "exclude_outside", "antialias", "center_point_box"),
    "recurrent": ("linear_before_reset", "input_forget"),
    "signal": ("onesided", "periodic", "detect_negative", "detect_positive", "is_causal", "interleaved", "multi_class"),
}
"""Integer attributes of which the schemas allow 0 and 1 only, by what they are about."""

TYPE_CODES = frozenset(
    {
        "to",
        "dtype",
        "output_datatype",
        "output_dtype",
        "stash_type",
        "softmax_precision",
        "precision",
        "saturate",
        "seed",
    }
)
"""Integer attributes that choose an element type or do not act on results."""

LEGAL: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "mode": {
        "DepthToSpace": ("DCR", "CRD"),
        "Resize": ("nearest", "linear", "cubic"),
        "Pad": ("constant", "reflect", "edge", "wrap"),
        "GridSample": ("linear", "nearest", "cubic"),
        "RoiAlign": ("avg", "max"),
        "TfIdfVectorizer": ("TF", "IDF", "TFIDF"),
    },
    "coordinate_transformation_mode": {
        "Resize": ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"),
        "RoiAlign": ("half_pixel", "output_half_pixel"),
    },
    "nearest_mode": {"Resize": ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")},
    "padding_mode": {"GridSample": ("zeros", "border", "reflection")},
    "approximate": {"Gelu": ("none", "tanh")},
    "direction": {
        "BitShift": ("LEFT", "RIGHT"),
        **dict.fromkeys(("LSTM", "GRU", "RNN"), ("forward", "reverse")),
    },
    "reduction": {
        **dict.fromkeys(("ScatterND", "ScatterElements"), ("none", "add", "mul", "max", "min")),
        **dict.fromkeys(("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"), ("none", "sum", "mean")),
    },
    "auto_pad": dict.fromkeys(
        ("Conv", "ConvTranspose", "MaxPool", "AveragePool", "LpPool", "QLinearConv", "ConvInteger"),
        ("SAME_UPPER", "SAME_LOWER"),
    ),
    "norm": {"Normalizer": ("MAX", "L1", "L2")},
    "post_transform": dict.fromkeys(
        ("LinearClassifier", "LinearRegressor", "TreeEnsembleClassifier", "TreeEnsembleRegressor"),
        ("NONE", "SOFTMAX", "LOGISTIC"),
    ),
    "kernel_type": dict.fromkeys(("SVMRegressor", "SVMClassifier"), ("LINEAR", "POLY", "RBF", "SIGMOID")),
    "aggregate_function": {"TreeEnsembleRegressor": ("SUM", "AVERAGE", "MIN", "MAX")},
}
"""Attributes that name one of several behaviours: legal values by attribute and operator."""

# Results that depend on chance, or no tensors to compute with.
_UNFIT = frozenset({
    "Identity", "Dropout", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial", "Optional",
    "OptionalGetElement", "BitCast", "SequenceEmpty", "StringNormalizer", "Det", "NonZero", "GlobalLpPool",
    "Flatten", "Size", "Shape", "StringConcat",
})  # fmt: skip


@functools.cache
def schemas() -> tuple[OpSchema, ...]:
    """Return the newest schema of every operator of ONNX that is not deprecated."""
    newest: dict[tuple[str, str], OpSchema] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        key = (schema.domain, schema.name)
        if schema.domain in ("", "ai.onnx.ml") and (
            key not in newest or schema.since_version > newest[key].since_version
        ):
            newest[key] = schema
    return tuple(newest.values())


def attributes_of(schema: OpSchema | None, kind: str) -> list[str]:
    """Return the names of a schema's attributes of one type, as ``INT`` or ``FLOATS``."""
    if schema is None:
        return []
    return [name for name, item in sorted(schema.attributes.items()) if item.type == getattr(OpSchema.AttrType, kind)]


def operators_with_attribute(kind: str, wanted: Callable[[str], bool] = lambda name: True) -> frozenset[str]:
    """Return the operators that have, in any version, an attribute of the type whose name is wanted."""
    return frozenset(
        schema.name
        for schema in onnx.defs.get_all_schemas_with_history()
        if any(map(wanted, attributes_of(schema, kind)))
    )


def operators_with_input(names: Collection[str], *, optional: bool = False) -> frozenset[str]:
    """Return the operators with a formal input of one of the names; ``optional``: that may be left out."""
    return frozenset(
        schema.name
        for schema in schemas()
        for item in schema.inputs
        if (not names or item.name in names)
        and (not optional or item.option == OpSchema.FormalParameterOption.Optional)
    )


def same_signature(schema: OpSchema, dtype: int) -> list[OpSchema]:
    """Return other operators with the same number and sharing of types that take elements of ``dtype``."""
    wanted = _pattern(schema)
    return [
        other
        for other in schemas()
        if other.name != schema.name
        and other.domain == schema.domain
        and other.name not in _UNFIT
        and not any(item.required for item in other.attributes.values())
        and _pattern(other) == wanted
        and _type_text(dtype) in _accepted(other)
    ]


def _pattern(schema: OpSchema) -> tuple[object, ...]:
    """Return which formal inputs and outputs share a type, and which of them are optional or variadic."""
    order: dict[str, int] = {}
    return tuple(
        tuple((order.setdefault(item.type_str, len(order)), str(item.option)) for item in items)
        for items in (schema.inputs, schema.outputs)
    )


def _accepted(schema: OpSchema) -> Collection[str]:
    return schema.inputs[0].types if schema.inputs else ()


def _type_text(dtype: int) -> str:
    names = {"FLOAT": "float", "DOUBLE": "double"}
    name = onnx.TensorProto.DataType.Name(dtype)
    return f"tensor({names.get(name, name.lower())})"
