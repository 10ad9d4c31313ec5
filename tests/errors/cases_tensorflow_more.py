"""TensorFlow's graphs, variables, tables, lists and loops in forms that can't be converted, and operators of a user."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import keras
import numpy as np
import tensorflow as tf
from tensorflow import raw_ops as raw

import trueport
from tests.errors.case import Case
from tests.errors.converting import BOOL, FLOAT, INT, LONG, STRING, converted, spec
from trueport.sources.open import open_source

__all__ = ["CASES"]

_COMPLEX = spec(tf.complex64)
_UNRANKED = tf.TensorSpec(None, tf.float32)
_KEY, _VALUE = tf.constant([1], tf.int64), tf.constant([1.0])


def _from_graph(name: str, build: Callable[[Any], Any], **options: Any) -> Case:
    """A GraphDef of operations on a placeholder x."""

    def provoke() -> None:
        with tf.Graph().as_default() as graph:
            build(tf.compat.v1.placeholder(tf.float32, [3], name="x"))
        trueport.convert(graph.as_graph_def(), to="onnx", verify=False, **options)

    return Case(f"tf-{name}", provoke)


def _from_call(name: str, change: Callable[[Any, Any], None]) -> Case:
    """A GraphDef that calls a function, with the call and the function changed."""

    def provoke() -> None:
        gc.collect()  # the case before has a function of the same name, which TensorFlow keeps until then
        inner = tf.function(lambda y: tf.cast(y, tf.int32), input_signature=[FLOAT(3)])
        outer = tf.function(lambda x: tf.identity(inner(x), name="y"), input_signature=[FLOAT(3)])
        made = outer.get_concrete_function().graph.as_graph_def()
        call = next(node for node in made.node if node.op == "PartitionedCall")
        call.attr["f"].func.name = made.library.function[0].signature.name = "inner"
        change(call, made.library.function[0])
        trueport.convert(made, to="onnx", verify=False, outputs=["y"])

    return Case(f"tf-{name}", provoke)


def _lost(call: Any, function: Any) -> None:
    call.attr["f"].func.name = "nowhere"


def _opened(call: Any, function: Any, op: str, attribute: str, kind: str) -> None:
    """The attribute of an operation is the caller's to say."""
    function.signature.attr.add(name=attribute, type=kind)
    next(node for node in function.node_def if node.op == op).attr[attribute].placeholder = attribute


def _open_flag(call: Any, function: Any) -> None:
    _opened(call, function, "Cast", "Truncate", "bool")
    call.attr["f"].func.attr["Truncate"].b = False


def _open_type(call: Any, function: Any) -> None:
    _opened(call, function, "Identity", "T", "type")
    function.signature.output_arg[0].ClearField("type")
    function.signature.output_arg[0].type_attr = "T"
    call.attr["f"].func.attr["T"].type = tf.int32.as_datatype_enum


def _torn(call: Any, function: Any) -> None:
    call.input[0] = "nowhere"


def _truth(name: str, function: Callable[[Any, Any], Any], value: float) -> Case:
    """A function of a variable and an input, evaluated in float64."""

    def provoke() -> None:
        variable = tf.Variable([1.0])
        source = tf.function(lambda x: function(variable, x), input_signature=[FLOAT(1)], autograph=False)
        reference = open_source(source).reference()
        reference.run({"x": np.array([value], np.float32)})

    return Case(f"tf-{name}", provoke)


def _set_in_part(variable: Any, x: Any) -> Any:
    variable.scatter_update(tf.IndexedSlices(x, [0]))
    return x


def _declared(name: str, op: str, handler: str, function: Callable[..., Any], given: Any, domain: str = "tf") -> Case:
    """An operator that the user declares."""

    def provoke() -> None:
        Path("mine.py").write_text(f'from trueport import maps\n\n@maps("{op}", domain="{domain}")\n{handler}\n')
        converted(name, function, given, ops=["mine.py"]).provoke()

    return Case(f"tf-{name}", provoke)


