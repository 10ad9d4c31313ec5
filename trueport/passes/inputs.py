"""What a caller feeds: graph inputs that have a default become constants, as runtimes treat them."""

from __future__ import annotations

import onnx_ir as ir

from trueport.fidelity import Loss

__all__ = ["settle_defaults"]

_OVERRIDABLE_SINCE = 4
"""Before IR version 4 every initializer had to be listed as an input, so being one meant nothing."""


def settle_defaults(model: ir.Model) -> list[Loss]:
    """Take inputs with an initializer out of the signature; a default that could be overridden is a loss."""
    graph = model.graph
    defaulted = [value for value in graph.inputs if value.name in graph.initializers]
    for value in defaulted:
        graph.inputs.remove(value)
    if model.ir_version < _OVERRIDABLE_SINCE:
        return []
    return [
        Loss(
            f"input {value.name!r}",
            "its default can no longer be overridden by the caller",
            "a TensorFlow signature has no optional inputs; the default is kept as a weight",
        )
        for value in defaulted
    ]
