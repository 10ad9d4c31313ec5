"""One node on constants, computed in NumPy; what an evaluator cannot compute is left to the runtime."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx_ir as ir
from onnx.reference import ReferenceEvaluator

from trueport.ir.gathering import gather_elements
from trueport.ir.provenance import NOT_FOLDED
from trueport.quoting import one_line

__all__ = ["evaluated"]

Array = np.ndarray[Any, Any]


def evaluated(node: ir.Node) -> list[Array] | None:
    """Return the results of a node whose inputs are constants; None, and the reason in its metadata, if that fails.

    The only place where errors of an evaluator are caught: it may raise anything, and a node that cannot be computed
    here is no fault of the model.
    """
    arrays = [None if value is None else _array(value) for value in node.inputs]
    try:
        # Of integers by zero there is no result: NumPy would return 0.
        with np.errstate(divide="raise" if _is_integral(arrays) else "ignore", invalid="ignore", over="ignore"):
            results = (_KERNELS.get(node.op_type) or _by_reference)(node, arrays)
        _check_results(node, results)
    except Exception as error:
        node.metadata_props[NOT_FOLDED] = f"{type(error).__name__}: {one_line(error, 200)}"
        return None
    return results


def _array(value: ir.Value) -> Array:
    assert value.const_value is not None, "asked only of constants"
    return np.asarray(value.const_value.numpy())


def _is_integral(arrays: Sequence[Array | None]) -> bool:
    return all(array is None or array.dtype.kind in "iub" for array in arrays)


def _by_reference(node: ir.Node, arrays: Sequence[Array | None]) -> list[Array]:
    feeds = {
        value.name or "": array
        for value, array in zip(node.inputs, arrays, strict=True)
        if value is not None and array is not None
    }
    return [np.asarray(result) for result in ReferenceEvaluator(ir.to_proto(node)).run(None, feeds)]


def _gather_elements(node: ir.Node, arrays: Sequence[Array | None]) -> list[Array]:
    data, indices = arrays
    assert data is not None and indices is not None, "the schema requires both"
    return [gather_elements(data, indices, node.attributes.get_int("axis", 0))]


_KERNELS: Mapping[str, Callable[[ir.Node, Sequence[Array | None]], list[Array]]] = MappingProxyType(
    {"GatherElements": _gather_elements}
)
"""Operators that ONNX's reference computes for some of their inputs only."""


def _check_results(node: ir.Node, results: Sequence[Array]) -> None:
    """Raise if a result contradicts what inference knows of it."""
    if len(results) != len(node.outputs):
        raise ValueError(f"expected {len(node.outputs)} results, got {len(results)}")
    for value, array in zip(node.outputs, results, strict=True):
        if value.dtype is not None and value.dtype != ir.DataType.STRING and array.dtype != value.dtype.numpy():
            raise TypeError(f"expected {value.dtype.numpy()} for {value.name!r}, got {array.dtype}")
        dims = tuple(value.shape) if value.shape is not None else array.shape
        known = zip(dims, array.shape, strict=False)
        if len(dims) != array.ndim or any(isinstance(dim, int) and dim != size for dim, size in known):
            raise ValueError(f"expected shape {dims} for {value.name!r}, got {array.shape}")
