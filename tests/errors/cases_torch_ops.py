"""Errors about what a PyTorch module computes, and about what it keeps."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import trueport
from tests.errors.case import Case
from trueport.reference.torch.evaluate import NodeStepper
from trueport.sources.open import open_source

__all__ = ["CASES"]


class _Of(nn.Module):
    """A function as a module; PyTorch keeps the lines only of what is called forward."""

    def __init__(self, called: Callable[..., Any]) -> None:
        super().__init__()
        called.__code__ = called.__code__.replace(co_name="forward")
        self.forward = called


class _Counting(nn.Module):
    calls = 0

    def forward(self, x: Any) -> Any:
        self.calls = self.calls + 1
        return x * self.calls


class _Remembering(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x: Any) -> Any:
        self.seen.add_(x.sum(0))
        return x + self.seen


class _SetInOneBranch(nn.Module):
    def forward(self, x: Any) -> Any:
        if x.sum() > 0:
            y = x * 2
        return y


class _SetInALoop(nn.Module):
    def forward(self, x: Any) -> Any:
        while x.sum() < 100:
            y = x * 2
            x = x + y
        return x


class _Leaving(nn.Module):
    def forward(self, x: Any) -> Any:
        while True:
            x = x + 1
            if x.sum() > 20:
                break
        return x


class _Scripted(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.linalg.eigvals(x)


class _Typed(nn.Module):
    def forward(self, x: Any) -> Any:
        assert x.dtype == torch.float32, "only float32"
        return x * 2


def _refused(called: Callable[..., Any], *example: Any, dims: str | None = None) -> Callable[[], object]:
    """Converting a module that computes this."""
    return lambda: trueport.convert(
        called if isinstance(called, nn.Module) else _Of(called),
        to="onnx",
        example_inputs=example,
        dynamic_shapes=dims,
        verify=False,
    )


def _unwarned(provoke: Callable[[], object]) -> Callable[[], object]:
    """Without what PyTorch says of its own libraries, once in a process."""

    def run() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            provoke()

    return run


def _of_doubles() -> None:
    trueport.convert(_Of(lambda x: x * 2), to="onnx", example_inputs=(ROWS,), data=[{"x": np.ones((2, 3))}])


def _no_operator() -> None:
    text = 'from trueport.frontends.torch.registry import maps_torch\n@maps_torch("acme::none")\ndef f(x): return x\n'
    Path("my_ops.py").write_text(text, "utf-8")
    trueport.convert(_Of(lambda x: x * 2), to="onnx", example_inputs=(ROWS,), ops=["my_ops.py"], verify=False)


def _typed_truth() -> None:
    open_source(_Typed(), options={"example_inputs": (ROWS,)}).reference().run({"x": ROWS.numpy()})


def _node_truth() -> None:
    """A node that takes no doubles."""
    program = torch.export.export(_Of(lambda x: torch.ops.aten._weight_int8pack_mm(*x)), (PACKED,))
    node = next(node for node in program.graph.nodes if node.op == "call_function")
    held = dict(
        zip((given.name for given in node.all_input_nodes), (part.numpy() for part in WIDE_PACKED), strict=True)
    )
    NodeStepper(program, 2.0**-24).run(node, held)


def _inner_value() -> None:
    source = open_source(_Of(lambda x: x * 2), options={"example_inputs": (ROWS,)})
    source.to_ir()
    source.runs()[0].run({"x": ROWS.numpy()}, fetch=["nothing"])


ROWS = torch.ones(2, 3)
SQUARE = torch.eye(3) * 2 + 0.1
HEADS = torch.ones(1, 4, 3, 2)
PACKED = [
    torch.ones(2, 32, dtype=torch.bfloat16),
    torch.ones(32, 32, dtype=torch.int8),
    torch.ones(32, dtype=torch.bfloat16),
]
WIDE_PACKED = [part.double() if part.is_floating_point() else part for part in PACKED]
attend = F.scaled_dot_product_attention

CASES = [
    Case("torch-data-of-another-type", _of_doubles),
    Case("torch-example-that-fails", _refused(nn.Linear(4, 2), ROWS)),
    Case("torch-keeps-a-number", _refused(_Counting(), ROWS)),
    Case("torch-keeps-a-tensor", _refused(_Remembering(), ROWS)),
    Case("torch-chance-of-python", _refused(lambda x: x * random.random(), ROWS)),
    Case("torch-script-without-a-form", lambda: _refused(torch.jit.script(_Scripted()), SQUARE)()),
    Case("torch-no-such-operator", _no_operator),
    Case("torch-no-truth", _typed_truth),
    Case("torch-no-truth-of-a-node", _node_truth),
    Case("torch-no-such-value", _inner_value),
    Case("torch-leaves-a-loop", _refused(_Leaving(), ROWS)),
    Case("torch-set-in-one-branch", _refused(_SetInOneBranch(), ROWS)),
    Case("torch-set-in-a-loop", _refused(_SetInALoop(), ROWS)),
    Case("torch-branch-on-a-size", _refused(lambda x: x * 2 if x.shape[0] > 3 else x - 1, ROWS, dims="x.0=n")),
    Case(
        "torch-table-for-small-sizes",
        _refused(lambda x: x if x.shape[0] > 3 else x + torch.ones(3, 1)[: x.shape[0]], ROWS, dims="x.0=n"),
    ),
    Case("torch-rrelu-in-training", _refused(lambda x: F.rrelu(x, training=True), ROWS)),
    Case("torch-attention-that-drops", _refused(lambda q: attend(q, q, q, dropout_p=0.5), HEADS)),
    Case(
        "torch-attention-of-open-heads",
        _refused(lambda q, k: attend(q, k, k, enable_gqa=True), HEADS, HEADS, dims="q.1=heads,k.1=heads"),
    ),
    Case(
        "torch-einsum-of-complex",
        _refused(lambda x: torch.view_as_real(torch.einsum("ij,kj,lj->ikl", *[torch.complex(x, x)] * 3)), ROWS),
    ),
    Case("torch-norm-of-complex", _refused(lambda x: torch.linalg.vector_norm(torch.complex(x, x), 3, -1), ROWS)),
    Case("torch-roll-of-complex", _refused(lambda x: torch.view_as_real(torch.complex(x, x).roll(1)), ROWS)),
    Case(
        "torch-stft-aligned",
        _refused(
            lambda x: torch.view_as_real(
                torch.stft(x, 8, 2, 4, torch.ones(4), center=False, align_to_window=True, return_complex=True)
            ),
            torch.ones(1, 32),
        ),
    ),
    Case("torch-factors-of-no-square", _refused(lambda x: torch.linalg.lu_factor(x), torch.eye(3, 4))),
    Case("torch-eigenvectors", _refused(lambda x: torch.linalg.eigh(x), SQUARE)),
    Case("torch-singular-vectors", _refused(lambda x: torch.linalg.svd(x), SQUARE)),
    Case("torch-singular-values-of-open-size", _refused(lambda x: torch.linalg.svdvals(x), SQUARE, dims="x.0=n")),
    Case("torch-pinv-of-a-triangle", _refused(lambda x: torch.linalg.pinv(x, hermitian=True), SQUARE)),
    Case("torch-pinv-computed-tolerance", _refused(lambda x: torch.linalg.pinv(x, atol=x.max()), SQUARE)),
    Case(
        "torch-tensorinv-of-open-size", _refused(lambda x: torch.linalg.tensorinv(x, ind=1), SQUARE, dims="x.0=n,x.1=n")
    ),
    Case(
        "torch-solves-from-the-right",
        _refused(lambda x: torch.linalg.lu_solve(*torch.linalg.lu_factor(x), x, left=False), SQUARE),
    ),
    Case(
        "torch-reflections-of-open-size",
        _refused(lambda x, tau: torch.linalg.householder_product(x, tau), torch.ones(4, 3), ROWS[0], dims="x.0=n"),
    ),
    Case(
        "torch-pooling-over-the-edge",
        _refused(lambda x: F.avg_pool2d(x, 2, ceil_mode=True, divisor_override=3), torch.ones(1, 1, 5, 5)),
    ),
    Case("torch-projected-lstm", _unwarned(_refused(nn.LSTM(3, 4, proj_size=2), torch.ones(2, 5, 3)))),
    Case(
        "torch-mean-of-whole-numbers",
        _refused(lambda x, i: x.scatter_reduce(0, i, x, "mean"), torch.ones(3, dtype=torch.int64), torch.arange(3)),
    ),
    Case(
        "torch-segments-by-offsets",
        _refused(lambda x, o: torch.segment_reduce(x, "sum", offsets=o), torch.ones(3), torch.tensor([0, 1, 3])),
    ),
    Case(
        "torch-zero-points-of-floats",
        _refused(
            lambda x: torch.fake_quantize_per_channel_affine(x, torch.ones(3), torch.ones(3) / 2, 1, 0, 255), ROWS
        ),
    ),
]
