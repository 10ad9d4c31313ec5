"""Shapes that a file declares for values that its nodes make: claims, which runtimes do not enforce.

ONNX Runtime only warns when an output has another shape than the file says, so nothing may be decided by such a shape:
only the dims of inputs and what inference derives from them count. ONNX's own inference prefers a declared shape to
the one that it derives, hence they are dropped before it runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import onnx_ir as ir

from trueport.ir.ports import Dims

__all__ = ["Claims", "Contradiction", "name_outputs", "named_dims", "set_aside_declared"]


@dataclass(frozen=True)
class Contradiction:
    """A declared shape that differs from the derived one."""

    node: ir.Node
    """makes the value"""
    value: str
    declared: Dims
    derived: Dims

    def __str__(self) -> str:
        return (
            f"the file declares {self.value!r} as {_text(self.declared)}, but it is {_text(self.derived)} by the "
            f"shapes of the inputs: the declaration is not used"
        )


@dataclass(frozen=True)
class Claims:
    """What a file declared before it was dropped."""

    outputs: Mapping[str, Dims]
    values: Mapping[ir.Value, Dims]

    def contradictions(self) -> tuple[Contradiction, ...]:
        """Return what inference has shown to be wrong; of nodes that were replaced since, nothing is known."""
        found = []
        for value, dims in self.values.items():
            derived, node = _dims(value), value.producer()
            if derived is not None and node is not None and node.graph is not None and not _agree(dims, derived):
                found.append(Contradiction(node, value.name or "", dims, derived))
        return tuple(found)


def name_outputs(graph: ir.Graph, declared: Mapping[str, Dims | None]) -> None:
    """Give dims of the graph's outputs that inference left without a name the declared one, if the shapes agree.

    An output whose rank inference did not find gets the declared rank.

    To be called when no pass follows: a name says that two dims are equal, which is a claim too.
    """
    for value in graph.outputs:
        derived = _dims(value)
        named = named_dims(derived, declared.get(value.name or ""))
        if named is not None and named != derived:
            value.shape = ir.Shape(named)


def named_dims(derived: Dims | None, claimed: Dims | None) -> Dims | None:
    """Return the dims of an output with the declared names, as :func:`name_outputs` gives them."""
    if claimed is None:
        return derived
    if derived is None:
        # A signature has to say how many dims there are, and nothing else does.
        return tuple(dim if isinstance(dim, str) else None for dim in claimed)
    if not _agree(claimed, derived):
        return derived
    pairs = zip(claimed, derived, strict=True)
    return tuple(name if _is_unnamed(dim) and isinstance(name, str) else dim for name, dim in pairs)


def set_aside_declared(model: ir.Model) -> Claims:
    """Drop the declared shapes of all values that nodes make, in place; they are to be inferred from the inputs.

    Declared element types stay: behind an operator that ONNX does not define nothing else tells them.
    """
    outputs = {value.name or "": dims for value in model.graph.outputs if (dims := _dims(value)) is not None}
    declared = {value: dims for value in _made(model) if (dims := _dims(value)) is not None}
    for value in declared:
        value.shape = None
    return Claims(outputs, declared)


def _made(model: ir.Model) -> Iterator[ir.Value]:
    """All values that nodes make, and what loops pass to their bodies, whose shape may change from step to step."""
    for graph in (*model.graphs(), *(function.graph for function in model.functions.values())):
        for node in graph:
            yield from (value for value in node.outputs if value.const_value is None)
            for attribute in node.attributes.values():
                if attribute.type == ir.AttributeType.GRAPH:
                    # A loop's iteration number and condition are scalars, or vectors of one, as the body declares them.
                    yield from attribute.as_graph().inputs[2 if node.op_type == "Loop" else 0 :]


def _dims(value: ir.Value) -> Dims | None:
    return None if value.shape is None else tuple(d if isinstance(d, int) else d.value for d in value.shape)


def _is_unnamed(dim: int | str | None) -> bool:
    """True if the dim has no name, or one that ONNX's inference generated."""
    return dim is None or (isinstance(dim, str) and dim.startswith("unk__"))


def _agree(declared: Dims, derived: Dims) -> bool:
    if len(declared) != len(derived):
        return False
    pairs = zip(declared, derived, strict=True)
    return all(a == b for a, b in pairs if isinstance(a, int) and isinstance(b, int))


def _text(dims: Dims) -> str:
    return f"[{', '.join('?' if dim is None else str(dim) for dim in dims)}]"
