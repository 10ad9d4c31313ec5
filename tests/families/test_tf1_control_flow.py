"""TensorFlow 1's Switch, Merge, Enter, Exit, NextIteration and TensorArrays become If, Loop and values.

The expected values come from a session that runs the graph as it was built.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.cells import grid
from tests.families.tf1 import Built, agrees, build, operators
from trueport.errors import ConversionError
from trueport.pipeline import convert

v1 = tf.compat.v1
_RNG = np.random.default_rng(5)
_MATRICES = [{"x": _RNG.normal(size=(n, 3)).astype(np.float32) * sign} for n, sign in ((1, 1), (4, -1), (7, 1), (3, 3))]
_SERIES = [{"x": _RNG.normal(size=(n, 5, 3)).astype(np.float32)} for n in (1, 4, 7)]
_WEIGHT = _RNG.normal(size=(3, 3)).astype(np.float32) * 0.5


def _x(*dims: int | None) -> Any:
    return v1.placeholder(tf.float32, list(dims or (None, 3)), name="x")


def _is_positive(x: Any) -> Any:
    return tf.reduce_sum(x) > 0.0


def _counted() -> Any:
    x = _x()
    return tf.while_loop(lambda i, r: i < 5, lambda i, r: (i + 1, r * 0.75 + x), [0, x])


def _until() -> Any:
    return tf.while_loop(lambda r: tf.reduce_max(tf.abs(r)) > 0.1, lambda r: [r * 0.5], [_x()])


def _at_most() -> Any:
    return tf.while_loop(lambda r: tf.reduce_sum(r) < 50.0, lambda r: [r * 1.5 + 1], [_x()], maximum_iterations=4)


def _never() -> Any:
    return tf.while_loop(lambda i, r: i < 0, lambda i, r: (i + 1, r * 2), [0, _x()])


def _of_many_types() -> Any:
    x = _x()

    def step(i: Any, going: Any, total: Any, word: Any) -> Any:
        return i + 1, tf.reduce_sum(x) + tf.cast(i, tf.float32) > 0, total + tf.cast(i, tf.int64), tf.identity(word)

    start = [0, True, tf.constant(0, tf.int64), tf.constant(["a", "b"])]
    return tf.while_loop(lambda i, going, *_: tf.logical_and(i < 4, going), step, start)


def _growing() -> Any:
    x = _x()
    shapes = [tf.TensorShape([]), tf.TensorShape([None, 3])]
    return tf.while_loop(lambda i, r: i < 3, lambda i, r: (i + 1, tf.concat([r, x], 0)), [0, x], shapes)[1]


def _swapped() -> Any:
    x = _x()
    return tf.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, b, a + b), [0, x, x * 2])


def _unused_variable() -> Any:
    x = _x()
    return tf.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, a + x, b * 3), [0, x, x])[1]


def _with_weights() -> Any:
    weight = v1.get_variable("weight", initializer=_WEIGHT, use_resource=False)
    bias = v1.get_variable("bias", initializer=_WEIGHT[0], use_resource=True)
    return tf.while_loop(lambda i, r: i < 3, lambda i, r: (i + 1, tf.tanh(r @ weight + bias)), [0, _x()])[1]


def _nested_loops() -> Any:
    x = _x()

    def outer(i: Any, r: Any) -> Any:
        scale = tf.cast(i, tf.float32)
        return i + 1, tf.while_loop(lambda j, q: j < i, lambda j, q: (j + 1, q + x * scale), [0, r])[1] * 0.5

    return tf.while_loop(lambda i, r: i < 4, outer, [0, x])[1]


def _branch_in_a_loop() -> Any:
    x = _x()

    def step(i: Any, r: Any) -> Any:
        return i + 1, v1.cond(_is_positive(r), lambda: r * 0.5 - 1.0, lambda: r + tf.abs(x))

    return tf.while_loop(lambda i, r: i < 6, step, [0, x])[1]


def _loop_in_a_branch() -> Any:
    x = _x()
    loop = lambda: tf.while_loop(lambda i, r: i < 3, lambda i, r: (i + 1, r + x), [0, x])[1]  # noqa: E731
    return v1.cond(_is_positive(x), loop, lambda: x - 1.0)


def _deep() -> Any:
    x = _x()

    def inner(j: Any, q: Any) -> Any:
        return j + 1, v1.cond(_is_positive(q), lambda: q * 0.5, lambda: q + 1.0)

    def outer(i: Any, r: Any) -> Any:
        return i + 1, v1.cond(
            _is_positive(r), lambda: tf.while_loop(lambda j, q: j < i, inner, [0, r])[1], lambda: r + 0.5
        )

    return tf.while_loop(lambda i, r: i < 4, outer, [0, x])[1]


def _branch() -> Any:
    x = _x()
    return v1.cond(_is_positive(x), lambda: x * 2, lambda: x - 1)


def _branch_of_many() -> Any:
    x = _x()
    taken = lambda: (x * 2, tf.constant(3.0), tf.shape(x)[0], tf.constant("yes"))  # noqa: E731
    return v1.cond(_is_positive(x), taken, lambda: (x - 1, tf.reduce_sum(x), tf.constant(7), tf.constant("no")))


def _branches_of_other_shapes() -> Any:
    x = _x()
    return v1.cond(_is_positive(x), lambda: tf.concat([x, x], 0), lambda: x[:1])


def _branch_of_constants() -> Any:
    return v1.cond(_is_positive(_x()), lambda: tf.constant([1, 2]), lambda: tf.constant([3, 4]))


def _same_value_on_both() -> Any:
    x = _x()
    y = x * 3
    return v1.cond(_is_positive(x), lambda: y, lambda: y), y


def _nested_branches() -> Any:
    x = _x()
    total = tf.reduce_sum(x)
    above = lambda: v1.cond(total > 1, lambda: x * 3, lambda: x * 2)  # noqa: E731
    return v1.cond(total > 0, above, lambda: v1.cond(total < -1, lambda: x - 3.0, lambda: x))


def _same_condition_again() -> Any:
    x = _x()
    positive = _is_positive(x)
    y = v1.cond(positive, lambda: x * 2, lambda: x - 1)
    return v1.cond(positive, lambda: v1.cond(positive, lambda: y + 1, lambda: y + 2), lambda: y * 3)


def _cases() -> Any:
    x = _x()
    total = tf.reduce_sum(x)
    return v1.case([(total > 1, lambda: x * 3), (total > 0, lambda: x * 2)], default=lambda: -x)


def _chosen_by_number() -> Any:
    x = _x()
    return tf.switch_case(tf.shape(x)[0] - 1, [lambda: x, lambda: x * 2, lambda: x * 3])


def _training() -> Any:
    x = _x()
    training = v1.placeholder_with_default(False, [], name="training")
    mean, variance = v1.cond(
        training,
        lambda: tuple(tf.nn.moments(x, 0)),
        lambda: (tf.constant([0.1, 0.2, 0.3]), tf.constant([1.0, 2.0, 3.0])),
    )
    y = tf.nn.batch_normalization(x, mean, variance, None, None, 1e-3)
    return v1.cond(training, lambda: tf.nn.dropout(y, rate=0.5), lambda: tf.identity(y))


def _checked() -> Any:
    x = _x()
    with tf.control_dependencies([v1.assert_rank(x, 2), v1.assert_less(x, 100.0)]):
        return tf.identity(x * 2)


def _bare_switches() -> Any:
    x = _x()
    positive = _is_positive(x)
    off, on = tf.raw_ops.Switch(data=x, pred=positive)
    first = tf.raw_ops.Merge(inputs=[off + 1, on * 2])
    off, on = tf.raw_ops.Switch(data=first.output, pred=positive)
    second = tf.raw_ops.Merge(inputs=[on + 1, off * 2])
    return first.output, first.value_index, second.output, second.value_index


def _read_and_written() -> Any:
    x = _x()
    count = tf.shape(x)[0]
    rows = tf.TensorArray(tf.float32, count).unstack(x)
    made = tf.TensorArray(tf.float32, count, clear_after_read=False)

    def step(i: Any, total: Any, array: Any) -> Any:
        return i + 1, total + rows.read(i), array.write(i, total * 2)

    _, total, made = tf.while_loop(lambda i, *_: i < count, step, [0, tf.zeros([3]), made])
    return total, made.stack(), made.size(), made.gather([0])


def _concatenated() -> Any:
    x = _x()
    count = tf.shape(x)[0]
    array = tf.TensorArray(tf.float32, count, infer_shape=False, element_shape=[None, 3])
    return tf.while_loop(lambda i, a: i < count, lambda i, a: (i + 1, a.write(i, x[: i + 1])), [0, array])[1].concat()


def _longer_and_longer() -> Any:
    x = _x()
    array = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[3])
    return tf.while_loop(lambda i, a: i < tf.shape(x)[0], lambda i, a: (i + 1, a.write(i, x[i] * 2)), [0, array])[
        1
    ].stack()


def _without_a_loop() -> Any:
    x = _x()
    return tf.TensorArray(tf.float32, 2, element_shape=[None, 3]).write(0, x).write(1, x * 2).stack()


def _written_on_a_branch() -> Any:
    x = _x()
    array = tf.TensorArray(tf.float32, 3, element_shape=[])

    def step(i: Any, a: Any) -> Any:
        total = tf.reduce_sum(x) * tf.cast(i - 1, tf.float32)
        return i + 1, v1.cond(total > 0, lambda: a.write(i, total), lambda: a.write(i, -total))

    return tf.while_loop(lambda i, a: i < 3, step, [0, array])[1].stack()


def _mapped() -> Any:
    return tf.map_fn(lambda row: row * tf.reduce_sum(row), _x())


def _scanned() -> Any:
    return tf.scan(lambda state, row: state * 0.5 + row, _x(), tf.zeros([3]))


def _folded() -> Any:
    return tf.foldr(lambda state, row: state * 0.5 + row, _x(), tf.zeros([3]))


class _Cell:
    """A recurrent cell as ``dynamic_rnn`` takes one; Keras 3 has no cells of TensorFlow 1."""

    output_size, state_size = 4, (4, 4)
    graph = None

    def __init__(self) -> None:
        self.kernel = v1.get_variable("kernel", initializer=_RNG.normal(size=(7, 16)).astype(np.float32) * 0.4)
        self.bias = v1.get_variable("bias", initializer=_RNG.normal(size=16).astype(np.float32))

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        return tuple(tf.zeros([batch_size, 4], dtype) for _ in range(2))

    get_initial_state = None

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        before, cell = state
        gates = tf.concat([inputs, before], 1) @ self.kernel + self.bias
        enter, new, forget, leave = tf.split(gates, 4, 1)
        cell = cell * tf.sigmoid(forget + 1.0) + tf.sigmoid(enter) * tf.tanh(new)
        hidden = tf.tanh(cell) * tf.sigmoid(leave)
        return hidden, (hidden, cell)


def _recurrent(lengths: bool, time_major: bool = False) -> Callable[[], Any]:
    def make() -> Any:
        x = _x(None, 5, 3)
        fed = tf.transpose(x, [1, 0, 2]) if time_major else x
        steps = tf.minimum(tf.range(tf.shape(x)[0]) + 1, 5) if lengths else None
        state = tuple(tf.zeros([tf.shape(x)[0], 4]) for _ in range(2))
        return v1.nn.dynamic_rnn(_Cell(), fed, steps, initial_state=state, time_major=time_major)

    return make


_BUILDERS: dict[str, Callable[[], Any]] = {
    make.__name__.strip("_"): make
    for make in (
        *(_counted, _until, _at_most, _never, _of_many_types, _growing, _swapped, _unused_variable, _with_weights),
        *(_nested_loops, _branch_in_a_loop, _loop_in_a_branch, _deep, _branch, _branch_of_many),
        *(_branches_of_other_shapes, _branch_of_constants, _same_value_on_both, _nested_branches),
        *(_same_condition_again, _cases, _chosen_by_number, _training, _checked, _bare_switches, _read_and_written),
        *(_concatenated, _longer_and_longer, _without_a_loop, _written_on_a_branch, _mapped, _scanned, _folded),
    )
}
_BUILDERS |= {
    "recurrent": _recurrent(False),
    "recurrent_with_lengths": _recurrent(True),
    "recurrent_time_major": _recurrent(True, time_major=True),
}


def _as_file(built: Built, folder: Path) -> tuple[Any, dict[str, Any]]:
    (folder / "frozen.pb").write_bytes(built.frozen().SerializeToString())
    return folder / "frozen.pb", {
        "inputs": [tensor.name for tensor in built.inputs],
        "outputs": [tensor.name for tensor in built.outputs],
    }


def _as_graph(built: Built, folder: Path) -> tuple[Any, dict[str, Any]]:
    graph = tf.Graph()
    with graph.as_default():
        tf.graph_util.import_graph_def(built.frozen(), name="")
    return graph, {"outputs": [tensor.name for tensor in built.outputs]}


def _as_saved_model(built: Built, folder: Path) -> tuple[Any, dict[str, Any]]:
    return built.save(folder / "saved"), {}


_FORMS = {"file": _as_file, "graph": _as_graph, "saved": _as_saved_model}


@grid({f"{name}-{form}": (name, form) for name in _BUILDERS for form in _FORMS}, quick=7)
def test_control_flow_of_tensorflow_1(cell: tuple[str, str], tmp_path: Path) -> None:
    name, form = cell
    built = build(_BUILDERS[name])
    samples = _SERIES if name.startswith("recurrent") else _MATRICES
    source, options = _FORMS[form](built, tmp_path)
    agrees(source, [(feeds, built.run(feeds)) for feeds in samples], tmp_path, **options)


def test_several_outputs_of_one_branch_are_one_if(tmp_path: Path) -> None:
    built = build(_branch_of_many)
    assert operators(agrees(built.frozen(), [], tmp_path)).count("If") == 1


def test_a_value_of_one_branch_only_is_refused() -> None:
    with tf.Graph().as_default() as graph:
        x = _x()
        tf.add(tf.raw_ops.Switch(data=x, pred=_is_positive(x)).output_true, 1.0, name="y")
    with pytest.raises(ConversionError, match="only if one branch is taken"):
        convert(graph, to="onnx", outputs=["y"])
