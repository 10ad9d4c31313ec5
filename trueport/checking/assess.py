"""The question asked of every node before anything is converted; convert asks the same one."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from trueport.errors import ConversionError, Unsupported
from trueport.fidelity import UNSUPPORTED
from trueport.mapping.registry import Finding, Reason, Registry

__all__ = ["assess_model", "refusals", "refuse_unsupported"]


def assess_model(model: ir.Model, registry: Registry) -> tuple[Finding, ...]:
    """One finding per node of the main graph and of all graphs inside it."""
    return tuple(registry.assess(node) for node in model.graph.all_nodes())


def refuse_unsupported(findings: Sequence[Finding]) -> None:
    """All nodes that can't be converted, in one error."""
    refused = [finding for finding in findings if finding.fidelity == UNSUPPORTED]
    if refused:
        raise Unsupported(refused)


def refusals(error: ConversionError) -> tuple[Finding, ...]:
    """What convert refuses, as findings of check: the nodes it names, or the model as a whole."""
    if isinstance(error, Unsupported):
        return error.findings
    reason = Reason("refused", error.why, error.remedy)
    return (Finding(error.where or "the model", "", UNSUPPORTED, None, (reason,)),)
