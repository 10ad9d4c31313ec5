"""Calls of functions: their bodies are translated in place."""

from __future__ import annotations

from typing import Any

from trueport.fidelity import BITWISE
from trueport.frontends.tensorflow.source.nodes import COMPLEX, TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.frontends.tensorflow.translate.values import Translated
from trueport.mapping.declare import maps

__all__: list[str] = []

_PLACING = {
    "config": "says how TensorFlow runs it, not what it computes",
    "config_proto": "says how TensorFlow runs it, not what it computes",
    "executor_type": "says how TensorFlow runs it, not what it computes",
}


@maps("PartitionedCall", domain=TF, fidelity=BITWISE, ignores=_PLACING)
@maps("StatefulPartitionedCall", domain=TF, fidelity=BITWISE, ignores=_PLACING)
@maps("PartitionedCall", domain=COMPLEX, fidelity=BITWISE, ignores=_PLACING)
@maps("StatefulPartitionedCall", domain=COMPLEX, fidelity=BITWISE, ignores=_PLACING)
def partitioned_call(t: Translation, args: tuple[Translated, ...], *, f: str) -> list[Any]:
    return t.inline(f, args)
