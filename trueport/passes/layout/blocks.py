"""The rule for Reshape and Flatten: axes that are split or merged among themselves move as one block.

``(N, C, H, W) → (N, g, C/g, H, W)`` splits C alone, so channel-last data is reshaped as ``(N, H, W, g, C/g)``.
Axes of size 1 stand anywhere. Dims are compared as products of a number and symbols, so the batch may be dynamic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import onnx_ir as ir

from trueport.ir.layouts import Perm, channels_last, identity
from trueport.passes.layout.plan import Plan, dims_of, padded, rank_of
from trueport.passes.layout.workshop import Workshop

__all__ = ["Reshaped"]


@dataclass(frozen=True)
class _Product:
    """A number times symbols: the size of some axes."""

    number: int
    symbols: tuple[str, ...] = ()

    def __mul__(self, other: _Product) -> _Product:
        return _Product(self.number * other.number, tuple(sorted(self.symbols + other.symbols)))

    def over(self, other: _Product) -> _Product | None:
        """The quotient where it is a whole product."""
        mine, others = Counter(self.symbols), Counter(other.symbols)
        if self.number % other.number or others - mine:
            return None
        return _Product(self.number // other.number, tuple(sorted((mine - others).elements())))


_ONE = _Product(1)


@dataclass(frozen=True)
class _Blocks:
    """Input axes and output axes of the same size, block by block; unit axes belong to none."""

    sources: tuple[_Product, ...]
    targets: tuple[_Product, ...]
    pairs: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]

    def order(self, perm: Perm, side: int) -> tuple[int, ...] | None:
        """The order of the blocks in permuted data, if it leaves each of them whole."""
        sizes = (self.sources, self.targets)[side]
        axes = [axis for axis in perm if sizes[axis] != _ONE]
        found = []
        block_of = {pair[side][0]: block for block, pair in enumerate(self.pairs)}
        while axes:
            block = block_of.get(axes[0])
            if block is None:
                return None
            members = self.pairs[block][side]
            if tuple(axes[: len(members)]) != members:
                return None
            found.append(block)
            axes = axes[len(members) :]
        return tuple(found)

    def perm(self, order: Sequence[int], side: int) -> Perm:
        """A permutation with the blocks in this order: a usual one when it fits, unit axes in their old places."""
        sizes = (self.sources, self.targets)[side]
        rank = len(sizes)
        for usual in (identity(rank), *([channels_last(rank)] if rank > 2 else [])):
            if self.order(usual, side) == tuple(order):
                return usual
        axes = [axis for block in order for axis in self.pairs[block][side]]
        for axis in range(rank):
            if sizes[axis] == _ONE:
                axes.insert(axis, axis)
        return tuple(axes)


class Reshaped:
    """Reshape and Flatten, whose shapes must be known but for symbols."""

    def of_input(self, node: ir.Node, index: int, perm: Perm) -> Plan | None:
        blocks = _blocks(node) if index == 0 else None
        order = blocks.order(perm, 0) if blocks else None
        return None if blocks is None or order is None else _plan(node, blocks, perm, blocks.perm(order, 1))

    def of_output(self, node: ir.Node, perm: Perm) -> Plan | None:
        blocks = _blocks(node)
        order = blocks.order(perm, 1) if blocks else None
        return None if blocks is None or order is None else _plan(node, blocks, blocks.perm(order, 0), perm)


def _plan(node: ir.Node, blocks: _Blocks, source: Perm, target: Perm) -> Plan | None:
    held = [blocks.sources[axis] for axis in source]
    shape: list[int] = []
    for place, axis in enumerate(target):
        size = blocks.targets[axis]
        if not size.symbols:
            shape.append(size.number)
        else:
            shape.append(0 if place < len(held) and held[place] == size else -1)
    if shape.count(-1) > 1:
        return None

    def edit(node: ir.Node, shop: Workshop) -> None:
        node.op_type = "Reshape"
        node.attributes.clear()
        shop.set_input(node, 1, shop.ints(node, "shape", shape))

    return Plan(padded([source], len(node.inputs)), (target,), edit)


def _blocks(node: ir.Node) -> _Blocks | None:
    source, target = node.inputs[0], node.outputs[0]
    if source is None or rank_of(source) is None or rank_of(target) is None:
        return None
    sizes = [_Product(d) if isinstance(d, int) else _Product(1, (d or f"?{i}",)) for i, d in enumerate(dims_of(source))]
    made = _target_sizes(sizes, dims_of(target))
    if made is None or any(size.number == 0 for size in (*sizes, *made)):
        return None
    pairs = _pair(sizes, made)
    return None if pairs is None else _Blocks(tuple(sizes), tuple(made), pairs)


def _target_sizes(sources: Sequence[_Product], dims: Sequence[int | str | None]) -> list[_Product] | None:
    """The output's dims; the one that inference left open is what remains of the whole."""
    known = {symbol for size in sources for symbol in size.symbols}
    sizes = [_Product(d) if isinstance(d, int) else _Product(1, (d,)) if d in known else None for d in dims]
    whole, fixed = _ONE, _ONE
    for source in sources:
        whole *= source
    for size in sizes:
        fixed *= size or _ONE
    if sizes.count(None) > 1 or fixed.number == 0:
        return None
    rest = whole.over(fixed)
    return None if rest is None else [rest if size is None else size for size in sizes]


def _pair(
    sources: Sequence[_Product], targets: Sequence[_Product]
) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] | None:
    ins = [axis for axis, size in enumerate(sources) if size != _ONE]
    outs = [axis for axis, size in enumerate(targets) if size != _ONE]
    pairs = []
    while ins and outs:
        left, right = [ins.pop(0)], [outs.pop(0)]
        have, want = sources[left[0]], targets[right[0]]
        while have != want:
            short, sizes, taken = (ins, sources, left) if want.over(have) else (outs, targets, right)
            if not short:
                return None
            taken.append(short.pop(0))
            if sizes is sources:
                have *= sources[taken[-1]]
            else:
                want *= targets[taken[-1]]
        pairs.append((tuple(left), tuple(right)))
    return None if ins or outs else tuple(pairs)
