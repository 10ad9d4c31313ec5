"""ONNX allows more types than ONNX Runtime has kernels for: such nodes are computed in a wider type, exactly.

The table of kernels is plain data that the caller brings (:class:`~trueport.ir.widening.Kernel`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import onnx_ir as ir
from onnx.defs import OpSchema

from trueport.errors import ConversionError
from trueport.ir.insert import Workshop
from trueport.ir.places import op_id, place
from trueport.ir.schemas import has_body, schema_at
from trueport.ir.widening import Kernel, Signature, allows, can_widen, widen

__all__ = ["fit_kernels", "lacking", "newest_opset", "runs_alike"]

_Table = Mapping[tuple[str, str], Sequence[Kernel]]
_NEVER_RUN = frozenset({"Constant"})
"""Operators without a kernel that a runtime does away with when it loads a model."""
_NOT_TAKEN_APART = frozenset({"Bernoulli", "Swish"})
"""Operators that ONNX Runtime 1.31 neither runs nor takes apart into what it runs, though ONNX gives a body."""
_NOT_REDUCED = frozenset({"tensor(float16)", "tensor(bfloat16)", "tensor(bool)"})
"""Types that ONNX Runtime scatters, but not with a reduction."""
_IN_BODIES = frozenset(f"tensor({name})" for name in ("float", "float16", "double", "bool", "int32", "int64", "string"))
"""Types for which the nodes of ONNX's function bodies have kernels."""


def fit_kernels(model: ir.Model, kernels: Iterable[Kernel]) -> int:
    """Widen the types of all nodes for which no kernel is there, in place; how many. The opset is final by now."""
    table = _by_operator(kernels)
    shop = Workshop(model)
    fitted = 0
    refusals = []
    for node in list(model.graph.all_nodes()):
        schema = schema_at(node.op_type, node.domain, model.opset_imports.get(node.domain, 1))
        if schema is None or node.op_type in _NEVER_RUN:
            continue
        signatures = _signatures_for(node, schema, table)
        if any(allows(node, schema, signature) for signature in signatures):
            continue
        if widen(node, schema, signatures, shop) is None:
            refusals.append(_refusal(node, signatures))
        fitted += 1
    if refusals:
        raise refusals[0] if len(refusals) == 1 else _all_of(refusals)
    return fitted


def lacking(kernels: Iterable[Kernel], opset: int) -> Callable[[ir.Node], bool]:
    """Tells of a node that no kernel will run it at an opset, not even in a wider type."""
    table = _by_operator(kernels)

    def lacks(node: ir.Node) -> bool:
        schema = None if node.domain or node.op_type in _NEVER_RUN else schema_at(node.op_type, "", opset)
        if schema is None:
            return False
        signatures = _signatures_for(node, schema, table)
        return not any(allows(node, schema, signature) for signature in signatures) and not can_widen(
            node, schema, signatures
        )

    return lacks


def newest_opset(model: ir.Model, kernels: Iterable[Kernel], newest: int, oldest: int) -> int:
    """The newest opset in which every operator of a model has a kernel, or is not there and will be taken apart."""
    table = _by_operator(kernels)
    used = {node.op_type for node in model.graph.all_nodes() if not node.domain} - _NEVER_RUN
    for opset in range(newest, oldest - 1, -1):
        found = [schema for op in used if (schema := schema_at(op, "", opset)) is not None]
        if all(has_body(schema) or _signatures(schema, table) for schema in found):
            return opset
    return newest


def runs_alike(now: ir.Model, then: ir.Model, opsets: Mapping[str, int], kernels: Iterable[Kernel]) -> bool:
    """True if each node that a kernel of its own runs has one in a copy of the model for other opsets too."""
    table = _by_operator(kernels)
    return all(
        _has_kernel(after, opsets, table) or not _has_kernel(before, now.opset_imports, table)
        for before, after in zip(now.graph.all_nodes(), then.graph.all_nodes(), strict=True)
    )


def _has_kernel(node: ir.Node, opsets: Mapping[str, int], table: _Table) -> bool:
    opset = opsets.get(node.domain)
    schema = None if opset is None else schema_at(node.op_type, node.domain, opset)
    if schema is None:
        return False
    known = table.get((node.domain, node.op_type), ())
    is_own = any(kernel.implements(schema.since_version) for kernel in known)
    return is_own and any(allows(node, schema, types) for types in _signatures_for(node, schema, table))


def _by_operator(kernels: Iterable[Kernel]) -> _Table:
    found: dict[tuple[str, str], list[Kernel]] = {}
    for kernel in kernels:
        found.setdefault((kernel.domain, kernel.op), []).append(kernel)
    return found


def _signatures(schema: OpSchema, table: _Table) -> list[Signature]:
    """Of the kernels for a version; an operator with a body needs none of its own."""
    found = [k.types for k in table.get((schema.domain, schema.name), ()) if k.implements(schema.since_version)]
    if found or not has_body(schema) or schema.name in _NOT_TAKEN_APART:
        return found
    return [{item.type_param_str: _in_bodies(item.allowed_type_strs) for item in schema.type_constraints}]


def _in_bodies(types: Iterable[str]) -> frozenset[str]:
    return frozenset(name for name in types if name in _IN_BODIES or not name.startswith("tensor("))


def _signatures_for(node: ir.Node, schema: OpSchema, table: _Table) -> list[Signature]:
    """Of the kernels for a version, without the types that they take but not with this node's attributes."""
    found = _signatures(schema, table)
    reduction = node.attributes.get("reduction")
    if not node.op_type.startswith("Scatter") or reduction is None or reduction.as_string() == "none":
        return found
    return [{name: types - _NOT_REDUCED for name, types in signature.items()} for signature in found]


def _refusal(node: ir.Node, signatures: Sequence[Signature]) -> ConversionError:
    types = ", ".join(dict.fromkeys(str(v.type) for v in (*node.inputs, *node.outputs) if v is not None))
    if not signatures:
        return ConversionError(
            f"ONNX Runtime has no kernel for {op_id(node)} at this opset",
            where=place(node),
            remedy="ask for another opset, or replace the operator in the source model",
        )
    return ConversionError(
        f"ONNX Runtime has no kernel for {op_id(node)} of {types}, and no wider type gives the same result",
        where=place(node),
        remedy="cast to float32 (or int32, int64) around it in the source model",
    )


def _all_of(refusals: Sequence[ConversionError]) -> ConversionError:
    lines = "\n".join(f"  {error.where}: {error.why}" for error in refusals)
    return ConversionError(f"{len(refusals)} nodes can't be run by ONNX Runtime:\n{lines}", remedy=refusals[0].remedy)
