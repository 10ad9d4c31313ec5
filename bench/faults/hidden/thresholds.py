"""Faults behind thresholds, in branches, leaves and loops that ordinary inputs do not reach."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from bench.faults.hidden.fault import HiddenFault
from bench.faults.hidden.inputs import draw_normal, fill
from bench.faults.pairs.graph import Graph, Two, Value, make_two

__all__ = ["THRESHOLD_FAULTS"]


def _tree_far_leaf(folder: Path) -> Two:
    def write(leaf: float) -> Any:
        g = Graph()
        x = g.input("x", ["N", 3])
        attributes: dict[str, Any] = {
            "n_targets": 1,
            "nodes_treeids": [0] * 5,
            "nodes_nodeids": [0, 1, 2, 3, 4],
            "nodes_featureids": [0, 0, 2, 0, 0],
            "nodes_values": [0.3, 0.0, 1500.0, 0.0, 0.0],
            "nodes_modes": ["BRANCH_LEQ", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"],
            "nodes_truenodeids": [1, 0, 3, 0, 0],
            "nodes_falsenodeids": [2, 0, 4, 0, 0],
            "target_treeids": [0] * 3,
            "target_nodeids": [1, 3, 4],
            "target_ids": [0] * 3,
            "target_weights": [0.25, -0.5, leaf],
        }
        y = g.add("TreeEnsembleRegressor", x, domain="ai.onnx.ml", **attributes)
        return g.finish(y, kinds=[np.float32])

    return write(0.75), write(0.7)


def _branch_on_mean(folder: Path) -> tuple[Any, Any]:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    def make(factor: float) -> Any:
        def body(x: tf.Tensor) -> tf.Tensor:
            return tf.cond(tf.reduce_mean(x) > 3.0, lambda: tf.tanh(x) * factor, lambda: tf.tanh(x))

        return tf.function(body, input_signature=[tf.TensorSpec((3, 4), tf.float32, name="x")])

    return make(2.0), make(2.1)


def _rescale_above_60(folder: Path) -> Two:
    def before(g: Graph, x: str) -> Value:
        peak = g.ReduceMax(g.Abs(x), [1])
        return g.Where(g.Greater(peak, 60.0), g.Div(g.Mul(x, 60.0), peak), x)

    return make_two({"x": ["N", 6]}, before, lambda g, x: g.Identity(x))


def _trip_count(folder: Path) -> Two:
    def write(g: Graph, x: str, n: str, most: int) -> Value:
        body = Graph(prefix="b")
        moved = body.Add(body.Mul("state", 0.99), 1.0)
        graph = body.branch(
            {body.Identity("go"): (np.bool_, []), moved: (np.float32, [3])},
            {"step": (np.int64, []), "go": (np.bool_, []), "state": (np.float32, [3])},
        )
        return g.Reshape(g.Loop(g.Min(n, np.int64(most)), np.array(True), x, body=graph), [3])

    return make_two(
        {"x": [3], "n": []},
        lambda g, x, n: write(g, x, n, 200),
        lambda g, x, n: write(g, x, n, 32),
        dtypes={"n": np.int64},
    )


def _loop_rare_branch(folder: Path) -> Two:
    def write(g: Graph, x: str, factor: float) -> Value:
        body = Graph(prefix="b")
        then, other = Graph(prefix="t"), Graph(prefix="e")
        shrink = then.branch({then.Mul("state", factor): (np.float32, [4])})
        grow = other.branch({other.Add(other.Mul("state", 1.5), 1.0): (np.float32, [4])})
        large = body.Greater(body.ReduceMax("state", keepdims=0), 500.0)
        moved = body.If(large, then_branch=shrink, else_branch=grow)
        graph = body.branch(
            {body.Identity("go"): (np.bool_, []), moved: (np.float32, [4])},
            {"step": (np.int64, []), "go": (np.bool_, []), "state": (np.float32, [4])},
        )
        return g.Reshape(g.Loop(np.int64(6), np.array(True), x, body=graph), [4])

    return make_two({"x": [4]}, lambda g, x: write(g, x, 0.5), lambda g, x: write(g, x, 0.25))


THRESHOLD_FAULTS = (
    HiddenFault(
        "thresholds",
        "tree_far_leaf",
        "one leaf of a tree is wrong: that of a feature above 1500",
        _tree_far_leaf,
        lambda: {"x": np.array([[1, 0, 2000]], np.float32)},
        lambda: {"x": draw_normal(4, 3)},
    ),
    HiddenFault(
        "thresholds",
        "branch_on_mean",
        "the branch for a mean above 3 has another factor",
        _branch_on_mean,
        lambda: {"x": fill(4.0, 3, 4)},
        lambda: {"x": draw_normal(3, 4)},
    ),
    HiddenFault(
        "thresholds",
        "rescale_above_60",
        "rows whose largest magnitude is above 60 are not rescaled",
        _rescale_above_60,
        lambda: {"x": fill(-75.0, 1, 6)},
        lambda: {"x": draw_normal(2, 6)},
    ),
    HiddenFault(
        "loops",
        "trip_count",
        "a Loop stops after 32 trips; the source allows 200",
        _trip_count,
        lambda: {"x": fill(1.0, 3), "n": np.asarray(50)},
        lambda: {"x": fill(1.0, 3), "n": np.asarray(5)},
    ),
    HiddenFault(
        "loops",
        "loop_rare_branch",
        "the branch for states above 500 inside a Loop has another factor",
        _loop_rare_branch,
        lambda: {"x": fill(200.0, 4)},
        lambda: {"x": draw_normal(4)},
    ),
)