def _with(name: str, make: Callable[[], Any], function: Callable[..., Any], *specs: Any) -> Case:
    """A function that holds something from outside, which its first argument is."""
    return Case(f"tf-{name}", lambda: _holding(make(), name, function, *specs))


def _holding(held: Any, name: str, function: Callable[..., Any], *specs: Any) -> None:
    converted(name, lambda *tensors: function(held, *tensors), *specs).provoke()


def _two_variables() -> tuple[Any, Any]:
    return tf.Variable([1.0]), tf.Variable([2.0])


def _chosen(held: tuple[Any, Any], first: Any) -> Any:
    handles = [variable.handle for variable in held]
    found = tf.cond(first, lambda: tf.identity(handles[0]), lambda: tf.identity(handles[1]))
    return raw.ReadVariableOp(resource=found, dtype=tf.float32)


def _swapped(held: tuple[Any, Any], count: Any) -> Any:
    begin = (0, held[0].handle, held[1].handle)
    _, found, _ = tf.while_loop(lambda i, a, b: i < count, lambda i, a, b: (i + 1, b, a), begin)
    return raw.ReadVariableOp(resource=found, dtype=tf.float32)


def _variable(dtype: Any = tf.float32) -> Any:
    """A variable that the graph itself makes."""
    return raw.VarHandleOp(dtype=dtype, shape=[3], shared_name="kept")


def _made_in_a_branch(really: Any, x: Any) -> Any:
    def own() -> Any:
        raw.AssignVariableOp(resource=(handle := _variable()), value=x)
        return raw.ReadVariableOp(resource=handle, dtype=tf.float32)

    return tf.cond(really, own, lambda: x)


def _first_set_in_a_branch(really: Any, x: Any) -> Any:
    handle = _variable()

    def own() -> Any:
        raw.AssignVariableOp(resource=handle, value=x)
        return x

    return tf.cond(really, own, lambda: x)


def _dense_table() -> Any:
    keys = {"empty_key": [-1, -1], "deleted_key": [-2, -2]}
    table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.float32, 0.0, **keys)
    table.insert([[1, 2]], [1.0])
    return table


def _filled_in_a_branch(really: Any, x: Any) -> Any:
    table = raw.AnonymousMutableHashTable(key_dtype=tf.int64, value_dtype=tf.float32)

    def fill() -> Any:
        raw.LookupTableInsertV2(table_handle=table, keys=_KEY, values=_VALUE)
        return x

    return tf.cond(really, fill, lambda: x)


def _list(count: Any, dims: Any = -1, dtype: Any = tf.float32) -> Any:
    return raw.TensorListReserve(element_shape=tf.constant(dims, tf.int32), num_elements=count, element_dtype=dtype)


def _set_and_read(count: Any, index: Any, item: Any) -> Any:
    written = raw.TensorListSetItem(input_handle=_list(count), index=index, item=item)
    return raw.TensorListGetItem(input_handle=written, index=index, element_shape=[3], element_dtype=tf.float32)


def _collected(count: Any) -> Any:
    def step(i: Any, held: Any) -> Any:
        return i + 1, raw.TensorListSetItem(input_handle=held, index=i, item=tf.complex(tf.cast(i, tf.float32), 1.0))

    _, held = tf.while_loop(lambda i, _: i < count, step, (0, _list(count, [], tf.complex64)))
    return raw.TensorListLength(input_handle=held)


def _hashed_end(word: Any) -> Any:
    begin = [tf.constant(0, tf.int64)]
    return tf.while_loop(lambda i: i < tf.strings.to_hash_bucket_strong(word, 9, [1, 2]), lambda i: [i + 1], begin)


class Odd(keras.Model):
    """Built without being called."""

    def call(self, x: Any) -> Any:
        return x


