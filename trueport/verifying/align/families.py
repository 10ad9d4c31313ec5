"""Operators of all frameworks by what they do: the same family may be the same node."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["family"]

_SAME: Mapping[str, str] = {
    name: kind
    for kind, names in {
        "conv": "conv conv2d conv3d depthwiseconv2dnative depthwiseconv2d fusedconv convinteger qlinearconv",
        "convtranspose": "convtranspose conv2dbackpropinput conv3dbackpropinput transposeconv",
        "matmul": "matmul gemm batchmatmul fullyconnected matmulinteger einsum qlinearmatmul",
        "add": "add biasadd addn sum",
        "averagepool": "averagepool avgpool avgpool3d averagepool2d globalaveragepool mean reducemean",
        "maxpool": "maxpool maxpool3d maxpool2d globalmaxpool maxpoolwithargmax",
        "batchnorm": "batchnormalization fusedbatchnorm",
        "resize": "resize resizebilinear resizenearestneighbor resizebicubic upsample scaleandtranslate",
        "reducesum": "reducesum sum cumsum",
        "reducemax": "reducemax max",
        "reducemin": "reducemin min",
        "reshape": "reshape flatten squeeze unsqueeze expanddims",
        "pad": "pad mirrorpad",
        "slice": "slice stridedslice",
        "gather": "gather resourcegather gathernd embeddinglookup",
        "div": "div realdiv floordiv truncatediv",
        "mod": "mod floormod truncatemod",
        "sigmoid": "sigmoid logistic",
        "select": "where select",
        "while": "loop scan while statelesswhile",
        "if": "if statelessif cond",
        "identity": "identity dropout stopgradient",
        "topk": "topk",
    }.items()
    for name in names.split()
}
_VERSION = re.compile(r"v\d+$")


def family(op: str) -> str:
    """A word for what an operator does, without the version or the style of its name."""
    plain = _VERSION.sub("", op.lower().replace("_", ""))
    return _SAME.get(plain, plain)
