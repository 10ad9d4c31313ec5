"""Which TensorFlow operations round, and by how much: by the bounds that their mappings declare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trueport.fidelity import BITWISE, Against, ErrorBound, ulps
from trueport.frontends.tensorflow._tf import tf
from trueport.frontends.tensorflow.source.nodes import domain_of
from trueport.mapping.registry import Registry
from trueport.reference.noise import Rounding, RoundingNoise, Run
from trueport.reference.sums import Sums
from trueport.reference.tensorflow.evaluate import OperationNoise

__all__ = ["operation_noise"]

_ROUNDOFF = {
    "float32": 2.0**-24,
    "float16": 2.0**-11,
    "bfloat16": 2.0**-8,
    "float64": 2.0**-53,
    "complex64": 2.0**-24,
    "complex128": 2.0**-53,
}
_UNDECLARED = ulps(1)


def operation_noise(registry: Registry, noise: RoundingNoise) -> OperationNoise:
    """Return what runs an operation with errors of rounding."""

    def err(operation: Any, inputs: Sequence[Any], run: Run) -> list[Any]:
        rounding = _rounding(registry, operation)
        if rounding is None:
            return list(run(inputs))
        results = noise(rounding, list(map(_array, inputs)), lambda given: list(map(_array, run(_tensors(given)))))
        return _tensors(results)

    return err


def _rounding(registry: Registry, operation: Any) -> Rounding | None:
    """Return how an operation errs; None if it does not round."""
    units = [unit for tensor in operation.outputs if (unit := _ROUNDOFF.get(tensor.dtype.name)) is not None]
    mapping = registry.find(operation.type, domain_of(operation))
    if not units or (mapping is not None and mapping.fidelity == BITWISE):
        return None
    bound = mapping.error if mapping is not None and mapping.error else _UNDECLARED
    # Constants are the same in every run: rounding does not blur them, nor what is chosen by them alone.
    kept = [tensor.op.type == "Const" and bound.against != Against.DATA for tensor in operation.inputs]
    return Rounding(max(units), bound, [not constant for constant in kept], _sums(operation, bound))


def _sums(operation: Any, bound: ErrorBound) -> Sums | None:
    """Return where an operation's sums have their terms; None if it makes none, or they are elsewhere."""
    if bound.against != Against.TERMS:
        return None
    if operation.type in ("Conv2D", "Conv3D"):
        return Sums.WINDOWS_LAST if operation.get_attr("data_format").endswith(b"C") else None
    if "MatMul" in operation.type:
        return Sums.PRODUCT
    return Sums.AXES if operation.type in ("Sum", "Mean") else None


def _array(value: Any) -> Any:
    """Return a float of the reference's precision as an array, anything else as it is."""
    return np.asarray(value.numpy()) if value.dtype in (tf.float64, tf.complex128) else value


def _tensors(values: Sequence[Any]) -> list[Any]:
    return [tf.constant(value) if isinstance(value, np.ndarray) else value for value in values]
