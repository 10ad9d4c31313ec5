"""Einstein sums."""

from __future__ import annotations

import onnx_ir as ir

from trueport.formulas.linear.einsum import EINSUM
from trueport.formulas.linear.einsum import einsum as contracted
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("Einsum", domain=TF, error=EINSUM)
def einsum(t: Translation, inputs: tuple[ir.Value, ...], *, equation: str) -> ir.Value:
    left, _, output = equation.partition("->")
    if "..." in left and "..." not in output:
        raise t.fail(
            f"sums over axes that dots stand for in {equation!r}, which TensorFlow itself does not run",
            "name the axes with letters",
        )
    return contracted(t, inputs, equation)
