"""The tables of operators against the installed frameworks, and honest files that need no consent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tensorflow as tf
import torch
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session

from trueport.consent.tensorflow_files import check_graph_def, check_saved_model
from trueport.consent.tensorflow_operators import EFFECTS, named_in
from trueport.consent.tensorflow_operators import effect_of as tensorflow_effect
from trueport.consent.torch_operators import NAMESPACES, OPERATORS, effect_of
from trueport.consent.torch_program import reasons_against
from trueport.errors import Untrusted

_TELLING = re.compile(
    r"file_?names?|filename_suffix|file_pattern|.*_file|.*path|logdir|directory|.*address|debug_urls|db_uri|descriptor_source"
)
_COMPUTES = {"ShardedFilename": "joins strings", "ShardedFilespec": "joins strings"}


def _registered() -> list[op_def_pb2.OpDef]:
    listed = op_def_pb2.OpList()
    listed.ParseFromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    return list(listed.op)


def test_all_operators_of_tensorflow_that_take_a_place_are_listed() -> None:
    taking = {op.name for op in _registered() for a in (*op.input_arg, *op.attr) if _TELLING.fullmatch(a.name)}
    assert sorted(taking - set(EFFECTS) - set(_COMPUTES)) == []


def test_all_listed_operators_of_tensorflow_exist() -> None:
    assert sorted(set(EFFECTS) - {op.name for op in _registered()}) == []


def test_all_operators_of_torch_that_take_a_place_are_listed() -> None:
    schemas = torch._C._jit_get_all_schemas()
    taking = {s.name for s in schemas if any(re.fullmatch(r"file_?name|.*path|url", a.name) for a in s.arguments)}
    assert sorted(name for name in taking - {"aten::einsum"} if not effect_of(*name.split("::"))) == []
    assert sorted(set(OPERATORS) - {s.name for s in schemas} - {"debugprims::load_tensor"}) == []
    communicating = {s.name.split("::")[0] for s in schemas if re.search(r"c10d|rpc|symm_mem", s.name.split("::")[0])}
    assert sorted(communicating - set(NAMESPACES)) == []


def test_a_table_of_the_models_own_vocabulary_and_lines_on_the_terminal_need_no_consent(tmp_path: Path) -> None:
    vocabulary = tmp_path / "vocabulary.txt"
    vocabulary.write_text("a\nb\n")
    module, index = tf.Module(), tf.lookup.TextFileIndex
    initializer = tf.lookup.TextFileInitializer(
        str(vocabulary), tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER
    )
    module.table = tf.lookup.StaticHashTable(initializer, -1)
    module.variable = tf.Variable(1, dtype=tf.int64)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="x")])
    def call(x: tf.Tensor) -> dict[str, tf.Tensor]:
        tf.print(x)
        return {"y": module.table.lookup(x) + module.variable}

    tf.saved_model.save(module, str(tmp_path / "model"), signatures=call)
    check_saved_model(tmp_path / "model")


def test_an_operator_in_a_tflite_file_is_found_whatever_follows_its_name() -> None:
    node = b"\x0a\x01n\x12\x09WriteFile" + b"A" + bytes(8)  # field 8, which NodeDef does not have, is skipped
    assert named_in(b"FlexZerosLike" + node) == ["WriteFile"]
    assert named_in(b"FlexOverWriteFile") == []


def test_a_function_that_is_handed_on_to_another_is_found(tmp_path: Path) -> None:
    graph = tf.compat.v1.GraphDef()
    writing = graph.library.function.add()
    writing.signature.name = "writing"
    writing.node_def.add(name="w", op="SaveV2")
    graph.library.function.add().signature.name = "calling"
    node = graph.node.add(name="y", op="PartitionedCall")
    node.attr["f"].func.name = "calling"
    node.attr["f"].func.attr["g"].func.name = "writing"
    with pytest.raises(Untrusted, match="SaveV2"):
        check_graph_def(graph, ["y"], tmp_path)


def test_definitions_of_protocol_buffers_in_a_file_need_consent() -> None:
    node = tf.compat.v1.NodeDef(op="DecodeProtoV2")
    node.attr["descriptor_source"].s = b"bytes://x"
    assert tensorflow_effect(node) == ""
    node.attr["descriptor_source"].s = b"/etc/hostname"
    assert tensorflow_effect(node) == "reads files"


@pytest.mark.parametrize(
    "size",
    ["S('a')", "Matrix(1, 1, open)", "Symbol(b'(1)')", "open", "Lambda(x, x)", "N('a')", "Function('f')(s0)"],
)
def test_sizes_that_pytorch_does_not_write(size: str) -> None:
    assert list(reasons_against({"expr_str": size})) != []


@pytest.mark.parametrize(
    "size",
    [
        "Symbol('s31', positive=True, integer=True)",
        "Mul(Integer(2), Symbol('s0', integer=True))",
        "s0 + 2*s1",
        "FloorDiv(s0 - 1, 2) + 1",
        "Max(1, s0)",
        "Mod(s77, 8)",
        "floor(s0/2)",
    ],
)
def test_sizes_as_pytorch_writes_them(size: str) -> None:
    assert list(reasons_against({"expr_str": size})) == []


@pytest.mark.parametrize(
    "guard", ["L['x'].size()[0] == 3", "2 <= L['z']['k'].size()[1]", "Mod(L['x'].size()[0], 8) == 0"]
)
def test_guards_as_pytorch_writes_them(guard: str) -> None:
    assert list(reasons_against({"guards_code": [guard]})) == []


@pytest.mark.parametrize(
    "target",
    ["torch.ops.aten.add.Tensor", "_operator.getitem", "math.sqrt", "torch.sym_max", "torch.ops.higher_order.cond"],
)
def test_targets_as_pytorch_writes_them(target: str) -> None:
    assert list(reasons_against({"target": target, "inputs": []})) == []
