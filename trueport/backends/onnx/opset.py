"""The opset of an ONNX file: the one that was asked for, or the lowest that expresses the model exactly.

Without a wish a model is first brought to the newest opset that ONNX Runtime runs, as it runs best. Then it is taken
back, first to what :data:`OLDEST_RUNTIME` reads, then as far as every node stays the same operator on the same types
with a kernel of its own. So an older opset brings neither other numbers nor slower kernels, but files that more
runtimes read. Only these are replaced by other operators on the way back:

* those in :data:`_OTHER_FORMS`, for each of which the reason is given;
* integers narrower than the oldest runtime has kernels for, by wider ones between casts, which is exact.

Where a node has no such form the model stays at the newer opset, and the node and the reason are returned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx_ir as ir

from trueport.backends.onnx.amend import amend
from trueport.backends.onnx.kernels import fit_kernels, lacking, newest_opset, runs_alike
from trueport.backends.onnx.oldest import OLDEST_RUNTIME, READABLE_OPSET, kernels_of_oldest
from trueport.backends.onnx.runtime_bugs import avoid_runtime_bugs
from trueport.checking.rules.base import Hit
from trueport.ir.places import op_id
from trueport.ir.schemas import history
from trueport.ir.widening import Kernel, type_name
from trueport.passes.lower.model import lower_model, take_back, try_back
from trueport.passes.lower.times import opset_with, opsets_of_time
from trueport.passes.pass_list import EXACT, Fact, Pass, PassList
from trueport.passes.to_onnx import NEWEST_OPSET, OLDEST_OPSET
from trueport.runtimes.ort_kernels import readable_opset

__all__ = ["passes_to_opset", "settle_opset"]

_OTHER_FORMS: Mapping[str, str] = {
    "BitCast": "between integers a Cast keeps the bits; others are refused",
    "CumProd": "a Scan multiplies the same numbers in the same order",
    "RMSNormalization": "ONNX Runtime fuses the formula into the kernel that the operator has",
    "TensorScatter": "moves elements",
}
"""Operators newer than :data:`READABLE_OPSET` that other operators replace, and why no number changes."""

_DOMAINS = ("", "ai.onnx.ml")


def settle_opset(model: ir.Model, opset: int | None, kernels: Sequence[Kernel]) -> tuple[Hit, ...]:
    """Bring a model, in place, to an opset; ``None`` for the lowest that expresses it exactly.

    Returns the nodes that need more than the oldest runtime, if no opset was asked for.
    """
    newest = min(NEWEST_OPSET, readable_opset())
    passes_to_opset(opset or newest_opset(model, kernels, newest, OLDEST_OPSET), kernels).run(model)
    if opset is not None:
        return ()
    known = kernels_of_oldest(kernels)
    needs = _needs(model, known)
    if not needs:
        take_back(model, min(model.opset_imports[""], READABLE_OPSET))
        fit_kernels(model, known)
    take_back(model, _lowest(model, kernels if needs else known))
    return needs


def passes_to_opset(opset: int, kernels: Sequence[Kernel]) -> PassList:
    """Return the passes from the canonical opset to one that is written, for a runtime that has these kernels."""
    lacks = lacking(kernels, opset)
    return PassList(
        "To an opset of ONNX",
        (
            Pass(
                "amend operators",
                lambda model: amend(model, lacks),
                "first: what takes an operator's place is written for the canonical opset",
                needs=(Fact.CANONICAL, Fact.SHAPES),
                keeps=EXACT,
            ),
            Pass(
                "avoid bugs of runtimes",
                avoid_runtime_bugs,
                "after amending, which may build what a bug is about; at the canonical opset, like the pass before",
                needs=(Fact.CANONICAL, Fact.SHAPES),
                keeps=EXACT,
            ),
            Pass(
                "lower the opset",
                lambda model: lower_model(model, opset, always_expand=lacks),
                "after all that is written for the canonical opset",
                needs=(Fact.CANONICAL, Fact.SHAPES),
                ensures=(Fact.WRITTEN,),
                ends=(Fact.CANONICAL,),
                keeps=EXACT,
            ),
            Pass(
                "fit kernels",
                lambda model: fit_kernels(model, kernels),
                "last: for which types there are kernels depends on the opset",
                needs=(Fact.WRITTEN,),
                keeps=EXACT,
            ),
        ),
        given=(Fact.ORIGINS, Fact.CANONICAL, Fact.INITIALIZERS, Fact.SHAPES),
    )


def _needs(model: ir.Model, known: Sequence[Kernel]) -> tuple[Hit, ...]:
    """Return the nodes that the oldest runtime does not run and that nothing exact can replace."""
    opset = min(model.opset_imports[""], READABLE_OPSET)
    trial = try_back(model, opset)
    rewritten = [change for change in trial.changes if not change.widened and change.node.op_type not in _OTHER_FORMS]
    lacks = lacking(known, opset)
    return (
        *(Hit(error.where, f"{error.why}; {OLDEST_RUNTIME} reads opset {READABLE_OPSET}") for error in trial.refusals),
        *(Hit(change.node, _newer(change.node, change.opset)) for change in rewritten),
        *(Hit(node, _no_kernel(node)) for node in model.graph.all_nodes() if lacks(node)),
    )


def _newer(node: ir.Node, opset: int) -> str:
    return f"{op_id(node)} as it is used here needs opset {opset}; {OLDEST_RUNTIME} reads opset {READABLE_OPSET}"


def _no_kernel(node: ir.Node) -> str:
    types = dict.fromkeys(type_name(value) or "" for value in (*node.inputs, *node.outputs) if value is not None)
    return f"{OLDEST_RUNTIME} has no kernel for {op_id(node)} of {', '.join(filter(None, types))}"


def _lowest(model: ir.Model, kernels: Sequence[Kernel]) -> int:
    """Return the oldest opset at which every node is the same node, and is run by a kernel of its own as now."""
    now = model.opset_imports[""]
    opset = max([OLDEST_OPSET, *map(_first_opset, model.graph.all_nodes())])
    while opset < now:
        trial = try_back(model, opset)
        if trial.changes or trial.refusals:
            opset = max([opset + 1, *(change.opset for change in trial.changes)])
        elif runs_alike(model, trial.model, opsets_of_time(opset), kernels):
            break
        else:
            opset += 1
    return min(opset, now)


def _first_opset(node: ir.Node) -> int:
    """Return the opset that brought a node's operator."""
    versions = history(node.op_type, node.domain) if node.domain in _DOMAINS else ()
    return opset_with(node.domain, versions[0].since_version) if versions else 0
