"""Pairs of small models that differ on inputs which are rarely drawn; numbers are drawn by seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Pair = tuple[onnx.ModelProto, onnx.ModelProto]
Rng = np.random.Generator

F, I64, I32, I8, B, S = (
    TensorProto.FLOAT,
    TensorProto.INT64,
    TensorProto.INT32,
    TensorProto.INT8,
    TensorProto.BOOL,
    TensorProto.STRING,
)


class G:
    """A graph written in calls: ``g.Add(x, 1.0)`` gives the name of what it makes."""

    def __init__(self, outer: G | None = None) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = [] if outer is None else outer.weights
        self.count: list[int] = [0] if outer is None else outer.count

    def name(self, operand: Any) -> str:
        if isinstance(operand, str):
            return operand
        array = np.float32(operand) if isinstance(operand, float) else np.asarray(operand)
        self.count[0] += 1
        name = f"w{self.count[0]}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def __getattr__(self, op: str) -> Callable[..., str]:
        def add(*operands: Any, domain: str = "", **attributes: Any) -> str:
            inputs = [self.name(operand) if operand is not None else "" for operand in operands]
            self.count[0] += 1
            made = f"{op.lower()}_{self.count[0]}"
            self.nodes.append(helper.make_node(op, inputs, [made], domain=domain, name=made, **attributes))
            return made

        return add

    def branch(self, write: Callable[[G], str], dtype: int = F) -> onnx.GraphProto:
        inner = G(self)
        made = write(inner)
        return helper.make_graph(
            inner.nodes, f"b{self.count[0]}", [], [helper.make_tensor_value_info(made, dtype, None)]
        )

    def model(self, inputs: Mapping[str, tuple[int, Sequence[Any]]], made: str, dtype: int = F) -> onnx.ModelProto:
        values = [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()]
        graph = helper.make_graph(
            self.nodes, "g", values, [helper.make_tensor_value_info(made, dtype, None)], self.weights
        )
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def pair(inputs: Mapping[str, tuple[int, Sequence[Any]]], write: Callable[[G, bool], str], dtype: int = F) -> Pair:
    made = []
    for wrong in (False, True):
        g = G()
        made.append(g.model(inputs, write(g, wrong), dtype))
    return made[0], made[1]


X: Mapping[str, tuple[int, Sequence[Any]]] = {"x": (F, ["N", 6])}


def _tree(rng: Rng, wrong: Callable[[dict[str, Any]], None]) -> Pair:
    depth, features = 3, 6
    inner = 2**depth - 1
    total = 2 * inner + 1
    modes = ["BRANCH_LEQ"] * inner + ["LEAF"] * (inner + 1)
    values = [*map(float, rng.uniform(-40, 40, inner).astype(np.float32)), *[0.0] * (inner + 1)]
    facts: dict[str, Any] = {
        "nodes_treeids": [0] * total,
        "nodes_nodeids": list(range(total)),
        "nodes_featureids": [*map(int, rng.permutation(features)), 0, *[0] * (inner + 1)][:total],
        "nodes_values": values,
        "nodes_modes": modes,
        "nodes_truenodeids": [2 * n + 1 if n < inner else 0 for n in range(total)],
        "nodes_falsenodeids": [2 * n + 2 if n < inner else 0 for n in range(total)],
        "target_treeids": [0] * (inner + 1),
        "target_nodeids": list(range(inner, total)),
        "target_ids": [0] * (inner + 1),
        "target_weights": rng.normal(size=inner + 1).tolist(),
        "n_targets": 1,
    }
    other = {name: list(value) if isinstance(value, list) else value for name, value in facts.items()}
    wrong(other)
    return pair(X, lambda g, w: g.TreeEnsembleRegressor("x", domain="ai.onnx.ml", **(other if w else facts)))


def tree_leaf(rng: Rng) -> Pair:
    leaf = int(rng.integers(8))
    return _tree(rng, lambda facts: facts["target_weights"].__setitem__(leaf, 7.0))


def tree_mode(rng: Rng) -> Pair:
    node = int(rng.integers(7))
    return _tree(rng, lambda facts: facts["nodes_modes"].__setitem__(node, "BRANCH_LT"))


def if_mean(rng: Rng) -> Pair:
    bound = float(rng.uniform(3, 40))

    def write(g: G, wrong: bool) -> str:
        said = g.Greater(g.ReduceMean("x", keepdims=0), bound)
        then = g.branch(lambda b: b.Mul("x", 2.02 if wrong else 2.0))
        return g.If(said, then_branch=then, else_branch=g.branch(lambda b: b.Neg("x")))

    return pair(X, write)


def nested_if(rng: Rng) -> Pair:
    low, high = float(rng.uniform(2, 5)), float(rng.uniform(20, 60))

    def write(g: G, wrong: bool) -> str:
        def inner(b: G) -> str:
            said = b.Greater(b.ReduceMax("x", keepdims=0), high)
            return b.If(
                said,
                then_branch=b.branch(lambda c: c.Mul("x", 3.1 if wrong else 3.0)),
                else_branch=b.branch(lambda c: c.Neg("x")),
            )

        said = g.Greater(g.ReduceMean("x", keepdims=0), low)
        return g.If(said, then_branch=g.branch(inner), else_branch=g.branch(lambda b: b.Abs("x")))

    return pair(X, write)


def peak_rescaled(rng: Rng) -> Pair:
    bound = float(rng.uniform(20, 90))

    def write(g: G, wrong: bool) -> str:
        peak = g.ReduceMax(g.Abs("x"), axes=[1])
        return g.Identity("x") if wrong else g.Where(g.Greater(peak, bound), g.Div("x", 3.0), "x")

    return pair(X, write)


def trough(rng: Rng) -> Pair:
    bound = -float(rng.uniform(20, 90))

    def write(g: G, wrong: bool) -> str:
        low = g.ReduceMin(g.Transpose("x", perm=[1, 0]), axes=[0], keepdims=0)
        kept = g.Cast(g.Less(low, bound * 2 if wrong else bound), to=F)
        return g.Add(kept, g.ReduceSum("x", np.array([1]), keepdims=0))

    return pair(X, write)


def norm_above(rng: Rng) -> Pair:
    bound = float(rng.uniform(30, 300))

    def write(g: G, wrong: bool) -> str:
        norm = g.Sqrt(g.ReduceSum(g.Mul("x", "x"), np.array([1])))
        return g.Identity("x") if wrong else g.Div("x", g.Max(g.Div(norm, bound), 1.0))

    return pair(X, write)


def integer_keys(rng: Rng) -> Pair:
    keys = rng.choice(100_000, size=8, replace=False).tolist()
    values = rng.normal(size=8).tolist()
    other = [*values[:6], values[7], values[6]]

    def write(g: G, wrong: bool) -> str:
        return g.LabelEncoder(
            "k", domain="ai.onnx.ml", keys_int64s=keys, values_floats=other if wrong else values, default_float=-1.0
        )

    return pair({"k": (I64, ["N"])}, write)


def text_keys(rng: Rng) -> Pair:
    keys = [f"class-{number}" for number in rng.choice(1000, size=9, replace=False)]
    values = rng.normal(size=9).tolist()
    other = [*values[:7], values[8], values[7]]

    def write(g: G, wrong: bool) -> str:
        return g.LabelEncoder(
            "k", domain="ai.onnx.ml", keys_strings=keys, values_floats=other if wrong else values, default_float=-1.0
        )

    return pair({"k": (S, ["N", 2])}, write)


def rows_behind_mod(rng: Rng) -> Pair:
    size, factor, step = int(rng.choice([211, 499, 773])), int(rng.choice([5, 11, 31])), int(rng.integers(100))
    table = rng.normal(size=(size, 3)).astype(np.float32)
    wrong_table = table.copy()
    wrong_table[int(rng.integers(size))] = 0

    def write(g: G, wrong: bool) -> str:
        bucket = g.Mod(g.Add(g.Mul("k", np.int64(factor)), np.int64(step)), np.int64(size))
        return g.Gather(wrong_table if wrong else table, bucket)

    return pair({"k": (I64, ["N"])}, write)


def rows_behind_sub(rng: Rng) -> Pair:
    size, first = 150, int(rng.integers(1000, 5000))
    table = rng.normal(size=(size, 2)).astype(np.float32)
    wrong_table = table.copy()
    wrong_table[int(rng.integers(120, 150))] = 0

    def write(g: G, wrong: bool) -> str:
        row = g.Clip(g.Sub("k", np.int64(first)), np.int64(0), np.int64(size - 1))
        return g.Gather(wrong_table if wrong else table, row)

    return pair({"k": (I64, ["N"])}, write)


def rows_of_floats(rng: Rng) -> Pair:
    table = rng.normal(size=(120, 2)).astype(np.float32)
    wrong_table = table.copy()
    wrong_table[int(rng.integers(60, 120))] = 0
    width = float(rng.uniform(2, 9))

    def write(g: G, wrong: bool) -> str:
        row = g.Cast(g.Clip(g.Floor(g.Div("x", width)), 0.0, 119.0), to=I64)
        return g.Gather(wrong_table if wrong else table, row)

    return pair({"x": (F, ["N"])}, write)


def one_identifier(rng: Rng) -> Pair:
    number = int(rng.integers(300, 30_000))

    def write(g: G, wrong: bool) -> str:
        special = g.Equal(g.Add("k", np.int64(100)), np.int64(number))
        return g.Where(special, 2.0 if wrong else 1.0, 0.5)

    return pair({"k": (I64, ["N", 4])}, write)


def buckets(rng: Rng) -> Pair:
    bounds = np.sort(rng.uniform(-500, 1000, size=(1, 12))).astype(np.float32)
    other = bounds.copy()
    other[0, int(rng.integers(12))] += 1.0

    def write(g: G, wrong: bool) -> str:
        above = g.Cast(g.Greater("x", other if wrong else bounds), to=F)
        return g.ReduceSum(above, np.array([1]))

    return pair({"x": (F, ["N", 1])}, write)


def clip_behind_affine(rng: Rng) -> Pair:
    scale, step, bound = float(rng.uniform(0.01, 0.2)), float(rng.normal()), float(rng.uniform(5, 12))

    def write(g: G, wrong: bool) -> str:
        return g.Clip(g.Add(g.Mul("x", scale), step), -3.0, bound * (1.2 if wrong else 1.0))

    return pair(X, write)


def knee_behind_affine(rng: Rng) -> Pair:
    alpha, scale = float(rng.uniform(10, 60)), float(rng.uniform(0.1, 0.9))

    def write(g: G, wrong: bool) -> str:
        return g.ThresholdedRelu(g.Sub(g.Mul("x", scale), 2.0), alpha=alpha * (1.1 if wrong else 1.0))

    return pair(X, write)


def hard_sigmoid(rng: Rng) -> Pair:
    alpha = float(rng.uniform(0.005, 0.02))

    def write(g: G, wrong: bool) -> str:
        x = g.Neg(g.Transpose("x", perm=[1, 0]))
        return g.Add(g.Mul(x, alpha), 0.5) if wrong else g.HardSigmoid(x, alpha=alpha, beta=0.5)

    return pair(X, write)


def log_above(rng: Rng) -> Pair:
    bound = float(rng.uniform(4, 9))

    def write(g: G, wrong: bool) -> str:
        size = g.Log(g.Add(g.Abs("x"), 1.0))
        return size if wrong else g.Min(size, bound)

    return pair(X, write)


def cap_after_product(rng: Rng) -> Pair:
    weight, bound = rng.normal(size=(6, 4)).astype(np.float32), float(rng.uniform(20, 200))

    def write(g: G, wrong: bool) -> str:
        made = g.Relu(g.MatMul("x", weight))
        return g.Min(made, bound) if wrong else made

    return pair(X, write)


def cap_after_conv(rng: Rng) -> Pair:
    weight, bound = (rng.normal(size=(3, 3, 3, 3)) * 0.2).astype(np.float32), float(rng.uniform(20, 200))

    def write(g: G, wrong: bool) -> str:
        made = g.Relu(g.Conv("x", weight, pads=[1] * 4))
        return g.Min(made, bound) if wrong else made

    return pair({"x": (F, ["N", 3, 7, 7])}, write)


def pixels(rng: Rng) -> Pair:
    def write(g: G, wrong: bool) -> str:
        made = g.Div("x", 255.0)
        return g.Min(made, 1.0) if wrong else made

    return pair({"x": (F, ["N", 3, 4, 4])}, write)


def plain_softmax(rng: Rng) -> Pair:
    weight = rng.normal(size=(6, 5)).astype(np.float32)

    def write(g: G, wrong: bool) -> str:
        x = g.MatMul("x", weight)
        powers = g.Exp(x)
        return g.Div(powers, g.ReduceSum(powers, np.array([-1]))) if wrong else g.Softmax(x, axis=-1)

    return pair(X, write)


def narrow_product(rng: Rng) -> Pair:
    def write(g: G, wrong: bool) -> str:
        a, b = "a", "b"
        if wrong:
            return g.Cast(g.Mul(g.Cast(a, to=I32), g.Cast(b, to=I32)), to=I64)
        return g.Mul(a, b)

    return pair({"a": (I64, ["N"]), "b": (I64, ["N"])}, write, I64)


def narrow_sum(rng: Rng) -> Pair:
    def write(g: G, wrong: bool) -> str:
        if wrong:
            return g.Cast(g.ReduceSum(g.Cast("a", to=I32), np.array([1])), to=I64)
        return g.ReduceSum("a", np.array([1]))

    return pair({"a": (I64, ["N", 4])}, write, I64)


def seconds(rng: Rng) -> Pair:
    day = int(rng.choice([60, 3600, 86400]))

    def write(g: G, wrong: bool) -> str:
        if wrong:
            return g.Mod(g.Cast(g.Cast("t", to=F), to=I64), np.int64(day))
        return g.Mod("t", np.int64(day))

    return pair({"t": (I64, ["N"])}, write, I64)


def saturation(rng: Rng) -> Pair:
    step = int(rng.integers(-20, 20))

    def write(g: G, wrong: bool) -> str:
        x = g.Add("k", np.int32(step))
        return g.Cast(x if wrong else g.Clip(x, np.int32(-128), np.int32(127)), to=I8)

    return pair({"k": (I32, ["N", 3])}, write, I8)


def trips(rng: Rng) -> Pair:
    most = int(rng.integers(40, 200))

    def write(g: G, wrong: bool) -> str:
        go, state, moved = (
            helper.make_tensor_value_info(n, k, s) for n, k, s in (("go", B, []), ("s", F, [3]), ("m", F, [3]))
        )
        step = helper.make_tensor_value_info("i", I64, [])
        went = helper.make_tensor_value_info("went", B, [])
        rate, one = g.name(0.99), g.name(1.0)
        nodes = [
            helper.make_node("Identity", ["go"], ["went"]),
            helper.make_node("Mul", ["s", rate], ["p"]),
            helper.make_node("Add", ["p", one], ["m"]),
        ]
        body = helper.make_graph(nodes, "body", [step, go, state], [went, moved])
        return g.Loop(g.Min("n", np.int64(most // 4 if wrong else most)), np.array(True), "x", body=body)

    return pair({"x": (F, [3]), "n": (I64, [])}, write)


def known_mean(rng: Rng) -> Pair:
    def write(g: G, wrong: bool) -> str:
        known = g.Not(g.IsNaN("x"))
        total = g.ReduceSum("x" if wrong else g.Where(known, "x", 0.0), np.array([1]))
        return g.Div(total, g.Max(g.ReduceSum(g.Cast(known, to=F), np.array([1])), 1.0))

    return pair(X, write)


def infinities(rng: Rng) -> Pair:
    def write(g: G, wrong: bool) -> str:
        return g.Where(g.IsInf("x", detect_negative=0 if wrong else 1), 9.0, "x")

    return pair(X, write)


def two_inputs(rng: Rng) -> Pair:
    step = float(rng.uniform(10, 50))

    def write(g: G, wrong: bool) -> str:
        least = g.Add("b", step)
        return least if wrong else g.Max(least, "a")

    return pair({"a": (F, ["N", 4]), "b": (F, ["N", 4])}, write)


KINDS: tuple[Callable[[Rng], Pair], ...] = (
    tree_leaf,
    tree_mode,
    if_mean,
    nested_if,
    peak_rescaled,
    trough,
    norm_above,
    integer_keys,
    text_keys,
    rows_behind_mod,
    rows_behind_sub,
    rows_of_floats,
    one_identifier,
    buckets,
    clip_behind_affine,
    knee_behind_affine,
    hard_sigmoid,
    log_above,
    cap_after_product,
    cap_after_conv,
    pixels,
    plain_softmax,
    narrow_product,
    narrow_sum,
    seconds,
    saturation,
    trips,
    known_mean,
    infinities,
    two_inputs,
)
