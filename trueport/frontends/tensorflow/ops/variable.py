"""Constants, variables, and operators that only hand values on."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.fidelity import BITWISE, EXACT
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.frontends.tensorflow.translate.values import Resource, Translated
from trueport.frontends.tensorflow.translate.variables import read_variable, write_variable
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("Const", domain=TF, fidelity=BITWISE)
def const(t: Translation, *, value: np.ndarray) -> ir.Value:
    return t.op.const(value, t.node.name)


@maps("Identity", domain=TF, fidelity=BITWISE)
@maps("StopGradient", domain=TF, fidelity=BITWISE)
@maps("Snapshot", domain=TF, fidelity=BITWISE)
def identity(t: Translation, input: Translated) -> Translated:
    return input


@maps("IdentityN", domain=TF, fidelity=BITWISE)
def identity_n(t: Translation, input: tuple[Translated, ...]) -> tuple[Translated, ...]:
    return input


@maps("PreventGradient", domain=TF, fidelity=BITWISE, ignores={"message": "it is shown in training only"})
def prevent_gradient(t: Translation, input: ir.Value) -> ir.Value:
    return input


@maps("EnsureShape", domain=TF, fidelity=BITWISE)
def ensure_shape(t: Translation, input: ir.Value, *, shape: tuple[int | None, ...] | None) -> ir.Value:
    return input


@maps("NoOp", domain=TF, fidelity=BITWISE)
def no_op(t: Translation) -> None:
    """Only orders what runs."""


@maps("PlaceholderWithDefault", domain=TF, fidelity=BITWISE, ignores={"shape": "the default's shape is what is used"})
def placeholder_with_default(t: Translation, input: ir.Value) -> ir.Value:
    return input


@maps("VarIsInitializedOp", domain=TF, fidelity=BITWISE)
def var_is_initialized(t: Translation, resource: Translated) -> ir.Value:
    return t.op.const(np.array(isinstance(resource, Resource)))


_SHARED = {
    "container": "names where TensorFlow keeps it, not what it holds",
    "shared_name": "names where TensorFlow keeps it, not what it holds",
    "debug_name": "shown to people only",
    "allowed_devices": "ONNX has no devices",
}


@maps("VarHandleOp", domain=TF, fidelity=BITWISE, ignores={**_SHARED, "shape": "the value has it"})
def var_handle(t: Translation) -> Resource:
    return Resource(t.node.name, None)


@maps("ReadVariableOp", domain=TF, fidelity=BITWISE)
def read(t: Translation, resource: Translated, *, dtype: ir.DataType) -> ir.Value:
    return read_variable(t, resource, dtype)


@maps("AssignVariableOp", domain=TF, fidelity=EXACT, ignores={"validate_shape": "TensorFlow checked it when it traced"})
def assign(t: Translation, resource: Translated, value: ir.Value) -> None:
    write_variable(t, resource, value)


@maps("AssignAddVariableOp", domain=TF, fidelity=EXACT)
def assign_add(t: Translation, resource: Translated, value: ir.Value, *, dtype: Any) -> None:
    write_variable(t, resource, t.op.Add(read_variable(t, resource, dtype), value))


@maps("AssignSubVariableOp", domain=TF, fidelity=EXACT)
def assign_sub(t: Translation, resource: Translated, value: ir.Value, *, dtype: Any) -> None:
    write_variable(t, resource, t.op.Sub(read_variable(t, resource, dtype), value))
