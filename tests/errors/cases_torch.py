"""Errors about PyTorch sources."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

import trueport
from tests.errors.case import Case, cli

__all__ = ["CASES"]


class _Twice(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return 2 * x


class _Bad(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.linalg.eig(x)


def _written(name: str, value: Any) -> str:
    torch.save(value, name)
    return name


def _text(name: str, text: str) -> str:
    Path(name).write_text(text, "utf-8")
    return name


X = torch.ones(2, 3)


def _convert(module: Any = None, example: Any = (X,), **options: Any) -> None:
    trueport.convert(module or _Twice(), to="onnx", example_inputs=example, verify=False, **options)


CASES = [
    Case("torch-no-file", lambda: cli("check", "nothing.pt2", "--to", "onnx")),
    Case("torch-no-such-form", lambda: cli("check", _text("net.pt2", "words"), "--to", "onnx")),
    Case("torch-only-weights", lambda: cli("check", _written("net.pt", {"w": X}), "--to", "onnx")),
    Case("torch-pickled-code", lambda: cli("check", _written("net.pt", _Twice()), "--to", "onnx")),
    Case("torch-no-module", lambda: cli("check", "no_such_module_here:build", "--to", "onnx")),
    Case("torch-no-function", lambda: (_text("nets_a.py", "x = 1"), cli("check", "nets_a:build", "--to", "onnx"))),
    Case(
        "torch-builds-no-module",
        lambda: (_text("nets_b.py", "def build(): return 1"), cli("check", "nets_b:build", "--to", "onnx")),
    ),
    Case("torch-without-an-example", lambda: trueport.convert(_Twice(), to="onnx")),
    Case("torch-example-of-another-kind", lambda: _convert(example=3)),
    Case("torch-example-that-does-not-fit", lambda: _convert(example=(X, X))),
    Case("torch-example-in-wrong-words", lambda: _convert(example="x=floaty[1]")),
    Case("torch-dynamic-in-wrong-words", lambda: _convert(dynamic_shapes="x-0")),
    Case("torch-dynamic-of-no-input", lambda: _convert(dynamic_shapes={"z.0": "batch"})),
    Case("torch-dynamic-of-no-axis", lambda: _convert(dynamic_shapes={"x.5": "batch"})),
    Case("torch-dynamic-of-too-many", lambda: _convert(dynamic_shapes=({0: torch.export.Dim("n")}, None))),
    Case("torch-opset-for-tensorflow", lambda: trueport.convert(_Twice(), "tensorflow", example_inputs=(X,), opset=13)),
    Case("torch-operator-without-a-form", lambda: _convert(_Bad(), (torch.ones(3, 3),))),
]
