"""States of recurrences and loops whose shapes are known to different degrees at the entry and in the body.

Each recurrence has a dynamic batch in some inputs and a fixed one in others; each loop a state that starts with one
shape and goes on with another. Compared with ONNX Runtime; layout 1, which it lacks, with its layout 0.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnx.helper as oh
import onnx.parser
import pytest
import tensorflow as tf
from onnx import TensorProto, numpy_helper

import trueport
from tests.cells import grid
from tests.grid.harness import assert_close, run_ort
from tests.models import model_of
from trueport.fidelity import accumulation

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
STATES = {"RNN": 1, "GRU": 1, "LSTM": 2}
INPUT, HIDDEN = 3, 4


class Recurrence(NamedTuple):
    """What is known of the inputs' shapes, and the attributes."""

    op: str
    direction: str = "forward"
    layout: int = 0
    steps: int | None = None
    """None: a dynamic dim"""
    batch: int = 2
    fixed: tuple[str, ...] = ("initial",)
    """inputs with a fixed batch: X, initial, lengths; ``constant`` makes the initial states initializers"""
    lengths: bool = False
    peepholes: bool = False
    computed: bool = False
    """weights and states are computed, of unknown rank"""
    attributes: tuple[tuple[str, Any], ...] = ()


def _recurrences() -> dict[str, Recurrence]:
    cells: dict[str, Recurrence] = {}
    for op in GATES:
        for direction in ("forward", "reverse", "bidirectional"):
            for layout in (0, 1):
                cells[f"{op}-{direction}-layout{layout}-state"] = Recurrence(op, direction, layout, batch=layout + 1)
        for fixed in (("constant",), ("X",), ("lengths",), ("X", "lengths"), ("initial", "lengths"), ()):
            name = "+".join(fixed) or "none"
            cells[f"{op}-fixed-{name}"] = Recurrence(op, fixed=fixed, lengths=True, batch=3)
        for steps in (1, 3, 9):
            cells[f"{op}-{steps}-steps"] = Recurrence(op, steps=steps, batch=1, fixed=("constant",))
        cells[f"{op}-computed"] = Recurrence(op, computed=True)
        cells[f"{op}-computed-reverse"] = Recurrence(op, "reverse", computed=True, lengths=True, fixed=("X",))
        cells[f"{op}-clip"] = Recurrence(op, "bidirectional", attributes=(("clip", 0.3),), fixed=("constant",))
        names = [*("Sigmoid", "Elu", "HardSigmoid")][: {"RNN": 1, "GRU": 2, "LSTM": 3}[op]]
        cells[f"{op}-activations"] = Recurrence(op, batch=1, attributes=(("activations", names),))
    for direction in ("forward", "bidirectional"):
        cells[f"LSTM-peepholes-{direction}"] = Recurrence("LSTM", direction, peepholes=True, fixed=("constant",))
    cells["LSTM-forget"] = Recurrence("LSTM", attributes=(("input_forget", 1),))
    cells["GRU-reset-after"] = Recurrence("GRU", attributes=(("linear_before_reset", 1),), fixed=("constant",))
    return cells


