"""Frozen, pruned and wrapped functions, graphs and SavedModels of TensorFlow 1: each form of one computation.

The expected values come from TensorFlow, which runs the function that was frozen, or the session.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from tests.cells import grid
from tests.families.tf1 import agrees, build, old_control_flow
from trueport.errors import InvalidModel
from trueport.pipeline import convert

v1 = tf.compat.v1
_RNG = np.random.default_rng(6)
_SAMPLES = [_RNG.normal(size=(n, 3)).astype(np.float32) * sign for n, sign in ((1, 1), (2, -1), (5, 1))]
_KERNEL = _RNG.normal(size=(3, 3)).astype(np.float32) * 0.5
_X = tf.TensorSpec([None, 3], tf.float32, name="x")


def _dense(x: Any, kernel: Any) -> Any:
    return {"scores": x @ kernel + tf.constant([1.0, 2.0, 3.0]), "shifted": x + 1.0}


def _looping(x: Any, kernel: Any) -> Any:
    return tf.while_loop(lambda i, r: i < tf.shape(x)[0], lambda i, r: (i + 1, tf.tanh(r @ kernel)), [0, x])[1]


def _branching(x: Any, kernel: Any) -> Any:
    taken = tf.cond(tf.reduce_sum(x) > 0.0, lambda: (x @ kernel, x), lambda: (x - 1.0, x * 2.0))
    return [*taken, tf.switch_case(tf.shape(x)[0] - 1, [lambda: x, lambda: x @ kernel, lambda: x * 3])]


def _nested(x: Any, kernel: Any) -> Any:
    def step(i: Any, r: Any) -> Any:
        return i + 1, tf.cond(tf.reduce_sum(r) > 0.0, lambda: r @ kernel - 1.0, lambda: r + 1.0)

    return tf.while_loop(lambda i, r: i < 4, step, [0, x])[1]


def _mapping(x: Any, kernel: Any) -> Any:
    return tf.map_fn(lambda row: row * tf.reduce_sum(tf.linalg.matvec(kernel, row)), x)


_COMPUTATIONS = {"dense": _dense, "looping": _looping, "branching": _branching, "nested": _nested, "mapping": _mapping}


class _Model(tf.Module):
    """A computation with a variable, as a function with a signature."""

    def __init__(self, compute: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        self.kernel = tf.Variable(_KERNEL, name="kernel")
        self.loaded: Any = None
        self.call = tf.function(lambda x: compute(x, self.kernel), input_signature=[_X])

    def concrete(self) -> Any:
        return self.call.get_concrete_function()


def _frozen(model: _Model, folder: Path) -> Any:
    return convert_variables_to_constants_v2(model.concrete())


def _frozen_with_functions(model: _Model, folder: Path) -> Any:
    return convert_variables_to_constants_v2(model.concrete(), lower_control_flow=False)


def _frozen_graph(model: _Model, folder: Path) -> Any:
    return _frozen(model, folder).graph


def _frozen_graph_def(model: _Model, folder: Path) -> Any:
    return _frozen(model, folder).graph.as_graph_def()


def _frozen_file(model: _Model, folder: Path) -> Any:
    tf.io.write_graph(_frozen_graph_def(model, folder), str(folder), "frozen.pb", as_text=False)
    return folder / "frozen.pb"


def _frozen_text(model: _Model, folder: Path) -> Any:
    tf.io.write_graph(_frozen_graph_def(model, folder), str(folder), "frozen.pbtxt", as_text=True)
    return folder / "frozen.pbtxt"


def _saved(model: _Model, folder: Path) -> Any:
    tf.saved_model.save(model, str(folder / "saved"), {"serving_default": model.call})
    return folder / "saved"


def _loaded_function(model: _Model, folder: Path) -> Any:
    model.loaded = tf.saved_model.load(str(_saved(model, folder)))  # holds the variables
    return model.loaded.call.get_concrete_function(_X)


def _frozen_after_loading(model: _Model, folder: Path) -> Any:
    loaded = tf.saved_model.load(str(_saved(model, folder)))
    return convert_variables_to_constants_v2(loaded.signatures["serving_default"])


def _saved_frozen(model: _Model, folder: Path) -> Any:
    module = tf.Module()
    frozen = _frozen(model, folder)
    module.call = tf.function(lambda x: frozen(x), input_signature=[_X])
    tf.saved_model.save(module, str(folder / "again"), {"serving_default": module.call})
    return folder / "again"


def _wrapped(model: _Model, folder: Path) -> Any:
    return v1.wrap_function(lambda x: model.call.python_function(x), [_X])


def _wrapped_with_old_control_flow(model: _Model, folder: Path) -> Any:
    with old_control_flow():
        return _wrapped(model, folder)


def _pruned(model: _Model, folder: Path) -> Any:
    wrapped = _wrapped_with_old_control_flow(model, folder)
    return wrapped.prune("x:0", [tensor.name for tensor in wrapped.outputs])


_FORMS = {
    make.__name__.strip("_"): make
    for make in (
        *(_frozen, _frozen_with_functions, _frozen_graph, _frozen_graph_def, _frozen_file, _frozen_text),
        *(_loaded_function, _frozen_after_loading, _saved_frozen, _wrapped, _wrapped_with_old_control_flow, _pruned),
    )
}


@grid({f"{name}-{form}": (name, form) for name in _COMPUTATIONS for form in _FORMS}, quick=5)
def test_forms(cell: tuple[str, str], tmp_path: Path) -> None:
    name, form = cell
    model = _Model(_COMPUTATIONS[name])
    want = [({"x": x}, [tensor.numpy() for tensor in tf.nest.flatten(model.call(x))]) for x in _SAMPLES]
    agrees(_FORMS[form](model, tmp_path), want, tmp_path)


@pytest.mark.parametrize("nested", [False, True])
def test_outputs_of_a_loaded_function_have_one_order(nested: bool, tmp_path: Path) -> None:
    # TensorFlow gives the keys of stored dicts in another order in each process.
    def compute(x: Any) -> Any:
        parts = {f"part_{index}": x + float(index) for index in range(12)}
        return {"z": [parts], "a": x} if nested else parts

    module = tf.Module()
    module.call = tf.function(compute, input_signature=[_X])
    tf.saved_model.save(module, str(tmp_path / "saved"))
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    parts = [f"part_{index}" for index in range(12)]
    want = ["a", *(f"z.0.{part}" for part in parts)] if nested else parts
    for function in (loaded.call.get_concrete_function(_X), loaded.call.concrete_functions[0]):
        model = convert(function, "onnx", verify=False).model
        assert [value.name for value in model.graph.outputs] == want


def test_pruned_in_a_structure_between_inner_tensors(tmp_path: Path) -> None:
    wrapped = v1.wrap_function(lambda x: tf.identity(tf.nn.relu(x, name="r") @ _KERNEL, name="y"), [_X])
    operation = wrapped.graph.get_operation_by_name("y")
    pruned = wrapped.prune("r:0", {"b": ("y:0",), "a": "y:0", "c": operation})
    model = agrees(pruned, [({"r": x}, [x @ _KERNEL] * 2) for x in _SAMPLES], tmp_path)
    assert [value.name for value in model.graph.output] == ["a", "b.0"]


def test_a_frozen_function_that_lost_its_table(tmp_path: Path) -> None:
    contents = tf.lookup.KeyValueTensorInitializer(["a"], np.array([3], np.int64))
    table = tf.lookup.StaticHashTable(contents, -1)
    function = tf.function(table.lookup, input_signature=[tf.TensorSpec([None], tf.string)])
    with pytest.raises(InvalidModel, match="handle of a variable or a table"):
        convert(convert_variables_to_constants_v2(function.get_concrete_function()), to="onnx")


def _with_tables() -> Any:
    """Reference and resource variables, a table, a loop, a branch."""
    x, words = v1.placeholder(tf.float32, [None, 3], name="x"), v1.placeholder(tf.string, [None], name="words")
    old = v1.get_variable("old", initializer=_KERNEL, use_resource=False)
    new = v1.get_variable("new", initializer=_KERNEL[0], use_resource=True)
    contents = tf.lookup.KeyValueTensorInitializer(["a", "b"], np.array([3, 4], np.int64))
    ids = tf.lookup.StaticHashTable(contents, -1).lookup(words)
    y = v1.cond(tf.reduce_sum(x) > 0.0, lambda: x @ old + new, lambda: x @ old - new)
    return tf.while_loop(lambda i, r: i < 3, lambda i, r: (i + 1, tf.tanh(r @ old + new)), [0, y])[1], ids


_WORDS = np.array(["b", "q", "a"], object)


@pytest.mark.parametrize("form", ["folder", "loaded", "signature", "pruned", "cut"])
def test_saved_by_tensorflow_1(form: str, tmp_path: Path) -> None:
    built = build(_with_tables)
    path = built.save(tmp_path / "saved")
    loaded = tf.saved_model.load(str(path))
    names = [tensor.name for tensor in built.outputs]
    sources: dict[str, Callable[[], Any]] = {
        "folder": lambda: path,
        "loaded": lambda: loaded,
        "signature": lambda: loaded.signatures["serving_default"],
        "pruned": lambda: loaded.prune(["x:0", "words:0"], names),
        "cut": lambda: path,
    }
    options: dict[str, Any] = {"inputs": ["x", "words"], "outputs": names} if form == "cut" else {}
    want = [({"x": x, "words": _WORDS}, built.run({"x": x, "words": _WORDS})) for x in _SAMPLES]
    agrees(sources[form](), want, tmp_path, **options)


def test_a_metagraph_and_its_checkpoint(tmp_path: Path) -> None:
    def make() -> Any:
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        kernel = v1.get_variable("kernel", initializer=_KERNEL, use_resource=False)
        return tf.while_loop(lambda i, r: i < 3, lambda i, r: (i + 1, tf.tanh(r @ kernel)), [0, x])[1]

    built = build(make)
    with built.graph.as_default():
        v1.train.Saver().save(built.session, str(tmp_path / "model"))
    want = [({"x": x}, built.run({"x": x})) for x in _SAMPLES]
    agrees(tmp_path / "model.meta", want, tmp_path, outputs=["result_0"])


def test_a_graph_is_converted_whole_where_nothing_is_named(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        v1.placeholder(tf.float32, [], name="not_used")
        y = tf.nn.relu(x, name="y")
        tf.reduce_sum(y, 1, name="sums")
        with tf.control_dependencies([tf.debugging.assert_less(x, 9.0)]):
            tf.identity(y * 2, name="doubled")
    kept = [np.maximum(x, 0) for x in _SAMPLES]
    want = [({"x": x}, [y.sum(1), y * 2]) for x, y in zip(_SAMPLES, kept, strict=True)]
    model = agrees(graph, want, tmp_path)
    assert [value.name for value in model.graph.output] == ["sums", "doubled"]
