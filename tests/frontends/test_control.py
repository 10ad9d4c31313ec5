"""Branches and loops: real subgraphs, trip counts where a loop counts, variables that are set inside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree, op_types
from trueport.errors import TrueportError
from trueport.pipeline import convert

X = [[np.arange(n * 3, dtype=np.float32).reshape(n, 3)] for n in (2, 5)]
SCALAR = tf.TensorShape([])


def traced(function: Callable[..., Any], *dims: int | None) -> Any:
    """With AutoGraph, which plain functions are traced without."""
    return tf.function(function, input_signature=[tf.TensorSpec(dims or (None, 3))])


BRANCHES: dict[str, Callable[..., Any]] = {
    "cond": lambda x: tf.cond(tf.reduce_sum(x) > 20.0, lambda: x * 2.0, lambda: x + 1.0),
    "several results": lambda x: tf.cond(tf.reduce_sum(x) > 20.0, lambda: (x, x[0]), lambda: (-x, x[1])),
    "shapes that differ": lambda x: tf.cond(tf.reduce_sum(x) > 20.0, lambda: x[:1], lambda: x),
    "an outer value as it is": lambda x: tf.cond(tf.reduce_sum(x) > 20.0, lambda: x, lambda: x),
    "nested": lambda x: tf.cond(
        x[0, 1] > 0.0,
        lambda: tf.cond(tf.reduce_sum(x) > 20.0, lambda: x * 2.0, lambda: x * 3.0),
        lambda: tf.zeros_like(x),
    ),
    "complex numbers": lambda x: tf.math.imag(
        tf.cond(tf.reduce_sum(x) > 20.0, lambda: tf.complex(x, x) * 2.0, lambda: tf.complex(x, -x))
    ),
    "a known condition": lambda x: tf.raw_ops.StatelessIf(
        cond=True,
        input=[x],
        Tout=[tf.float32],
        then_branch=tf.function(lambda y: y + 1.0).get_concrete_function(tf.TensorSpec([None, 3])),
        else_branch=tf.function(lambda y: y - 1.0).get_concrete_function(tf.TensorSpec([None, 3])),
    )[0],
    "a number as a condition": lambda x: tf.raw_ops.StatelessIf(
        cond=tf.cast(x[0, 0], tf.int32),
        input=[x],
        Tout=[tf.float32],
        then_branch=tf.function(lambda y: y + 1.0).get_concrete_function(tf.TensorSpec([None, 3])),
        else_branch=tf.function(lambda y: y - 1.0).get_concrete_function(tf.TensorSpec([None, 3])),
    )[0],
}


@pytest.mark.parametrize("function", BRANCHES.values(), ids=BRANCHES)
def test_branches(function: Callable[..., Any]) -> None:
    agree(function, *X)


@pytest.mark.parametrize("index", [-1, 0, 1, 2, 3, 7])
def test_an_index_outside_the_cases_means_the_last(index: int) -> None:
    def function(x: Any, i: Any) -> Any:
        return tf.switch_case(i, [lambda: x, lambda: x * 2.0, lambda: x * 3.0, lambda: -x])

    agree(function, [X[0][0], np.int32(index)], [X[1][0], np.int32(index)])


LOOPS: dict[str, tuple[Callable[..., Any], bool]] = {
    "counts": (lambda x: tf.while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, a * 2.0), [0, x]), True),
    "counts to the end": (lambda x: tf.while_loop(lambda i, a: i <= 5, lambda i, a: (i + 1, a * 2.0), [2, x]), True),
    "counts up to a shape": (
        lambda x: tf.while_loop(lambda i, a: i < tf.shape(x)[0], lambda i, a: (i + 1, a + x), [0, x]),
        True,
    ),
    "counts, at most": (
        lambda x: tf.while_loop(lambda i, a: i < 9, lambda i, a: (i + 1, a + x), [0, x], maximum_iterations=4),
        True,
    ),
    "never runs": (lambda x: tf.while_loop(lambda i, a: i < 0, lambda i, a: (i + 1, a * 2.0), [0, x]), True),
    "counts, long": (
        lambda x: tf.while_loop(
            lambda i, a: i < tf.constant(3, tf.int64), lambda i, a: (1 + i, a * 2.0), [tf.constant(0, tf.int64), x]
        ),
        True,
    ),
    "ends by its data": (
        lambda x: tf.while_loop(lambda a: tf.reduce_sum(a) < 1000.0, lambda a: (a * 2.0 + 1.0,), [x]),
        False,
    ),
    "counts down": (lambda x: tf.while_loop(lambda i, a: i > 0, lambda i, a: (i - 1, a * 2.0), [3, x]), False),
    "grows": (
        lambda x: tf.while_loop(
            lambda i, a: i < 3,
            lambda i, a: (i + 1, tf.concat([a, x], 0)),
            [0, x],
            shape_invariants=[SCALAR, tf.TensorShape([None, 3])],
        )[1],
        True,
    ),
    "changes its rank": (
        lambda x: tf.reshape(
            tf.while_loop(
                lambda i, a: i < 2,
                lambda i, a: (i + 1, tf.expand_dims(a, 0)),
                [0, x],
                shape_invariants=[SCALAR, tf.TensorShape(None)],
            )[1],
            [-1],
        ),
        True,
    ),
    "swaps": (lambda x: tf.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, b, a), [0, x, -x])[1:], True),
    "complex numbers": (
        lambda x: tf.math.real(
            tf.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z * z), [0, tf.complex(x, x)])[1]
        ),
        True,
    ),
}


@pytest.mark.parametrize(("function", "counts"), LOOPS.values(), ids=LOOPS)
def test_loops(function: Callable[..., Any], counts: bool) -> None:
    written = agree(function, *X)
    (loop,) = [node for node in written.graph.node if node.op_type == "Loop"]
    assert bool(loop.input[0]) == counts


def rows_above(x: Any) -> Any:
    total = tf.zeros(3)
    for i in tf.range(tf.shape(x)[0]):
        if tf.reduce_sum(x[i]) > 3.0:
            total += x[i]
    return total


def pairs(x: Any) -> Any:
    total = tf.zeros(())
    for i in tf.range(tf.shape(x)[0]):
        for j in tf.range(i):
            total += x[i, 0] * x[j, 1]
    return total


def stops(x: Any) -> Any:
    total = tf.zeros(3)
    for row in x:
        if tf.reduce_sum(row) > 20.0:
            break
        total += row
    return total


def returns_early(x: Any) -> Any:
    if tf.reduce_sum(x) > 20.0:
        return x[0]
    return tf.reduce_sum(x, 0)


@pytest.mark.parametrize("function", [rows_above, pairs, stops, returns_early])
def test_python_control_flow(function: Callable[..., Any]) -> None:
    agree(traced(function), *X)


def test_a_variable_that_a_loop_sets() -> None:
    variable = tf.Variable([1.0, 2.0, 3.0])

    def function(x: Any) -> Any:
        variable.assign([1.0, 2.0, 3.0])
        for i in tf.range(3):
            variable.assign_add(x[i % 2])
        return x + variable

    agree(traced(function), *X)


def test_a_variable_that_a_branch_sets() -> None:
    variable = tf.Variable([1.0, 2.0, 3.0])

    def function(x: Any) -> Any:
        variable.assign([1.0, 2.0, 3.0])
        if tf.reduce_sum(x) > 20.0:
            variable.assign(x[0])
        return x + variable

    agree(traced(function), *X)


def test_a_variable_that_branches_hand_out() -> None:
    variable = tf.Variable([1.0, 2.0, 3.0])

    def function(x: Any) -> Any:
        variable.assign([1.0, 2.0, 3.0])

        def change() -> Any:
            variable.assign(x[0])
            return tf.identity(variable.handle)

        handle = tf.cond(tf.reduce_sum(x) > 20.0, change, lambda: tf.identity(variable.handle))
        return x + tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)

    agree(function, *X)


def test_a_choice_between_variables_is_refused() -> None:
    one, two = tf.Variable(1.0), tf.Variable(2.0)

    def function(x: Any) -> Any:
        handle = tf.cond(tf.reduce_sum(x) > 20.0, lambda: tf.identity(one.handle), lambda: tf.identity(two.handle))
        return x + tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)

    with pytest.raises(TrueportError, match="ONNX chooses between values only"):
        agree(function, *X)


def test_a_variable_that_is_read_in_a_loop_is_stored_once() -> None:
    variable = tf.Variable(np.ones((3, 3), np.float32))
    written = agree(
        lambda x: tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a @ variable), [0, x])[1] @ variable,
        *X,
    )
    assert [list(t.dims) for t in written.graph.initializer].count([3, 3]) == 1


def test_checks_and_prints_go_and_are_recorded() -> None:
    def function(x: Any) -> Any:
        tf.debugging.assert_greater(tf.reduce_sum(x), -1e9)
        tf.print("sum", tf.reduce_sum(x))
        return x + 1.0

    assert op_types(agree(traced(function), *X)) == ["Add"]
    report = convert(traced(function), to="onnx", verify=False).report
    said = " ".join(str(loss) for loss in report.losses)
    assert "check is gone" in said and "printed" in said


class Collects(tf.Module):
    """A list that grows in a loop, with a branch in it."""

    @tf.function(input_signature=[tf.TensorSpec([None, 3])])
    def __call__(self, x: Any) -> Any:
        found = tf.zeros([0, 3])
        for i in tf.range(tf.shape(x)[0]):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(found, tf.TensorShape([None, 3]))])
            if tf.reduce_sum(x[i]) > 3.0:
                found = tf.concat([found, x[i : i + 1]], 0)
        return found


def test_control_flow_in_a_saved_model(tmp_path: Path) -> None:
    tf.saved_model.save(Collects(), str(tmp_path))
    assert [op for op in op_types(agree(str(tmp_path), *X)) if op in ("Loop", "If")] == ["Loop", "If"]


def test_summaries_are_not_written(tmp_path: Path) -> None:
    writer = tf.summary.create_file_writer(str(tmp_path))

    def function(x: Any) -> Any:
        with writer.as_default(step=1):
            tf.summary.write("mean", tf.reduce_mean(x))
        return x + 1.0

    assert op_types(agree(function, *X))[-1] == "Add"
