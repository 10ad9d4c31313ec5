"""Hostile TensorFlow files: operators that touch files, in signatures, initializers, functions and TFLite's Flex."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.trackable.resource import CapturableResource

from tests.consent.case import Command, Hostile, of_model

__all__ = ["FILES"]

Effect = Callable[[Any, str], object]
SPEC = tf.TensorSpec([None, 2], tf.float32, name="x")


def _commands(file: Path) -> list[Command]:
    """Return what is done with a SavedModel: as a source, and as the model that another one is compared with."""
    return [*of_model(file), ("verify", file.parent / "other.onnx", file), ("run", file), ("diff", file, file)]


def _saved(effect: Effect) -> Callable[[Path, Path], list[Command]]:
    """Return a SavedModel whose signature has an effect."""

    def build(folder: Path, canary: Path) -> list[Command]:
        file = folder / "model"
        _save(effect, file, canary)
        return _commands(file)

    return build


def _save(effect: Effect, file: Path, canary: Path) -> None:
    @tf.function(input_signature=[SPEC], autograph=False)
    def call(x: Any) -> Any:
        effect(x, str(canary))
        return {"y": x + 1.0}

    module = tf.Module()
    module.call = call
    tf.saved_model.save(module, str(file), signatures=call)


def _write(x: Any, path: str) -> Any:
    return tf.io.write_file(path, "x")


def _in_branch(x: Any, path: str) -> None:
    tf.cond(tf.reduce_sum(x) < 1e9, lambda: [_write(x, path), 1][1], lambda: 0)


def _in_loop(x: Any, path: str) -> None:
    def body(i: Any) -> Any:
        with tf.control_dependencies([_write(x, path)]):
            return i + 1

    tf.while_loop(lambda i: i < 1, body, [0])


def _in_dataset(x: Any, path: str) -> None:
    def write(i: Any) -> Any:
        with tf.control_dependencies([_write(x, path)]):
            return tf.identity(i)

    tf.data.Dataset.range(2).map(write).reduce(tf.constant(0, tf.int64), lambda a, b: a + b)


def _called_from_python(x: Any, path: str) -> None:
    tf.numpy_function(lambda v: Path(path).write_text("x") or v, [x], tf.float32)


def _saved_tensors(x: Any, path: str) -> None:
    tf.raw_ops.SaveV2(prefix=path, tensor_names=["x"], shape_and_slices=[""], tensors=[x])


def _summary(x: Any, path: str) -> None:
    writer = tf.raw_ops.SummaryWriter(shared_name="evil", container="")
    created = tf.raw_ops.CreateSummaryFileWriter(
        writer=writer, logdir=path, max_queue=1, flush_millis=1, filename_suffix="x"
    )
    with tf.control_dependencies([created]):
        tf.raw_ops.FlushSummaryWriter(writer=writer)


def _mapped(x: Any, path: str) -> None:
    tf.raw_ops.ImmutableConst(dtype=tf.uint8, shape=[4], memory_region_name="/etc/hostname")


class _Initialized(CapturableResource):
    """A resource whose initializer, run when the model is loaded, writes a file."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path

    def _create_resource(self) -> Any:
        return tf.raw_ops.MutableHashTableV2(key_dtype=tf.int64, value_dtype=tf.int64, shared_name="evil")

    def _initialize(self) -> None:
        tf.io.write_file(self.path, "x")


def _initializer(folder: Path, canary: Path) -> list[Command]:
    file, module = folder / "model", tf.Module()
    module.held = _Initialized(str(canary))
    call = tf.function(lambda x: {"y": x + tf.cast(module.held.resource_handle is not None, tf.float32)})
    tf.saved_model.save(module, str(file), signatures=call.get_concrete_function(SPEC))
    return _commands(file)


def _table(folder: Path) -> tf.Module:
    vocabulary = folder / "vocabulary.txt"
    vocabulary.write_text("a\nb\n")
    module, whole = tf.Module(), tf.lookup.TextFileIndex.WHOLE_LINE
    index = tf.lookup.TextFileIndex.LINE_NUMBER
    initializer = tf.lookup.TextFileInitializer(str(vocabulary), tf.string, whole, tf.int64, index)
    module.table = tf.lookup.StaticHashTable(initializer, -1)
    return module


def _edited(edit: Callable[[Any, Path], object]) -> Callable[[Path, Path], list[Command]]:
    """Return a SavedModel with a vocabulary file, whose stored graph was edited."""

    def build(folder: Path, canary: Path) -> list[Command]:
        file, module = folder / "model", _table(folder)
        call = tf.function(lambda x: {"y": module.table.lookup(x)})
        spec = tf.TensorSpec([None], tf.string, name="x")
        tf.saved_model.save(module, str(file), signatures=call.get_concrete_function(spec))
        stored = saved_model_pb2.SavedModel.FromString((file / "saved_model.pb").read_bytes())
        edit(stored.meta_graphs[0], canary)
        (file / "saved_model.pb").write_bytes(stored.SerializeToString())
        return _commands(file)

    return build


def _asset_above(graph: Any, canary: Path) -> None:
    graph.asset_file_def[0].filename = "../../../../../../../../etc/passwd"


def _constant_vocabulary(graph: Any, canary: Path) -> None:
    """Read a table's keys from a file outside the assets of the model."""
    for function in graph.graph_def.library.function:
        for node in function.node_def:
            if node.op == "InitializeTableFromTextFileV2":
                node.input[1] = "evil:output:0"
                made = function.node_def.add(name="evil", op="Const")
                made.attr["dtype"].type = tf.string.as_datatype_enum
                made.attr["value"].tensor.CopyFrom(tf.make_tensor_proto("/etc/passwd"))


