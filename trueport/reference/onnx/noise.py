"""Which nodes of an ONNX graph round, and by how much: by the record of each operator."""

from __future__ import annotations

import onnx_ir as ir

from trueport.fidelity import Against
from trueport.mapping.registry import Registry
from trueport.operators.record import Kind, Operator, Randomness
from trueport.reference.noise import Rounding
from trueport.reference.onnx.widen import unit_roundoff
from trueport.reference.sums import Sums

__all__ = ["NodeRounding"]


class NodeRounding:
    """Answers for the nodes of one model; ``registry`` has the users' own operators."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def __call__(self, node: ir.Node) -> Rounding | None:
        """Return how a node errs; None if it does not round."""
        operator = self._registry.facts(node.op_type, node.domain)
        units = _units(node)
        if not units or operator.error is None:
            return None
        weights = operator.error.against == Against.DATA
        blurred = [_is_blurred(node, operator, index, weights=weights) for index in range(len(node.inputs))]
        return Rounding(max(units), operator.error, blurred, _sums(node, operator))

    def varies(self, node: ir.Node) -> bool:
        """True if a node may give other results on the same inputs: it rounds, or draws random numbers."""
        random = self._registry.facts(node.op_type, node.domain).random
        return random is not Randomness.NEVER or self(node) is not None

    def by_steps(self, node: ir.Node) -> bool:
        """True if a node errs as the steps do that it is made of."""
        bound = self._registry.facts(node.op_type, node.domain).error
        return bound is not None and bound.against == Against.STEPS


def _sums(node: ir.Node, operator: Operator) -> Sums | None:
    """Return where a node's sums have their terms; None if it makes none, or they are elsewhere."""
    if operator.error is None or operator.error.against != Against.TERMS:
        return None
    if operator.kind in (Kind.REDUCTION, Kind.POOLING):
        return Sums.AXES
    if node.op_type == "Conv":
        return Sums.WINDOWS
    return Sums.PRODUCT if operator.family == "matmul" or operator.name == "MatMul" else None


def _units(node: ir.Node) -> list[float]:
    """Return unit roundoffs of a node's results; one whose type nobody infers has that of the coarsest input."""
    known = [value.dtype for value in node.outputs]
    if None in known:
        given = [
            unit for value in node.inputs if value is not None and (unit := unit_roundoff(value.dtype)) is not None
        ]
        return [max(given, default=2.0**-24)]
    return [unit for dtype in known if (unit := unit_roundoff(dtype)) is not None]


def _is_blurred(node: ir.Node, operator: Operator, index: int, *, weights: bool) -> bool:
    """Weights are the same in every run, and parameters (scales, bounds) are not data that rounding blurs."""
    value = node.inputs[index]
    if value is None or (value.const_value is not None and not weights):
        return False
    return not operator.role(index).is_parameter