def _never_called() -> None:
    keras.utils.clear_session()
    model = Odd()
    model.built = True
    trueport.convert(model, to="onnx")


def _on_another_backend() -> None:
    with mock.patch.object(keras.backend, "backend", return_value="jax"):
        trueport.convert(keras.Sequential([keras.Input((3,))]), to="onnx")


def _empty_graph() -> None:
    Path("empty.pb").touch()
    trueport.convert("empty.pb", to="onnx", outputs=["y"])


def _handle_input() -> Any:
    return tf.compat.v1.placeholder(tf.resource, [], name="handle")


def _of_two_conditions(x: Any) -> None:
    first, second = raw.Switch(data=x, pred=x[0] > 0.0), raw.Switch(data=x, pred=x[1] > 0.0)
    raw.Merge(inputs=[first.output_false, second.output_true], name="y")


def _array_with_gradients(x: Any) -> None:
    array = raw.TensorArrayV3(size=3, dtype=tf.float32)
    found = raw.TensorArrayGradV3(handle=array.handle, flow_in=array.flow, source="gradients")
    raw.TensorArrayReadV3(handle=found.grad_handle, index=0, flow_in=found.flow_out, dtype=tf.float32, name="y")


def _with_a_reference(x: Any) -> Any:
    off, on = raw.Switch(data=x, pred=x[0] > 0.0)
    return raw.Merge(inputs=[off, on]).output + raw.VariableV2(shape=[3], dtype=tf.float32)


def _from_metagraph(change: Callable[[], Any], **options: Any) -> None:
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        tf.identity(v1.placeholder(tf.float32, [3], name="x") + v1.get_variable("v", [3]), name="y")
        session.run(v1.global_variables_initializer())
        v1.train.Saver().save(session, "./model")
    change()
    trueport.convert("model.meta", to="onnx", verify=False, **options)


def _break_metagraph() -> None:
    Path("model.meta").write_bytes(tf.compat.v1.MetaGraphDef().SerializeToString())


_SOURCES = [
    converted("turned-without-channels", lambda x: x + 1, FLOAT(2, 3), inputs_as_nchw=["x"]),
    Case("tf-keras-model-that-was-never-called", _never_called),
    Case("tf-keras-on-another-backend", _on_another_backend),
    Case("tf-graph-without-nodes", _empty_graph),
    _from_graph("graph-without-outputs", lambda x: tf.constant(1.0)),
    _from_graph("graph-with-variables", lambda x: tf.identity(tf.Variable([1.0, 2.0, 3.0], name="v") + x, name="y")),
    _from_graph(
        "graph-with-a-handle", lambda x: raw.ReadVariableOp(resource=_handle_input(), dtype=tf.float32, name="y")
    ),
    _from_graph("graph-without-that-tensor", lambda x: tf.nn.relu(x, name="y"), outputs=["z"]),
    _from_graph(
        "graph-that-needs-more-inputs",
        lambda x: tf.add(tf.compat.v1.placeholder(tf.float32, [3], name="z"), x, name="y"),
        inputs=["x"],
        outputs=["y"],
    ),
    _from_graph("output-in-a-branch", lambda x: raw.Switch(data=x, pred=x[0] > 0.0)[1] + 1.0, outputs=["add"]),
    _from_graph("branches-of-two-conditions", _of_two_conditions, outputs=["y"]),
    _from_graph(
        "output-that-is-an-array", lambda x: raw.TensorArrayV3(size=3, dtype=tf.float32, name="y"), outputs=["y:1"]
    ),
    _from_graph("array-with-gradients", _array_with_gradients, outputs=["y"]),
    converted("variable-in-a-function", _with_a_reference, FLOAT(3)),
    converted(
        "strings-that-are-not-utf-8",
        lambda x: tf.strings.join([x, tf.constant([b"\xff"])]),
        tf.TensorSpec([1], tf.string),
    ),
    converted(
        "separator-that-is-not-utf-8",
        lambda x: tf.strings.split(x, b"\xff").to_tensor(),
        tf.TensorSpec([1], tf.string),
    ),
    Case("tf-metagraph-without-outputs", lambda: _from_metagraph(lambda: None)),
    Case("tf-metagraph-without-checkpoint", lambda: _from_metagraph(Path("model.index").unlink, outputs=["y"])),
    Case("tf-metagraph-that-is-broken", lambda: _from_metagraph(_break_metagraph, outputs=["y"])),
    _from_call("function-that-is-lost", _lost),
    _from_call("function-with-an-open-type", _open_type),
    _from_call("function-with-an-open-attribute", _open_flag),
    _from_call("graph-that-is-torn", _torn),
    _truth("truth-of-a-part", _set_in_part, 1),
    _truth("truth-that-fails", lambda _, x: tf.debugging.check_numerics(x, "bad"), np.nan),
]

