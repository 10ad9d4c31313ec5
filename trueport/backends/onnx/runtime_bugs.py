"""Known bugs of ONNX Runtime that a valid model runs into, and how a file is written so that none of them shows.

Each is data: what goes wrong, in which releases it was seen, and the rewrite, which changes no number.
``tests/families/test_runtime_bugs.py`` shows every bug by itself, so that it tells when one is gone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from trueport.backends.onnx.empty_products import broadcast_to_empty_batches, keep_transposes_apart
from trueport.backends.onnx.small_sigmoids import keep_small_sigmoids
from trueport.ir.build import known_array
from trueport.ir.insert import Inserter, Workshop
from trueport.ir.provenance import MADE_BY
from trueport.ir.replace import remove_node, replace_node, replace_value
from trueport.operators.record import Kind
from trueport.operators.table import OPERATORS

__all__ = ["BUGS", "RuntimeBug", "avoid_runtime_bugs"]

_POOLS = frozenset({"AveragePool", "MaxPool"})
_RECURRENT = frozenset({"GRU", "LSTM"})
_ARGUMENTS = frozenset({"ArgMax", "ArgMin"})
_REDUCTIONS = _ARGUMENTS | {known.name for known in OPERATORS.values() if known.kind is Kind.REDUCTION}


@dataclass(frozen=True)
class RuntimeBug:
    """One bug, and its rewrite, which returns True if it changed the node."""

    name: str
    operators: frozenset[str]
    what: str
    seen: tuple[str, str]
    """the oldest and the newest release that it was seen in, of those that files are written for"""
    rewrite: Callable[[ir.Node, Workshop], bool]


def avoid_runtime_bugs(model: ir.Model) -> int:
    """Rewrite, in place, what a release of ONNX Runtime gets wrong; return the number of nodes changed.

    The model is at the canonical opset.
    """
    shop = Workshop(model)
    nodes = [node for node in model.graph.all_nodes() if not node.domain]
    return sum(bug.rewrite(node, shop) for bug in BUGS for node in nodes if node.op_type in bug.operators)


def _keep_zero_padding(pool: ir.Node, shop: Workshop) -> bool:
    """Say that the pool pads nothing, or put a Pad of nothing with ones between: the optimizer leaves these apart."""
    data = pool.inputs[0]
    pad = data.producer() if data is not None else None
    if data is None or pad is None or pad.op_type != "Pad" or pad.domain or not _pads_with_zeros(pad):
        return False
    if not any(_ints(pool, "pads")) and not _int(pool, "ceil_mode") and _text(pool, "auto_pad", "NOTSET") == "NOTSET":
        pool.attributes.pop("pads", None)
        pool.attributes["auto_pad"] = ir.AttrString("auto_pad", "VALID")
        return True
    if data.shape is None or _text(pool, "auto_pad", "NOTSET") != "NOTSET":
        return False
    op = Inserter(shop, pool)
    op.metadata[MADE_BY] = "runtime-bug:zero-padding-of-pools"
    apart: ir.Value = op.Pad(data, np.zeros(2 * len(data.shape), np.int64), op.like(1, data))
    apart.type, apart.shape = data.type, data.shape
    pool.replace_input_with(0, apart)
    return True


def _pads_with_zeros(pad: ir.Node) -> bool:
    value = known_array(pad.inputs[2]) if len(pad.inputs) > 2 and pad.inputs[2] is not None else np.zeros(())
    return _text(pad, "mode", "constant") == "constant" and value is not None and not value.any()


def _count_axes_from_the_front(node: ir.Node, shop: Workshop) -> bool:
    data = node.inputs[0]
    if not _may_be_empty(data) or data is None or data.shape is None:
        return False
    rank = len(data.shape)
    if node.op_type in _ARGUMENTS:
        axis = _int(node, "axis")
        if axis < 0:
            node.attributes["axis"] = ir.AttrInt64("axis", axis + rank)
        return axis < 0
    axes = known_array(node.inputs[1]) if len(node.inputs) > 1 and node.inputs[1] is not None else None
    if axes is None or not (axes < 0).any():
        return False
    node.replace_input_with(1, Inserter(shop, node).const(axes % rank))
    return True


def _add_a_row_to_none(node: ir.Node, shop: Workshop) -> bool:
    """Give a batch of nothing one row of zeros, and cut it off the results."""
    data = node.inputs[0]
    layout = node.attributes.get("layout")
    if data is None or data.shape is None or isinstance(data.shape[1], int) or (layout is not None and layout.as_int()):
        return False
    op = Inserter(shop, node)
    op.metadata[MADE_BY] = "runtime-bug:empty-recurrence"
    count = op.Shape(data, start=1, end=2)
    more = op.Cast(op.Equal(count, [0]), to=ir.DataType.INT64.value)

    def padded(value: ir.Value | None, rank: int, axis: int) -> ir.Value | None:
        if value is None:
            return None
        before, after = np.zeros(rank + axis, np.int64), np.zeros(rank - axis - 1, np.int64)
        pads = [op.const(before), more, *([op.const(after)] if after.size else [])]
        made: ir.Value = op.Pad(value, op.Concat(*pads, axis=0))
        made.type = value.type
        return made

    inputs = [*node.inputs, *[None] * (8 - len(node.inputs))]
    inputs[0] = padded(data, 3, 1)
    inputs[4] = padded(inputs[4], 1, 0)
    inputs[5], inputs[6] = padded(inputs[5], 3, 1), padded(inputs[6], 3, 1)
    again = ir.Node(
        "",
        node.op_type,
        inputs[: len(node.inputs)],
        list(node.attributes.values()),
        num_outputs=len(node.outputs),
        metadata_props=dict(node.metadata_props),
    )
    node.graph.insert_before(node, again)  # type: ignore[union-attr]
    for old, new, axis in zip(node.outputs, again.outputs, (2, 1, 1), strict=False):
        new.name, new.type = op.fresh(f"{old.name}.rows") if old.name else "", old.type
        if old.name:
            replace_value(old, op.Slice(new, [0], count, [axis]))
    again.name, node.name = node.name, None
    remove_node(node)
    return True


def _know_the_rest(node: ir.Node, shop: Workshop) -> bool:
    """Give a Reshape that copies a size, which may be 0, a number in the place of -1."""
    data, shape = node.inputs[0], known_array(node.inputs[1])
    if data is None or data.shape is None or shape is None or _int(node, "allowzero"):
        return False
    target = [int(size) for size in shape.ravel()]
    if -1 not in target or 0 not in target or target.count(0) > len(data.shape):
        return False
    copied = {axis for axis, size in enumerate(target) if size == 0}
    left = [size for axis, size in enumerate(data.shape) if axis not in copied]
    place = target.index(-1)
    known = math.prod(size for size in left if isinstance(size, int))
    others = math.prod(size for size in target if size > 0)
    moving = [axis for axis, size in enumerate(data.shape) if axis not in copied and not isinstance(size, int)]
    if not moving and others and known % others == 0:
        target[place] = known // others
    elif moving == [place] and known == others:
        target[place] = 0
    else:
        return False
    if target[place] == 0 and not moving:
        return False
    node.replace_input_with(1, Inserter(shop, node).const(np.array(target, np.int64)))
    return True


def _multiply_by_a_column(node: ir.Node, shop: Workshop) -> bool:
    data, vector = node.inputs
    if data is None or vector is None or data.shape is None or vector.shape is None:
        return False
    if len(vector.shape) != 1 or len(data.shape) < 2 or not _may_be_empty(data):
        return False
    op = Inserter(shop, node)
    op.metadata[MADE_BY] = "runtime-bug:empty-product-with-a-vector"
    replace_node(node, [op.Squeeze(op.MatMul(data, op.Unsqueeze(vector, [1])), [-1])])
    return True


BUGS: tuple[RuntimeBug, ...] = (
    RuntimeBug(
        "zero-padding-of-pools",
        _POOLS,
        "the optimizer joins a Pad of zeros with the pool after it, which ignores what it pads: a maximum of negative "
        "numbers stays negative, a mean (in 1.20) is taken of fewer numbers",
        ("1.20", "1.31"),
        _keep_zero_padding,
    ),
    RuntimeBug(
        "negative-axes-of-nothing",
        frozenset(_REDUCTIONS),
        "a reduction of a tensor without elements keeps the axes that are counted from the end",
        ("1.20", "1.31"),
        _count_axes_from_the_front,
    ),
    RuntimeBug(
        "empty-recurrence",
        _RECURRENT,
        "the process is aborted for a batch of 0",
        ("1.20", "1.31"),
        _add_a_row_to_none,
    ),
    RuntimeBug(
        "rest-of-nothing",
        frozenset({"Reshape"}),
        "-1 beside a copied size of 0 is refused, though the other dims say what it is",
        ("1.20", "1.31"),
        _know_the_rest,
    ),
    RuntimeBug(
        "fused-transposes-of-nothing",
        frozenset({"MatMul"}),
        "the optimizer fuses a Transpose with the product of an empty batch and one matrix; its kernel refuses it",
        ("1.20", "1.31"),
        keep_transposes_apart,
    ),
    RuntimeBug(
        "empty-batch-of-products",
        frozenset({"MatMul"}),
        "an empty batch is not broadcast: a product with one matrix on its left, or with several matrices, is refused",
        ("1.20", "1.31"),
        broadcast_to_empty_batches,
    ),
    RuntimeBug(
        "empty-product-with-a-vector",
        frozenset({"MatMul"}),
        "a tensor without elements can't be multiplied by a vector",
        ("1.20", "1.31"),
        _multiply_by_a_column,
    ),
    RuntimeBug(
        "small-sigmoids",
        frozenset({"Sigmoid"}),
        "sigmoids below 1e-6 have few right digits, below 1e-8 none",
        ("1.20", "1.31"),
        keep_small_sigmoids,
    ),
)
"""In the order in which they are avoided."""


def _may_be_empty(value: ir.Value | None) -> bool:
    return (
        value is not None
        and value.shape is not None
        and any(not isinstance(size, int) or not size for size in value.shape)
    )


def _ints(node: ir.Node, name: str) -> tuple[int, ...]:
    found = node.attributes.get(name)
    return () if found is None else tuple(found.as_ints())


def _text(node: ir.Node, name: str, otherwise: str) -> str:
    found = node.attributes.get(name)
    return otherwise if found is None else found.as_string()


def _int(node: ir.Node, name: str) -> int:
    found = node.attributes.get(name)
    return 0 if found is None else found.as_int()
