"""Operators that convert, with something to know about each."""

from __future__ import annotations

from collections.abc import Iterator

import onnx_ir as ir

from trueport.checking.remarks import Severity
from trueport.checking.rules.base import Hit, Subject, rule
from trueport.ir.marks import ignores_nan, order_is_open
from trueport.ir.nan import has_nan_order, may_hold_nan
from trueport.ir.products import moves_batch_into_matrix
from trueport.ir.provenance import MADE_BY, NOT_FOLDED, origins
from trueport.ir.resizing import resizes_by_fractions
from trueport.ir.schemas import CANONICAL_OPSETS, history
from trueport.operators.record import Trait
from trueport.operators.table import facts_of

__all__: list[str] = []

_UPGRADE = "upgrade:"


@rule(
    "random-operator",
    Severity.NOTE,
    "draws from the target's own generator: the distribution is kept, the values are not",
    remedy="such a model is compared by shapes and dtypes; feed the random values as an input to compare numbers",
)
def random_operators(subject: Subject) -> Iterator[Hit]:
    for finding in subject.findings:
        if finding.mapping is not None and finding.mapping.random:
            yield Hit(finding)


@rule(
    "special-values-in-pools",
    Severity.NOTE,
    "TensorFlow's kernel ignores NaN, and takes -inf for the lowest finite number",
    remedy="nothing where the data are finite; else replace NaN before the pool (Where on IsNaN)",
    targets=("tensorflow",),
)
def native_pools(subject: Subject) -> Iterator[Hit]:
    for node in subject.nodes:
        kernel, gaps = node.attributes.get("kernel_shape"), node.attributes.get("dilations")
        is_plain = gaps is None or set(gaps.as_ints()) == {1}
        if node.op_type == "MaxPool" and len(node.outputs) == 1 and is_plain and kernel and len(kernel.as_ints()) < 3:
            yield Hit(node)


@rule(
    "fractional-length",
    Severity.NOTE,
    "aligns the corners of an axis whose scale × length is not an integer: ONNX's formula takes the fraction, which a "
    "converted model follows, ONNX Runtime the rounded length: it gives values of other positions",
    remedy="give sizes instead of scales: both then mean the same",
    targets=("tensorflow",),
)
def fractional_lengths(subject: Subject) -> Iterator[Hit]:
    yield from (Hit(node) for node in resizes_by_fractions(subject.nodes))


@rule(
    "nan-in-orderings",
    Severity.NOTE,
    "ONNX Runtime's kernel has no order for NaN: where a row holds one, the result may be any",
    remedy="nothing where the data hold no NaN; else replace it before this (Where on IsNaN)",
)
def nan_in_orderings(subject: Subject) -> Iterator[Hit]:
    for node in subject.nodes:
        if not facts_of(node).has(Trait.ORDERS) or ignores_nan(node) or not may_hold_nan(node.inputs[0]):
            continue
        if subject.target == "onnx" and not has_nan_order(node):
            yield Hit(node)
        elif subject.target == "tensorflow" and node.op_type == "Unique":
            yield Hit(node, "all NaN count as one element; PyTorch counts each of them, ONNX Runtime drops them")


@rule(
    "unsorted-top-k",
    Severity.NOTE,
    "the source does not say in which order it gives the elements (sorted=False): a target gives the same elements, in "
    "an order that may be another one",
    remedy="nothing where the order does not matter; else choose with sorted=True, which has one order everywhere",
)
def unsorted_choices(subject: Subject) -> Iterator[Hit]:
    yield from (Hit(node) for node in subject.nodes if order_is_open(node))


@rule(
    "empty-batch-in-matrices",
    Severity.NOTE,
    "its operand is transposed so that the dynamic first axis becomes an axis of the matrices: for a size of 0, ONNX "
    "Runtime's optimizer has made a kernel of both that ends the process",
    remedy="nothing where the size is never 0; else create the session with disabled_optimizers="
    '["MatmulTransposeFusion"], which makes this product slower',
    targets=("onnx",),
)
def empty_batches_in_matrices(subject: Subject) -> Iterator[Hit]:
    yield from (Hit(node) for node in subject.nodes if moves_batch_into_matrix(node))


@rule("users-operator", Severity.NOTE, "is translated by a declaration of yours")
def users_operators(subject: Subject) -> Iterator[Hit]:
    for finding in subject.findings:
        if finding.mapping is not None and not finding.mapping.by.startswith("trueport."):
            yield Hit(finding, f"is translated by {finding.mapping.by}")


@rule(
    "custom-operator",
    Severity.NOTE,
    "ONNX does not define it: what it computes, and its types and shapes, are known to its declaration alone",
    targets=("tensorflow",),
)
def custom_operators(subject: Subject) -> Iterator[Hit]:
    for node in subject.nodes:
        if node.domain not in CANONICAL_OPSETS and not history(node.op_type, node.domain):
            yield Hit(node)


@rule(
    "control-flow",
    Severity.NOTE,
    "stays control flow: branches and loops are kept, not unrolled, and values inside them can't be fetched",
)
def control_flow(subject: Subject) -> Iterator[Hit]:
    for node in subject.nodes:
        if any(attribute.type == ir.AttributeType.GRAPH for attribute in node.attributes.values()):
            yield Hit(node)


@rule(
    "not-folded",
    Severity.NOTE,
    "its inputs are constants, but computing it here failed: it stays in the graph and is computed at run time",
)
def not_folded(subject: Subject) -> Iterator[Hit]:
    for node in subject.nodes:
        if reason := node.metadata_props.get(NOT_FOLDED):
            yield Hit(node, f"its inputs are constants, but computing it here failed ({reason}): it stays in the graph")


@rule(
    "opset-raised",
    Severity.NOTE,
    "was written for an older opset in which the operator differs: it is rewritten in the newest one",
    targets=("tensorflow",),
)
def raised_opsets(subject: Subject) -> Iterator[Hit]:
    rewritten = {
        (origin, made_by): None
        for node in subject.nodes
        if (made_by := node.metadata_props.get(MADE_BY, "")).startswith(_UPGRADE)
        for origin in origins(node)
    }
    for origin, made_by in rewritten:
        op, old, new = made_by.removeprefix(_UPGRADE).rsplit("-", 2)
        yield Hit(f"node {origin!r} ({op})", f"{op} of version {old} is rewritten in terms of version {new}")


@rule(
    "newer-runtime",
    Severity.NOTE,
    "has no exact form that ONNX Runtime 1.20 runs",
    remedy="run the file in the installed release of ONNX Runtime or a newer one; --opset 21 writes other operators in "
    "its place, where there are any",
    targets=("onnx",),
)
def newer_runtimes(subject: Subject) -> Iterator[Hit]:
    yield from subject.needs
