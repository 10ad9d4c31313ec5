"""Optionals: a tensor or a sequence that may be missing."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Listing, Tensor
from trueport.backends.tensorflow.kernels import lists
from trueport.fidelity import BITWISE
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("Optional", fidelity=BITWISE, audited=28)
def optional(t: Emission, input: Any | None, *, type: ir.TypeAndShape | None) -> Listing:
    return lists.empty(t.output_dtype()) if input is None else lists.some(input, t.output_dtype())


@maps("OptionalHasElement", fidelity=BITWISE, audited=28)
def optional_has_element(t: Emission, input: Any | None) -> Tensor:
    if input is None or _optional_type(t) is None:
        return tf.constant(input is not None)
    return lists.length(input) > 0


@maps("OptionalGetElement", fidelity=BITWISE, audited=28)
def optional_get_element(t: Emission, input: Any) -> Any:
    type_ = _optional_type(t)
    if type_ is None:
        return input
    if isinstance(type_.elem_type, ir.SequenceType):
        return lists.inner_list(input, t.output_dtype())
    elements = lists.known(input)
    return elements[0] if elements else lists.get(input, 0, t.output_dtype())


def _optional_type(t: Emission) -> ir.OptionalType | None:
    value = t.node.inputs[0]
    return value.type if value is not None and isinstance(value.type, ir.OptionalType) else None
