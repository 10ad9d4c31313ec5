"""Control flow: branches and loops with bodies of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.build.dtypes import tf_dtype
from trueport.backends.tensorflow.build.passage import narrowed, wide_dtype, widened
from trueport.backends.tensorflow.kernels import lists
from trueport.backends.tensorflow.kernels.axes import from_front, to_front
from trueport.backends.tensorflow.kernels.loops import Collected, passing, shapes_of_steps
from trueport.fidelity import BITWISE
from trueport.mapping.declare import maps

__all__: list[str] = []

_ENDLESS = 2**31 - 1
"""Exporters give a count this large to a loop that only its condition ends."""


@maps("If", fidelity=BITWISE, audited=25)
def if_(t: Emission, cond: Tensor, *, then_branch: ir.Graph, else_branch: ir.Graph) -> list[Any]:
    known = t.static(cond)
    if known is not None:
        return t.run(then_branch if known.item() else else_branch)
    made = tf.cond(
        tf.reshape(cond, []),
        lambda: [widened(value) for value in t.run(then_branch)],
        lambda: [widened(value) for value in t.run(else_branch)],
    )
    return [narrowed(x, t.output_dtype(i)) if tf.is_tensor(x) else x for i, x in enumerate(made)]


@maps("Loop", fidelity=BITWISE, audited=25)
def loop(t: Emission, M: Tensor | None, cond: Tensor | None, *v_initial: Any, body: ir.Graph) -> list[Any]:
    limit, most = _limit(t, M)
    going = tf.constant(True) if cond is None else tf.reshape(cond, [])
    width = len(v_initial)
    kinds = body.inputs[2:]

    def step(i: Tensor, go: Tensor, *carried: Any) -> tuple[list[Any], list[Any]]:
        index, flag = (_ranked(x, formal) for x, formal in zip((i, go), body.inputs[:2], strict=True))
        go_on, *results = t.run(body, index, flag, *carried)
        # Without a condition the loop asks only for the count, whatever the body says.
        after = tf.identity(go) if cond is None else tf.reshape(go_on, [])
        return [i + 1, after, *map(_as, results[:width], body.outputs[1:], kinds)], results[width:]

    start = [tf.constant(0, tf.int64), going, *map(_as, v_initial, t.node.inputs[2:], kinds)]
    step, start, back = passing(step, start)
    shapes, given = shapes_of_steps(step, start)
    count = limit if cond is None or _never_ends(t, cond, body) else None
    outputs = [Collected(x.dtype, x.shape, count) for x in given]

    def more(carried: list[Any], _: Any) -> Tensor:
        i, go, *_rest = carried
        return go if limit is None else tf.logical_and(i < limit, go)

    def advance(carried: list[Any], made: list[Any]) -> tuple[list[Any], list[Any]]:
        after, values = step(*carried)
        return after, _added(outputs, made, [carried[0]] * len(values), values)

    final, made = _while(more, advance, start, shapes, outputs, most)
    return [
        *map(_as, back(final)[2:], kinds, t.node.outputs),
        *(o.stacked(m) for o, m in zip(outputs, made, strict=True)),
    ]


@maps("Scan", fidelity=BITWISE, audited=25)
def scan(
    t: Emission,
    *initial_state_and_scan_inputs: Any,
    body: ir.Graph,
    num_scan_inputs: int,
    scan_input_axes: list[int] | None,
    scan_input_directions: list[int] | None,
    scan_output_axes: list[int] | None,
    scan_output_directions: list[int] | None,
) -> list[Any]:
    width = len(initial_state_and_scan_inputs) - num_scan_inputs
    states, scanned = initial_state_and_scan_inputs[:width], initial_state_and_scan_inputs[width:]
    in_axes = scan_input_axes or [0] * num_scan_inputs
    backward = scan_input_directions or [0] * num_scan_inputs
    rows = [to_front(x, axis) for x, axis in zip(scanned, in_axes, strict=True)]
    count = _first_dim(rows[0])
    listed = [lists.from_rows(widened(x)) for x in rows]

    def step(i: Tensor, *carried: Any) -> tuple[list[Any], list[Any]]:
        elements = [
            _row(x, rows_of, count - 1 - i if back else i)
            for x, rows_of, back in zip(rows, listed, backward, strict=True)
        ]
        results = t.run(body, *carried, *elements)
        return [i + 1, *results[:width]], results[width:]

    start = [tf.constant(0), *states]
    step, start, back = passing(step, start)
    shapes, given = shapes_of_steps(step, start)
    outputs = [Collected(x.dtype, x.shape, count) for x in given]
    reverse = scan_output_directions or [0] * len(outputs)

    def advance(carried: list[Any], made: list[Any]) -> tuple[list[Any], list[Any]]:
        after, values = step(*carried)
        places = [count - 1 - carried[0] if back else carried[0] for back in reverse]
        return after, _added(outputs, made, places, values)

    final, made = _while(lambda carried, _: carried[0] < count, advance, start, shapes, outputs, t.static(count))
    stacks = [output.stacked(m) for output, m in zip(outputs, made, strict=True)]
    out_axes = scan_output_axes or [0] * len(outputs)
    return [*back(final)[1:], *(from_front(x, axis) for x, axis in zip(stacks, out_axes, strict=True))]


def _while(
    more: Any, advance: Any, start: list[Any], shapes: list[Any], outputs: Sequence[Collected], most: Any
) -> Any:
    """The loop; ``most`` steps at most where that is known, which lets XLA keep what a gradient needs."""
    made = [o.start() for o in outputs]
    invariants = (shapes, tf.nest.map_structure(lambda _: tf.TensorShape([]), made))
    limit = most if most is not None and most < _ENDLESS else None
    return tf.while_loop(more, advance, (start, made), shape_invariants=invariants, maximum_iterations=limit)


def _limit(t: Emission, M: Tensor | None) -> tuple[Tensor | None, int | None]:
    """The most steps that the loop may take, and that number where it is known."""
    known = t.static(M)
    if known is None:
        return None if M is None else tf.maximum(tf.reshape(tf.cast(M, tf.int64), []), 0), None
    most = max(int(known.item()), 0)
    return tf.constant(most, tf.int64), most


def _never_ends(t: Emission, cond: Tensor, body: ir.Graph) -> bool:
    """Whether the condition holds at every step: exporters write a counted loop with one that is always true."""
    known = t.static(cond)
    after = body.outputs[0]
    while (made_by := after.producer()) is not None and made_by.op_type == "Identity" and made_by.inputs[0]:
        after = made_by.inputs[0]
    constant = after.const_value is not None and bool(after.const_value.numpy().item())
    return known is not None and bool(known.item()) and (constant or after is body.inputs[1])


def _added(outputs: Sequence[Collected], made: Sequence[Any], places: Sequence[Any], values: Sequence[Any]) -> Any:
    return [o.add(m, at, v) for o, m, at, v in zip(outputs, made, places, values, strict=True)]


def _as(value: Any, have: ir.Value | None, want: ir.Value) -> Any:
    """A loop may be given an optional and carry on with what is in it: both go round as an optional."""
    has, wants = (isinstance(v.type, ir.OptionalType) if v is not None else False for v in (have, want))
    if has == wants:
        return value
    assert want.dtype is not None
    dtype = tf_dtype(want.dtype)
    if wants:
        return lists.some(value, dtype)
    if not isinstance(want.type, ir.SequenceType):
        return lists.get(value, 0, dtype)
    return tf.cond(lists.length(value) > 0, lambda: lists.inner_list(value, dtype), lambda: lists.empty(dtype))


def _ranked(scalar: Tensor, formal: ir.Value) -> Tensor:
    """The iteration number and the condition may be declared as vectors of one."""
    return tf.reshape(scalar, [1] * len(formal.shape)) if formal.shape is not None else scalar


def _row(rows: Tensor, listed: Any, index: Tensor) -> Tensor:
    item = tf.raw_ops.TensorListGetItem(
        input_handle=listed.handle,
        index=index,
        element_shape=lists.element_shape(rows.shape[1:]),
        element_dtype=wide_dtype(rows.dtype),
    )
    return narrowed(item, rows.dtype)


def _first_dim(tensor: Tensor) -> Tensor:
    known = None if tensor.shape.rank is None else tensor.shape[0]
    return tf.shape(tensor)[0] if known is None else tf.constant(known)
