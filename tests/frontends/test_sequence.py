"""Lists of tensors: TensorArrays in and out of loops, map_fn, scan, folds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree, op_types

X = [[np.arange(n * 3, dtype=np.float32).reshape(n, 3)] for n in (2, 5)]
raw = tf.raw_ops
FLOAT = {"element_dtype": tf.float32}


def traced(function: Callable[..., Any]) -> Any:
    return tf.function(function, input_signature=[tf.TensorSpec((None, 3))])


HIGHER_ORDER: dict[str, Callable[..., Any]] = {
    "map": lambda x: tf.map_fn(lambda r: r * 2.0, x),
    "map to scalars": lambda x: tf.map_fn(tf.reduce_sum, x),
    "map to two": lambda x: tf.map_fn(
        lambda r: (r * 2.0, tf.reduce_sum(r)), x, fn_output_signature=(tf.float32, tf.float32)
    ),
    "map to strings": lambda x: tf.map_fn(lambda r: tf.where(r[0] > 3.0, "a", "b"), x, fn_output_signature=tf.string),
    "map to booleans": lambda x: tf.map_fn(lambda r: r > 3.0, x, fn_output_signature=tf.bool),
    "vectorized map": lambda x: tf.vectorized_map(lambda r: r * tf.reduce_sum(r), x),
    "scan": lambda x: tf.scan(lambda a, r: a + r, x),
    "scan from": lambda x: tf.scan(lambda a, r: a + r, x, initializer=tf.ones(3)),
    "scan backwards": lambda x: tf.scan(lambda a, r: a + r, x, initializer=tf.ones(3), reverse=True),
    "fold": lambda x: tf.foldl(lambda a, r: a + r, x),
    "fold backwards": lambda x: tf.foldr(lambda a, r: a - r, x),
}


@pytest.mark.parametrize("function", HIGHER_ORDER.values(), ids=HIGHER_ORDER)
def test_higher_order_functions(function: Callable[..., Any]) -> None:
    agree(function, *X)


def test_a_map_is_a_loop_with_a_scan_output() -> None:
    ops = op_types(agree(lambda x: tf.map_fn(lambda r: r * 2.0, x), *X))
    assert ops[ops.index("Loop") :] == ["Loop", "Cast", "Gather", "Mul", "Identity"]


def stack(handle: Any) -> Any:
    return raw.TensorListStack(input_handle=handle, element_shape=[3], num_elements=-1, **FLOAT)


def pushed(x: Any) -> Any:
    handle = raw.EmptyTensorList(element_shape=[3], max_num_elements=-1, **FLOAT)
    for row in (x[0], x[1]):
        handle = raw.TensorListPushBack(input_handle=handle, tensor=row)
    handle, last = raw.TensorListPopBack(input_handle=handle, element_shape=[3], **FLOAT)
    handle = raw.TensorListResize(input_handle=handle, size=3)
    shape = raw.TensorListElementShape(input_handle=handle, shape_type=tf.int32)
    return last, stack(handle), raw.TensorListLength(input_handle=handle), shape


def scattered(x: Any) -> Any:
    return stack(raw.TensorListScatterV2(tensor=x[:2], indices=[3, 1], element_shape=[3], num_elements=-1))


def appended(x: Any) -> Any:
    start = raw.EmptyTensorList(element_shape=[3], max_num_elements=-1, **FLOAT)
    step: Callable[..., Any] = lambda i, h: (i + 1, raw.TensorListPushBack(input_handle=h, tensor=x[i]))  # noqa: E731
    return stack(tf.while_loop(lambda i, h: i < tf.shape(x)[0], step, [0, start])[1])


ARRAYS: dict[str, Callable[..., Any]] = {
    "written at known places": lambda x: (
        tf.TensorArray(tf.float32, 3, element_shape=[None]).write(0, x[0]).write(2, x[1]).stack()
    ),
    "joined": lambda x: tf.TensorArray(tf.float32, 2, infer_shape=False).write(0, x).write(1, x[:1]).concat(),
    "split": lambda x: tf.TensorArray(tf.float32, 2, infer_shape=False).split(x, [1, tf.shape(x)[0] - 1]).read(1),
    "scattered": lambda x: tf.TensorArray(tf.float32, 7).scatter([4, 0], x[:2]).stack(),
    "scattered to a new list": scattered,
    "gathered": lambda x: tf.TensorArray(tf.float32, tf.shape(x)[0]).unstack(x).gather([1, 0, 1]),
    "size": lambda x: tf.TensorArray(tf.float32, tf.shape(x)[0]).unstack(x).size(),
    "never written": lambda x: tf.TensorArray(tf.float32, tf.shape(x)[0], element_shape=[3]).stack() + x,
    "pushed and popped": pushed,
    "pushed in a loop": appended,
}


@pytest.mark.parametrize("function", ARRAYS.values(), ids=ARRAYS)
def test_arrays(function: Callable[..., Any]) -> None:
    agree(function, *X)


def partly(x: Any) -> Any:
    array = tf.TensorArray(tf.float32, 8, element_shape=[3])
    for i in tf.range(tf.shape(x)[0]):
        array = array.write(i, x[i] * 2.0)
    return array.stack()


def backwards(x: Any) -> Any:
    count = tf.shape(x)[0]
    array = tf.TensorArray(tf.float32, count)
    for i in tf.range(count - 1, -1, -1):
        array = array.write(i, x[i] * 2.0)
    return array.stack()


def every_other(x: Any) -> Any:
    array = tf.TensorArray(tf.float32, 4, element_shape=[3])
    for i in tf.range(2):
        array = array.write(i * 2, x[i])
    return array.stack()


def some(x: Any) -> Any:
    array = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    for i in tf.range(tf.shape(x)[0]):
        if tf.reduce_sum(x[i]) > 3.0:
            array = array.write(array.size(), x[i])
    return array.stack()


def of_different_lengths(x: Any) -> Any:
    array = tf.TensorArray(tf.float32, 0, dynamic_size=True, infer_shape=False)
    for i in tf.range(tf.shape(x)[0]):
        array = array.write(i, x[i, : tf.minimum(i, 3)])
    return tf.ensure_shape(array.concat(), [None])


def read_and_written(x: Any) -> Any:
    array = tf.TensorArray(tf.float32, tf.shape(x)[0], clear_after_read=False, element_shape=[3]).unstack(x)
    for i in tf.range(1, tf.shape(x)[0]):
        array = array.write(i, array.read(i) + array.read(i - 1))
    return array.stack()


def in_a_branch(x: Any) -> Any:
    array = tf.TensorArray(tf.float32, 2, element_shape=[3])
    return tf.cond(tf.reduce_sum(x) > 20.0, lambda: array.write(0, x[0]), lambda: array.write(1, x[1])).stack()


def two_in_one_loop(x: Any) -> Any:
    one = tf.TensorArray(tf.float32, tf.shape(x)[0])
    two = tf.TensorArray(tf.int32, 0, dynamic_size=True)
    for i in tf.range(tf.shape(x)[0]):
        one, two = one.write(i, x[i]), two.write(i, i * i)
    return one.stack(), two.stack()


@pytest.mark.parametrize(
    "function",
    [
        partly,
        backwards,
        every_other,
        some,
        of_different_lengths,
        read_and_written,
        in_a_branch,
        two_in_one_loop,
    ],
)
def test_arrays_in_loops(function: Callable[..., Any]) -> None:
    agree(traced(function), *X)


def _pushed(*tensors: Any) -> Any:
    handle = raw.EmptyTensorList(element_shape=-1, max_num_elements=-1, **FLOAT)
    for tensor in tensors:
        handle = raw.TensorListPushBack(input_handle=handle, tensor=tensor)
    return handle


def _read(handle: Any, index: Any) -> Any:
    """Shape and sum of an element: its rank is not known before."""
    found = raw.TensorListGetItem(input_handle=handle, index=index, element_shape=-1, **FLOAT)
    return tf.shape(found), tf.reduce_sum(tf.reshape(found, [-1]))


def _pushed_rows(x: Any) -> Any:
    """A list of rows without their first elements: none, one, … are dropped."""

    def step(i: Any, handle: Any) -> Any:
        return i + 1, raw.TensorListPushBack(input_handle=handle, tensor=x[i, i % 3 :])

    return tf.while_loop(lambda i, _: i < tf.shape(x)[0], step, (tf.constant(0), _pushed()))[1]


DIFFERENT_SHAPES: dict[str, Callable[..., Any]] = {
    "shortened": lambda x: _read(raw.TensorListResize(input_handle=_pushed_rows(x), size=tf.shape(x)[0] - 1), 0),
    "lengthened": lambda x: raw.TensorListLength(
        input_handle=raw.TensorListResize(input_handle=_pushed_rows(x), size=tf.shape(x)[0] + 2)
    ),
    "concatenated": lambda x: _read(
        raw.TensorListConcatLists(input_a=_pushed_rows(x), input_b=_pushed(x, x[0]), **FLOAT), tf.shape(x)[0]
    ),
    "chosen": lambda x: _read(tf.cond(x[0, 0] > 1.0, lambda: _pushed(x), lambda: _pushed(x[0], x)), 0),
    "chosen or none": lambda x: raw.TensorListLength(
        input_handle=tf.cond(tf.shape(x)[0] > 2, _pushed, lambda: _pushed(x[0], x))
    ),
}


@pytest.mark.parametrize("function", DIFFERENT_SHAPES.values(), ids=DIFFERENT_SHAPES)
def test_lists_of_tensors_of_different_shapes(function: Callable[..., Any]) -> None:
    agree(function, *X)
