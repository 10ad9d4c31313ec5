"""Which nodes are kept out of XLA's automatic clustering (``TF_XLA_FLAGS=--tf_xla_auto_jit=…``), and why.

The clustering compiles whatever it can, without asking whether the result is the same. A node that it would break, or
whose result jumps where XLA rounds differently, is marked so that it stays outside of every cluster. The mark changes
nothing where clustering is off, and nothing under ``tf.function(jit_compile=True)``, which compiles all or nothing.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.fidelity import AGAINST_PLACES
from trueport.mapping.bind import input_name
from trueport.mapping.declare import OpMapping

__all__ = ["clustering_of", "outside_clusters", "reason_to_stay_out"]

_PACKED = {ir.DataType.INT4, ir.DataType.UINT4}
_QUANTIZED = {ir.DataType.INT8, ir.DataType.UINT8, ir.DataType.INT16, ir.DataType.UINT16}


def clustering_of(node: ir.Node, mapping: OpMapping) -> AbstractContextManager[Any]:
    """Return the scope to emit a node in: one that clusters leave out, where there is a reason."""
    return outside_clusters() if reason_to_stay_out(node, mapping) else nullcontext()


def outside_clusters() -> AbstractContextManager[Any]:
    """Return a scope whose operations no cluster takes in."""
    scope: AbstractContextManager[Any] = tf.xla.experimental.jit_scope(compile_ops=False)
    return scope


def reason_to_stay_out(node: ir.Node, mapping: OpMapping) -> str:
    """Say why a node must not be compiled on its own; empty where it may be."""
    dtypes = {value.dtype for value in (*node.inputs, *node.outputs) if value is not None and value.dtype is not None}
    if dtypes & _PACKED:
        return "XLA packs two 4-bit integers into a byte, TensorFlow's kernels do not"
    if ir.DataType.STRING in dtypes:
        return "XLA has no strings, and miscounts what is selected beside them"
    if dtypes & _QUANTIZED and any(dtype.is_floating_point() for dtype in dtypes):
        return "XLA multiplies and adds with one rounding: a value halfway between two quantized steps takes the other"
    if mapping.error is not None and mapping.error.against == AGAINST_PLACES:
        return "XLA rounds sampling coordinates differently: one halfway between two elements takes the other"
    if any(
        value is not None and value.const_value is None and input_name(mapping, index) in mapping.static
        for index, value in enumerate(node.inputs)
    ):
        return "its axes or sizes are computed, and XLA must know them when it compiles"
    return ""