_STATE = [
    _with("variable-that-is-chosen", _two_variables, _chosen, BOOL()),
    _with("variables-that-are-swapped", _two_variables, _swapped, INT()),
    converted("variable-without-a-value", lambda: raw.ReadVariableOp(resource=_variable(), dtype=tf.float32)),
    converted(
        "complex-variable-without-a-value",
        lambda: tf.abs(raw.ReadVariableOp(resource=_variable(tf.complex64), dtype=tf.complex64)),
    ),
    converted("variable-made-in-a-branch", _made_in_a_branch, BOOL(), FLOAT(3)),
    converted("variable-first-set-in-a-branch", _first_set_in_a_branch, BOOL(), FLOAT(3)),
    _with(
        "table-that-changes",
        lambda: tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, 0.0),
        lambda table, keys, values: (table.insert(keys, values), values)[1],
        LONG(3),
        FLOAT(3),
    ),
    converted("table-that-a-branch-changes", _filled_in_a_branch, BOOL(), FLOAT(3)),
    _with("table-of-vectors", _dense_table, lambda table, keys: table.lookup(keys), LONG(None, 2)),
    converted(
        "table-that-is-none",
        lambda keys: raw.LookupTableFindV2(table_handle=_variable(), keys=keys, default_value=0.0),
        LONG(3),
    ),
    converted("size-of-what-is-no-table", lambda: raw.LookupTableSizeV2(table_handle=_variable())),
]

_LISTS = [
    converted("list-of-unknown-rank", _set_and_read, INT(), INT(), _UNRANKED),
    converted(
        "list-that-was-not-written",
        lambda: raw.TensorListGetItem(input_handle=_list(2), index=0, element_shape=-1, element_dtype=tf.float32),
    ),
    _with("list-from-outside", lambda: _list(2), lambda held: raw.TensorListLength(input_handle=held)),
    converted("list-of-lists", lambda: raw.TensorListLength(input_handle=_list(2, [], tf.variant))),
    converted("list-of-complex-numbers", _collected, INT()),
    converted("loop-that-ends-nowhere", _hashed_end, STRING()),
]

_DECLARED = [
    converted(
        "custom-with-a-handle",
        lambda x: raw.OptionalHasValue(optional=raw.OptionalFromValue(components=[x])),
        FLOAT(3),
        custom_domain="mine",
    ),
    _declared("own-that-fails", "Neg", "def mine(t, x):\n    return t.op.Neg(x, 1 / 0)", tf.negative, FLOAT(3)),
    _declared("own-of-another-type", "Neg", "def mine(t, x):\n    return t.op.Cast(x, to=7)", tf.negative, FLOAT(3)),
    _declared(
        "own-for-complex-numbers-only",
        "Eig",
        "def mine(t, input, *, compute_v):\n    return t.redo(input.real)",
        tf.linalg.eigvals,
        _COMPLEX(3, 3),
        domain="tf.complex",
    ),
]

CASES = [*_SOURCES, *_STATE, *_LISTS, *_DECLARED]
