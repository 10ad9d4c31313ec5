"""Operators of all frameworks by what they do: the same family may be the same node."""

from __future__ import annotations

import re
from collections.abc import Mapping

from trueport.operators.table import OPERATORS

__all__ = ["family"]

_ELSEWHERE: Mapping[str, str] = {
    name: kind
    for kind, names in {
        "conv": "conv2d conv3d depthwiseconv2dnative depthwiseconv2d",
        "convtranspose": "conv2dbackpropinput conv3dbackpropinput transposeconv",
        "matmul": "batchmatmul fullyconnected",
        "add": "biasadd addn",
        "averagepool": "avgpool avgpool3d averagepool2d mean",
        "maxpool": "maxpool3d maxpool2d maxpoolwithargmax",
        "batchnorm": "fusedbatchnorm",
        "resize": "resizebilinear resizenearestneighbor resizebicubic scaleandtranslate",
        "reducesum": "sum",
        "reducemax": "max",
        "reducemin": "min",
        "pad": "mirrorpad",
        "slice": "stridedslice",
        "gather": "resourcegather embeddinglookup",
        "div": "realdiv floordiv truncatediv",
        "mod": "floormod truncatemod",
        "sigmoid": "logistic",
        "select": "select",
        "while": "statelesswhile",
        "if": "statelessif cond",
        "identity": "stopgradient",
        "greaterorequal": "greaterequal",
        "lessorequal": "lessequal",
        "and": "logicaland",
        "or": "logicalor",
        "not": "logicalnot",
    }.items()
    for name in names.split()
}
"""Names in TensorFlow and TFLite, which go before ONNX's where both have one: TensorFlow's Sum reduces."""
_SAME: Mapping[str, str] = {
    **{known.name.lower(): known.family for known in OPERATORS.values() if known.family},
    **_ELSEWHERE,
}
_VERSION = re.compile(r"v\d+$")


def family(op: str) -> str:
    """A word for what an operator does, without the version or the style of its name."""
    plain = _VERSION.sub("", op.lower().replace("_", ""))
    return _SAME.get(plain, plain)
