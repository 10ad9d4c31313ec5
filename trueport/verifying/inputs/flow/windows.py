"""Shapes behind products, windows, interpolation and recurrences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trueport.verifying.inputs.flow.flow import Call, Rule
from trueport.verifying.inputs.flow.known import UNKNOWN, Known, Number, count_elements, is_varying, remainder
from trueport.verifying.inputs.flow.shapes import broadcast

__all__ = ["WINDOW_RULES"]

_MAX_REST = 3


def _conv(weight: int) -> Rule:
    def rule(call: Call) -> Sequence[Known]:
        x, w = call.input(0).shape, call.input(weight).shape
        if x is None or w is None or len(w) < 3:
            return [UNKNOWN]
        kernel = call.integers("kernel_shape") or [dim for dim in w[2:] if isinstance(dim, int)]
        if len(kernel) != len(x) - 2:
            return [UNKNOWN]
        call.agree(x[1], w[1] * call.integer("group", 1) if isinstance(w[1], int) else None)
        shape = (x[0], w[0], *_windows(call, x[2:], kernel))
        call.flow.spend(count_elements(shape) * count_elements(w[1:]))
        return [Known(shape)]

    return rule


def _pool(call: Call) -> Sequence[Known]:
    x = call.input(0).shape
    if x is None:
        return [UNKNOWN]
    kernel = call.integers("kernel_shape")
    shape = (*x[:2], *_windows(call, x[2:], kernel, ceil=call.integer("ceil_mode", 0)))
    call.flow.spend(count_elements(shape) * float(np.prod(kernel)))
    return [Known(shape)] * len(call.node.outputs)


def _windows(call: Call, sizes: Sequence[Number | None], kernel: Sequence[int], ceil: int = 0) -> list[Number | None]:
    count = len(kernel)
    strides, dilations = call.integers("strides", [1] * count), call.integers("dilations", [1] * count)
    pads, auto = call.integers("pads", [0] * (2 * count)), call.text("auto_pad", "NOTSET")
    made: list[Number | None] = []
    for axis, size in enumerate(sizes):
        stride, reach = strides[axis], (kernel[axis] - 1) * dilations[axis] + 1
        if size is None:
            made.append(None)
            continue
        call.flow.note(reach)
        call.flow.note(stride)
        if auto.startswith("SAME"):
            padded = np.asarray(size) + stride - 1
            made.append(_as_size(padded // stride))
            call.decide(f"stride {stride}", np.minimum(np.asarray(size) % stride, _MAX_REST))
            continue
        padded = np.asarray(size) + (0 if auto == "VALID" else pads[axis] + pads[axis + count]) - reach
        call.refuse(padded < 0)
        if stride > 1:
            call.decide(f"stride {stride}", np.minimum(padded % stride, _MAX_REST))
        if is_varying(size) and reach > 1:
            call.decide(f"window of {reach}", np.clip(np.asarray(size) - reach, -1, 2))
        made.append(_as_size((-(-padded // stride) if ceil else padded // stride) + 1))
    return made


def _as_size(number: np.ndarray) -> Number:
    return int(number) if number.ndim == 0 else number.astype(np.int64)


def _transposed(call: Call) -> Sequence[Known]:
    x, w = call.input(0).shape, call.input(1).shape
    if x is None or w is None or "output_shape" in call.node.attributes:
        return [UNKNOWN]
    kernel = call.integers("kernel_shape") or [dim for dim in w[2:] if isinstance(dim, int)]
    count = len(kernel)
    if count != len(x) - 2 or not isinstance(w[1], int):
        return [UNKNOWN]
    strides, dilations = call.integers("strides", [1] * count), call.integers("dilations", [1] * count)
    pads, extra = call.integers("pads", [0] * (2 * count)), call.integers("output_padding", [0] * count)
    same = call.text("auto_pad", "NOTSET").startswith("SAME")
    made: list[Number | None] = []
    for axis, size in enumerate(x[2:]):
        reach = (kernel[axis] - 1) * dilations[axis] + 1
        grown = None if size is None else strides[axis] * (np.asarray(size) - 1) + extra[axis] + reach
        if grown is not None and same:
            grown = np.asarray(size) * strides[axis]
        elif grown is not None:
            grown = grown - pads[axis] - pads[axis + count]
        made.append(None if grown is None else _as_size(np.asarray(grown)))
    shape = (x[0], w[1] * call.integer("group", 1), *made)
    call.flow.spend(count_elements(shape) * count_elements([w[0], *kernel]))
    return [Known(shape)]


def _global(call: Call) -> Sequence[Known]:
    x = call.input(0).shape
    return [UNKNOWN if x is None else Known((*x[:2], *[1] * (len(x) - 2)))]


def _product(call: Call) -> Sequence[Known]:
    second = 3 if call.node.op_type == "QLinearMatMul" else 1
    a, b = call.input(0).shape, call.input(second).shape
    if a is None or b is None or len(a) < 1 or len(b) < 1:
        return [UNKNOWN]
    inner = call.agree(a[-1], b[-2] if len(b) > 1 else b[0])
    if len(a) == 1 or len(b) == 1:
        return [Known((*a[:-1],) if len(b) == 1 else (*b[:-2], b[-1]))]
    lead = _lead(call, a[:-2], b[:-2])
    shape = (*lead, a[-2], b[-1])
    call.flow.spend(count_elements(shape) * count_elements([inner]))
    return [Known(shape)]


def _lead(call: Call, a: Sequence[Number | None], b: Sequence[Number | None]) -> tuple[Number | None, ...]:
    if not a or not b:
        return tuple(a or b)
    stand_in = Call(call.flow, call.node, [Known(tuple(a)), Known(tuple(b))])
    made = broadcast(stand_in) if len(call.node.inputs) == 2 else UNKNOWN
    return made.shape if made.shape is not None else (None,) * max(len(a), len(b))


def _gemm(call: Call) -> Sequence[Known]:
    a, b = call.input(0).shape, call.input(1).shape
    if a is None or b is None or len(a) != 2 or len(b) != 2:
        return [UNKNOWN]
    rows, inner = a[::-1] if call.integer("transA", 0) else a
    other, columns = b[::-1] if call.integer("transB", 0) else b
    inner = call.agree(inner, other)
    call.flow.spend(count_elements([rows, inner, columns]))
    return [Known((rows, columns))]


def _einsum(call: Call) -> Sequence[Known]:
    equation = call.text("equation").replace(" ", "")
    if "." in equation or "->" not in equation:
        return [UNKNOWN]
    left, right = equation.split("->")
    for held in call.inputs:
        call.needs_elements(held.shape)
    sizes: dict[str, Number | None] = {}
    for letters, held in zip(left.split(","), call.inputs, strict=False):
        for letter, dim in zip(letters, held.shape or (), strict=False):
            sizes[letter] = call.agree(sizes.get(letter), dim)
    call.flow.spend(count_elements(list(sizes.values())))
    return [Known(tuple(sizes.get(letter) for letter in right))]


def _recurrence(call: Call) -> Sequence[Known]:
    x, w = call.input(0).shape, call.input(1).shape
    hidden = call.integer("hidden_size", 0)
    if x is None or w is None or len(x) != 3 or not hidden:
        return [UNKNOWN] * len(call.node.outputs)
    call.needs_elements(x)
    steps, batch = (x[1], x[0]) if call.integer("layout", 0) else (x[0], x[1])
    call.agree(x[2], w[2])
    for index in (5, 6):
        state = call.input(index).shape
        if call.has(index) and state is not None and len(state) == 3:
            batch = call.agree(batch, state[0 if call.integer("layout", 0) else 1])
    lengths = call.input(4).shape
    if call.has(4) and lengths:
        batch = call.agree(batch, lengths[0])
    for size, what in ((steps, "steps"), (batch, "rows")):
        if is_varying(size):
            call.decide(what, np.minimum(np.asarray(size), 3))
    call.flow.spend(count_elements([steps, batch, x[2], hidden]) * 8)
    ways = w[0]
    if call.integer("layout", 0):
        return [Known((batch, steps, ways, hidden)), *[Known((batch, ways, hidden))] * 2]
    return [Known((steps, ways, batch, hidden)), *[Known((ways, batch, hidden))] * 2]


def _resize(call: Call) -> Sequence[Known]:
    shape = call.input(0).shape
    if shape is None or call.text("keep_aspect_ratio_policy", "stretch") != "stretch":
        return [UNKNOWN]
    old = call.node.op_type == "Upsample"
    axes = call.integers("axes", range(len(shape)))
    dims: list[Number | None] = list(shape)
    sizes = None if old or not call.has(3) else call.input(3).elements
    scales = call.constants(1 if old else 2) if sizes is None else None
    for place, axis in enumerate(axes):
        size = dims[axis]
        if sizes:
            dims[axis] = sizes[place]
        elif size is None or not scales:
            dims[axis] = None
        elif scales[place] != 1:
            exact = np.asarray(size, np.float64) * scales[place]
            call.decide(f"scaled by {scales[place]:g}", np.ceil((exact - np.floor(exact)) * 2))
            dims[axis] = _as_size(np.floor(exact).astype(np.int64))
    return [Known(tuple(dims))]


def _blocks(call: Call) -> Sequence[Known]:
    x, block = call.input(0).shape, call.integer("blocksize", 1)
    if x is None or len(x) != 4:
        return [UNKNOWN]
    if call.node.op_type == "DepthToSpace":
        return [Known((x[0], _divided(x[1], block**2), *(None if dim is None else dim * block for dim in x[2:])))]
    for dim in x[2:]:
        if dim is not None:
            call.refuse(np.asarray(dim) % block != 0)
            call.flow.note(block)
            if is_varying(dim):
                call.decide(f"blocks of {block}", remainder(np.asarray(dim) // block, 2))
    return [Known((x[0], None if x[1] is None else x[1] * block**2, *(_divided(dim, block) for dim in x[2:])))]


def _divided(dim: Number | None, by: int) -> Number | None:
    return None if dim is None else _as_size(np.asarray(dim) // by)


def _first(call: Call) -> Sequence[Known]:
    held: Any = call.input(0)
    return [Known(held.shape)]


WINDOW_RULES: Mapping[str, Rule] = {
    "Conv": _conv(1),
    "ConvInteger": _conv(1),
    "QLinearConv": _conv(3),
    "ConvTranspose": _transposed,
    **dict.fromkeys(("MaxPool", "AveragePool", "LpPool"), _pool),
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"), _global),
    **dict.fromkeys(("MatMul", "MatMulInteger", "QLinearMatMul"), _product),
    "Gemm": _gemm,
    "Einsum": _einsum,
    **dict.fromkeys(("LSTM", "GRU", "RNN"), _recurrence),
    **dict.fromkeys(("Resize", "Upsample"), _resize),
    **dict.fromkeys(("DepthToSpace", "SpaceToDepth"), _blocks),
    **dict.fromkeys(("QuantizeLinear", "DequantizeLinear", "Dropout"), _first),
}