def _arrays(cell: Recurrence, steps: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(steps)
    directions, gates = 2 if cell.direction == "bidirectional" else 1, GATES[cell.op] * HIDDEN

    def some(*shape: int) -> np.ndarray:
        return (random.standard_normal(shape) / 2).astype(np.float32)

    found = {
        "W": some(directions, gates, INPUT),
        "R": some(directions, gates, HIDDEN),
        "B": some(directions, 2 * gates),
        "P": some(directions, 3 * HIDDEN),
    }
    held = np.random.default_rng(99)
    for name in ("h", "c")[: STATES[cell.op]]:
        found[name] = (held.standard_normal((directions, cell.batch, HIDDEN)) / 2).astype(np.float32)
    found["lengths"] = np.array([max(1, steps - k) for k in range(cell.batch)], np.int32)
    return {"X": some(steps, cell.batch, INPUT), **found}


def _recurrent_model(cell: Recurrence, arrays: dict[str, np.ndarray], layout: int) -> onnx.ModelProto:
    batch: dict[str, Any] = {"X": "N", "h": "M", "c": "K", "lengths": "L"}
    for name in ("X", "lengths", *(("h", "c") if {"initial", "constant"} & set(cell.fixed) else ())):
        if name in cell.fixed or name in "hc":
            batch[name] = cell.batch
    x = [batch["X"], cell.steps or "T", INPUT] if layout else [cell.steps or "T", batch["X"], INPUT]
    shapes: dict[str, list[Any]] = {"X": x, "lengths": [batch["lengths"]]}
    for name in ("h", "c"):
        directions = arrays["W"].shape[0]
        shapes[name] = [batch[name], directions, HIDDEN] if layout else [directions, batch[name], HIDDEN]
    states = ["h", "c"][: STATES[cell.op]]
    used = ["X", "W", "R", "B", "lengths" if cell.lengths else "", *states, *(["P"] if cell.peepholes else [])]
    constants = {"W", "R", "B", "P"} | (set(states) if "constant" in cell.fixed else set())
    nodes, names = [], list(used)
    if cell.computed:
        # Of unknown rank: reshaped by a shape that is an input.
        for place, name in enumerate(used):
            if name and name not in ("lengths", "B"):
                nodes.append(oh.make_node("Reshape", [name, f"{name}_shape"], [f"{name}_made"]))
                names[place] = f"{name}_made"
    outputs = ["Y", "Y_h", "Y_c"][: 1 + STATES[cell.op]]
    options = {"layout": layout} if layout else {}
    nodes.append(
        oh.make_node(
            cell.op, names, outputs, "node", hidden_size=HIDDEN, direction=cell.direction, **options,
            **dict(cell.attributes),
        )
    )  # fmt: skip
    types = {"lengths": TensorProto.INT32}
    inputs = [
        oh.make_tensor_value_info(name, types.get(name, TensorProto.FLOAT), shapes[name])
        for name in used
        if name and name not in constants
    ]
    if cell.computed:
        rank = ["rank"]
        inputs += [
            oh.make_tensor_value_info(node.input[1], TensorProto.INT64, rank)
            for node in nodes
            if node.op_type == "Reshape"
        ]
    made = [oh.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    held = [_placed(name, arrays[name], layout) for name in used if name in constants]
    return model_of(nodes, inputs, made, initializers=held)


def _placed(name: str, array: np.ndarray, layout: int) -> onnx.TensorProto:
    return numpy_helper.from_array(array.swapaxes(0, 1) if layout and name in ("h", "c") else array, name)


def _feeds(model: onnx.ModelProto, arrays: dict[str, np.ndarray], layout: int) -> dict[str, np.ndarray]:
    def value(name: str) -> np.ndarray:
        if name.endswith("_shape"):
            return np.array(value(name.removesuffix("_shape")).shape, np.int64)
        array = arrays[name]
        return np.ascontiguousarray(array.swapaxes(0, 1)) if layout and name in ("X", "h", "c") else array

    return {port.name: value(port.name) for port in model.graph.input}


@grid(_recurrences(), quick=6)
def test_recurrent_states(cell: Recurrence, tmp_path: Path) -> None:
    first = _arrays(cell, cell.steps or 5)
    model, plain = (_recurrent_model(cell, first, layout) for layout in (cell.layout, 0))
    trueport.convert(model, verify=False).save(tmp_path / "saved")
    loaded = tf.saved_model.load(str(tmp_path / "saved")).signatures["serving_default"]
    for steps in (cell.steps,) if cell.steps else (1, 5, 7):
        arrays = {**_arrays(cell, steps), **{name: first[name] for name in ("W", "R", "B", "P")}}
        want = run_ort(plain, _feeds(plain, arrays, 0))
        got = loaded(**{name: tf.constant(a) for name, a in _feeds(model, arrays, cell.layout).items()})
        for index, (name, expected) in enumerate(zip(("Y", "Y_h", "Y_c"), want, strict=False)):
            result = got[name].numpy()
            if cell.layout:
                result = np.moveaxis(result, (0, 1, 2), (2, 0, 1)) if index == 0 else result.swapaxes(0, 1)
            assert_close(result, expected, accumulation(), steps * cell.batch * (INPUT + HIDDEN), name)


def test_a_batch_that_differs_from_the_state_is_an_error() -> None:
    """ONNX Runtime refuses it; broadcasting the state would be silent."""
    cell = Recurrence("LSTM", batch=1, fixed=("constant",))
    arrays = _arrays(cell, 5)
    made = trueport.convert(_recurrent_model(cell, arrays, 0), verify=False)
    with pytest.raises(tf.errors.InvalidArgumentError):
        made.model(tf.ones((5, 2, INPUT)))


HEADER = '<ir_version: 10, opset_import: ["" : 22]> g '
LOOPS = {
    "grows": "(float[1] x, int64 m, bool c) => (float[K] y) { y = Loop (m, c, x) <body = b (int64 i, bool g, "
    "float[1] s) => (bool h, float[K] t) { h = Identity(g) t = Concat<axis=0>(s, s) }> }",
    "grows-from-none": "(float[N] x, int64 m, bool c) => (float[K] y) <int64[1] none = {0}> "
    "{ e = ConstantOfShape(none) y = Loop (m, c, e) <body = b (int64 i, bool g, float[K] s) => (bool h, float[L] t) "
    "{ h = Identity(g) t = Concat<axis=0>(s, x) }> }",
    "fixed-then-dynamic": "(float[N,2] x, int64 m, bool c) => (float[N,2] y) <float[1,2] o = {1, 2}> { "
    "y = Loop (m, c, o) <body = b (int64 i, bool g, float[1,2] s) => (bool h, float[N,2] t) "
    "{ h = Identity(g) t = Add(s, x) }> }",
    "rank-grows": "(float[N] x, int64 m, bool c) => (float y) <int64[1] z = {0}> { y = Loop (m, c, x) "
    "<body = b (int64 i, bool g, float s) => (bool h, float t) { h = Identity(g) t = Unsqueeze(s, z) }> }",
    "shrinks": "(float[N] x, int64 m, bool c) => (float[K] y) <int64[1] one = {1}, int64[1] big = {99}> { "
    "y = Loop (m, c, x) <body = b (int64 i, bool g, float[N] s) => (bool h, float[K] t) "
    "{ h = Identity(g) t = Slice(s, one, big) }> }",
    "two-states-swap": "(float[N] x, int64 m, bool c) => (float[K] y, float[L] z) <float[1] o = {7}> { "
    "y, z = Loop (m, c, x, o) <body = b (int64 i, bool g, float[A] s, float[B] u) => "
    "(bool h, float[B] v, float[A] w) { h = Identity(g) v = Identity(u) w = Identity(s) }> }",
    "collected": "(float[N] x, int64 m, bool c) => (float[N] y, float[K,N] z) { y, z = Loop (m, c, x) "
    "<body = b (int64 i, bool g, float[N] s) => (bool h, float[N] t, float[N] q) "
    "{ h = Identity(g) t = Neg(s) q = Identity(s) }> }",
    "integers": "(float[N] x, int64 m, bool c) => (int64[K] y) <int64[1] o = {3}> { y = Loop (m, c, o) "
    "<body = b (int64 i, bool g, int64[1] s) => (bool h, int64[K] t) { h = Identity(g) u = Mul(s, i) "
    "t = Concat<axis=0>(u, s) }> }",
    "scan-state": "(float[T,3] x, int64 m, bool c) => (float[N,3] y, float[T,N,3] z) <float[1,3] o = {1,2,3}> { "
    "y, z = Scan<num_scan_inputs=1, body = b (float[N,3] s, float[3] r) => (float[N,3] t, float[N,3] q) "
    "{ t = Add(s, r) q = Identity(t) }>(o, x) }",
    "scan-of-unknown-rank": "(float[T,3] x, int64 m, bool c) => (float y) <int64[1] p = {3}, float f = {0}> { "
    "k = Unsqueeze(m, z) w = Concat<axis=0>(z, p) e = Reshape(x, w) y = Scan<num_scan_inputs=1, "
    "body = b (float s, float r) => (float t) { q = ReduceSum<keepdims=0>(r) t = Add(s, q) }>(f, e) }",
    "if-ranks-differ": "(float[N] x, int64 m, bool c) => (float y) <int64[1] z = {0}> { y = If (c) <then_branch = a () "
    "=> (float p) { p = Unsqueeze(x, z) }, else_branch = b () => (float q) { q = Relu(x) }> }",
    "if-sizes-differ": "(float[N] x, int64 m, bool c) => (float[K] y) { y = If (c) <then_branch = a () => (float[L] p) "
    "{ p = Concat<axis=0>(x, x) }, else_branch = b () => (float[N] q) { q = Relu(x) }> }",
    "loop-in-loop": "(float[N] x, int64 m, bool c) => (float[K] y) { y = Loop (m, c, x) <body = b (int64 i, bool g, "
    "float[A] s) => (bool h, float[B] t) { h = Identity(g) t = Loop (m, g, s) <body = d (int64 j, bool k, float[D] u) "
    "=> (bool l, float[E] v) { l = Identity(k) v = Concat<axis=0>(u, u) }> }> }",
}


def _loop_model(text: str) -> onnx.ModelProto:
    model = onnx.parser.parse_model(HEADER + text.replace("<int64[1] p", "<int64[1] z = {-1}, int64[1] p"))
    # In the text a tensor without dims is a scalar: here it is one of unknown rank.
    graphs = [model.graph]
    while graphs:
        graph = graphs.pop()
        graphs += [a.g for node in graph.node for a in node.attribute if a.HasField("g")]
        for value in (*(graph.input if graph is not model.graph else ()), *graph.output):
            tensor = value.type.tensor_type
            if tensor.elem_type == TensorProto.FLOAT and not tensor.shape.dim:
                tensor.ClearField("shape")
    return model


@grid(LOOPS, quick=3)
def test_loop_states(cell: str, tmp_path: Path) -> None:
    model = _loop_model(cell)
    trueport.convert(model, verify=False).save(tmp_path / "saved")
    loaded = tf.saved_model.load(str(tmp_path / "saved")).signatures["serving_default"]
    dims = [d.dim_value or 0 for d in model.graph.input[0].type.tensor_type.shape.dim]
    for size, count in ((1, 0), (2, 1), (3, 2), (5, 3)):
        shape = [dim or size for dim in dims]
        x = np.arange(1, np.prod(shape) + 1, dtype=np.float32).reshape(shape)
        feeds = {"x": x, "m": np.array(count), "c": np.array(size != 2)}
        used = {name for name in feeds if any(name == port.name for port in model.graph.input)}
        want = run_ort(model, {name: feeds[name] for name in used})
        got = loaded(**{name: tf.constant(feeds[name]) for name in used})
        for port, expected in zip(model.graph.output, want, strict=True):
            np.testing.assert_array_equal(got[port.name].numpy(), expected, strict=True)
