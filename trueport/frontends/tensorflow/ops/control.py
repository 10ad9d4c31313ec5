"""Branches and loops."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import BITWISE
from trueport.frontends.tensorflow.control.branches import choose, truth
from trueport.frontends.tensorflow.control.loops import translate_while
from trueport.frontends.tensorflow.source.nodes import COMPLEX, TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.frontends.tensorflow.translate.values import Translated
from trueport.mapping.declare import maps

__all__: list[str] = []

_SHAPES = {"output_shapes": "the outputs have them"}
_RUNNING = {**_SHAPES, "parallel_iterations": "says how TensorFlow runs it, not what it computes"}


@maps("If", domain=TF, fidelity=BITWISE, ignores=_SHAPES)
@maps("StatelessIf", domain=TF, fidelity=BITWISE, ignores=_SHAPES)
@maps("If", domain=COMPLEX, fidelity=BITWISE, ignores=_SHAPES)
@maps("StatelessIf", domain=COMPLEX, fidelity=BITWISE, ignores=_SHAPES)
def if_(
    t: Translation, cond: ir.Value, input: tuple[Translated, ...], *, then_branch: str, else_branch: str
) -> list[Translated]:
    known = t.static(cond)
    if known is not None and known.dtype == bool:
        return t.inline(then_branch if known else else_branch, input)
    return choose(t, [truth(t, cond)], [then_branch, else_branch], input)


@maps("Case", domain=TF, fidelity=BITWISE, ignores=_SHAPES)
@maps("StatelessCase", domain=TF, fidelity=BITWISE, ignores=_SHAPES)
@maps("Case", domain=COMPLEX, fidelity=BITWISE, ignores=_SHAPES)
@maps("StatelessCase", domain=COMPLEX, fidelity=BITWISE, ignores=_SHAPES)
def case(
    t: Translation, branch_index: ir.Value, input: tuple[Translated, ...], *, branches: list[str]
) -> list[Translated]:
    """An index outside the branches means the last one."""
    tests = [t.op.Equal(branch_index, np.array(index, np.int32)) for index in range(len(branches) - 1)]
    return choose(t, tests, branches, input)


@maps("While", domain=TF, fidelity=BITWISE, ignores=_RUNNING)
@maps("StatelessWhile", domain=TF, fidelity=BITWISE, ignores=_RUNNING)
@maps("While", domain=COMPLEX, fidelity=BITWISE, ignores=_RUNNING)
@maps("StatelessWhile", domain=COMPLEX, fidelity=BITWISE, ignores=_RUNNING)
def while_(t: Translation, input: tuple[Translated, ...], *, cond: str, body: str) -> list[Translated]:
    return translate_while(t, input, cond, body)


@maps("ToBool", domain=TF, fidelity=BITWISE)
def to_bool(t: Translation, input: ir.Value) -> ir.Value:
    return truth(t, input)
