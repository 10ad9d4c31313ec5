"""Errors about modules whose captured graph is not what eager mode computes, and about files that are none."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import torch

import trueport
from tests.errors.case import Case, cli
from tests.errors.cases_torch_ops import ROWS, _Of, _refused
from tests.models import model_of, relu_chain
from trueport.frontends.torch.source.agreement import refuse_disagreement
from trueport.frontends.torch.source.capture import capture_torch
from trueport.frontends.torch.source.resolve import TorchOptions
from trueport.ir.ports import Port
from trueport.runtimes.torch import TorchModel

__all__ = ["CASES"]


def _another_program() -> None:
    captured = capture_torch(_Of(lambda x: x * 2), TorchOptions(example_inputs=(ROWS,)))
    refuse_disagreement(_Of(lambda x: x * 3), captured.call, captured.program, ())


def _model_with(location: str) -> Path:
    model = model_of(
        [oh.make_node("Add", ["x", "w"], ["y"], "add")],
        [oh.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2])],
        [oh.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2])],
    )
    tensor = model.graph.initializer.add(name="w", data_type=onnx.TensorProto.FLOAT, dims=[2])
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    Path("net.onnx").write_bytes(model.SerializeToString())
    return Path("net.onnx")


def _folder_as_data() -> None:
    Path("weights").mkdir()
    cli("info", _model_with("weights"))


def _sparse(dims: list[int], index: int) -> Callable[[], None]:
    def provoke() -> None:
        model = relu_chain()
        values = onnx.numpy_helper.from_array(np.ones(1, np.float32), "w")
        indices = onnx.numpy_helper.from_array(np.array([index], np.int64), "at")
        model.graph.sparse_initializer.append(oh.make_sparse_tensor(values, indices, dims))
        Path("net.onnx").write_bytes(model.SerializeToString())
        cli("check", "net.onnx")

    return provoke


def _member_with_another_sum() -> None:
    with zipfile.ZipFile("net.pt2", "w") as archive:
        archive.writestr("a/models/model.json", "{ }")
    content = Path("net.pt2").read_bytes()
    Path("net.pt2").write_bytes(content.replace(b"{ }", b"[ ]"))
    cli("check", "net.pt2")


def _report_in_a_folder() -> None:
    Path("r.json").mkdir()
    cli("report", "r.json")


def _named_by_size() -> None:
    port = Port("x", "tensor", "FLOAT", ("n",), ("x",))

    def eager(feeds: Mapping[str, Any]) -> dict[str, Any]:
        return {f"y{len(feeds['x'])}": feeds["x"]}

    TorchModel(eager, (port,), (Port("y2", "tensor", "FLOAT", ("n",), ("y2",)),)).run({"x": np.ones(3, np.float32)})


def _too_new() -> None:
    trueport.convert(_Of(lambda x: x + 1), to="onnx", example_inputs=(ROWS,), opset=28)


CASES = [
    Case("torch-output-named-by-size", _refused(lambda x: {f"y{x.shape[0]}": x}, ROWS, dims="x.0=n")),
    Case("torch-rank-by-size", _refused(lambda x: x.squeeze(0), ROWS, dims="x.0=n")),
    Case("torch-capture-of-another-case", _another_program),
    Case("torch-reads-memory", _refused(lambda x: x.as_strided((2, 2), (1, 2)), torch.arange(6.0).reshape(2, 3))),
    Case("torch-gives-nothing", _refused(lambda x: "done", ROWS)),
    Case("torch-run-gives-other-names", _named_by_size),
    Case("onnx-opset-too-new-to-run", _too_new),
    Case("external-data-at-an-address", lambda: cli("info", _model_with("*/_ORT_MEM_ADDR_/*"))),
    Case("external-data-in-a-folder", _folder_as_data),
    Case("sparse-tensor-too-large", _sparse([2**20, 2**20], 1)),
    Case("sparse-tensor-that-does-not-fit", _sparse([3], 7)),
    Case("zip-member-with-another-sum", _member_with_another_sum),
    Case("report-in-a-folder", _report_in_a_folder),
]