def _version_1(place: str) -> Callable[[Path, Path], list[Command]]:
    """Return a SavedModel of TensorFlow 1 that writes while it is loaded: by its main or its restore operation."""

    def build(folder: Path, canary: Path) -> list[Command]:
        v1, file = tf.compat.v1, folder / "model"
        with tf.Graph().as_default(), v1.Session() as session:
            x = v1.placeholder(tf.float32, [None, 2], name="x")
            y = tf.identity(x * v1.get_variable("v", initializer=2.0, use_resource=True), name="y")
            session.run(v1.global_variables_initializer())
            builder = v1.saved_model.Builder(str(file))
            border = v1.saved_model.predict_signature_def({"x": x}, {"y": y})
            write = tf.io.write_file(str(canary), "x")
            saver = v1.train.Saver()
            if place == "restore":
                node = session.graph.get_operation_by_name(saver.saver_def.restore_op_name)
                node._add_control_input(write)
            builder.add_meta_graph_and_variables(
                session, ["serve"], {"serving_default": border}, main_op=write if place == "main" else None, saver=saver
            )
            builder.save()
        return _commands(file)

    return build


def _as_text(folder: Path, canary: Path) -> list[Command]:
    file = folder / "model"
    _save(_write, file, canary)
    stored = saved_model_pb2.SavedModel.FromString((file / "saved_model.pb").read_bytes())
    (file / "saved_model.pb").unlink()
    (file / "saved_model.pbtxt").write_text(text_format.MessageToString(stored))
    return of_model(file, info=False)[:2]


def _claims_to_be_converted(folder: Path, canary: Path) -> list[Command]:
    file = folder / "model"
    _save(_write, file, canary)
    (file / "assets.extra").mkdir()
    (file / "assets.extra" / "trueport.json").write_text(
        json.dumps({"version": 1, "inputs": [], "outputs": [], "values": {}, "weights": [], "source": {}})
    )
    return _commands(file)[1:]


def _graph_def(folder: Path, canary: Path) -> list[Command]:
    file = folder / "model.pb"
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [None, 2], name="x")
        with tf.control_dependencies([_write(x, str(canary))]):
            tf.identity(x, name="y")
    file.write_bytes(graph.as_graph_def().SerializeToString())
    return of_model(file, info=False, words=("--inputs", "x:0", "--outputs", "y:0"))[:2]


def _flex(change: Callable[[bytes], bytes]) -> Callable[[Path, Path], list[Command]]:
    """Return a TFLite file with an operator of TensorFlow."""

    def build(folder: Path, canary: Path) -> list[Command]:
        file = folder / "model.tflite"

        @tf.function(input_signature=[tf.TensorSpec([1, 2], tf.float32, name="x")], autograph=False)
        def call(x: Any) -> Any:
            with tf.control_dependencies([_write(x, str(canary))]):
                return {"y": x + 1.0}

        converter = tf.lite.TFLiteConverter.from_concrete_functions([call.get_concrete_function()])
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS]
        file.write_bytes(change(converter.convert()))
        other = folder / "other.onnx"
        return [("info", file), ("verify", other, file), ("verify", file, other), ("run", file)]

    return build


def _renamed(content: bytes) -> bytes:
    """Give the operator a harmless name; what is run is the node in its options."""
    assert content.count(b"FlexWriteFile") == 1
    return content.replace(b"FlexWriteFile", b"FlexZerosLike")


def _pipe(folder: Path, canary: Path) -> list[Command]:
    """Return a SavedModel's folder whose graph is a pipe, at which a reader waits for ever."""
    (folder / "model").mkdir()
    os.mkfifo(folder / "model" / "saved_model.pb")
    other = folder / "other.onnx"
    return [*_commands(folder / "model"), ("verify", other, folder / "model"), ("run", folder / "model")]


FILES = [
    Hostile("saved-pipe", _pipe, "model", consent=False),
    Hostile("saved-write-file", _saved(_write), "WriteFile"),
    Hostile("saved-read-file", _saved(lambda x, p: tf.io.read_file("/etc/hostname")), "ReadFile"),
    Hostile("saved-matching-files", _saved(lambda x, p: tf.io.matching_files("/etc/*")), "MatchingFiles"),
    Hostile("saved-print-to-file", _saved(lambda x, p: tf.print(x, output_stream=f"file://{p}")), "PrintV2"),
    Hostile("saved-python-function", _saved(_called_from_python), "PyFunc"),
    Hostile("saved-save-tensors", _saved(_saved_tensors), "SaveV2"),
    Hostile("saved-summary-writer", _saved(_summary), "CreateSummaryFileWriter"),
    Hostile("saved-mapped-file", _saved(_mapped), "ImmutableConst"),
    Hostile("saved-write-in-branch", _saved(_in_branch), "WriteFile"),
    Hostile("saved-write-in-loop", _saved(_in_loop), "WriteFile"),
    Hostile("saved-write-in-dataset", _saved(_in_dataset), "WriteFile"),
    Hostile("saved-write-in-initializer", _initializer, "WriteFile"),
    Hostile("saved-write-in-main-op", _version_1("main"), "WriteFile"),
    Hostile("saved-write-in-restore-op", _version_1("restore"), "WriteFile"),
    Hostile("saved-asset-above", _edited(_asset_above), "etc/passwd"),
    Hostile("saved-constant-vocabulary", _edited(_constant_vocabulary), "InitializeTableFromTextFileV2"),
    Hostile("saved-as-text", _as_text, "WriteFile"),
    Hostile("saved-claims-to-be-converted", _claims_to_be_converted, "WriteFile"),
    Hostile("graph-def-write-file", _graph_def, "WriteFile"),
    Hostile("tflite-flex-write-file", _flex(lambda content: content), "WriteFile"),
    Hostile("tflite-flex-renamed", _flex(_renamed), "WriteFile"),
]
