"""Dtypes and digits of PyTorch's results: halves, numbers in float64, small integers, writes, empty tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from tests.cells import grid
from tests.families.numbers import Functions, groups, torch_outputs
from tests.torch.speed import one_registry

TARGETS = ("onnx", "tensorflow")
_RNG = np.random.default_rng(1)
_ROWS = torch.from_numpy(_RNG.standard_normal((4, 6)))
HALVES: Functions = {
    "sum": lambda x: x.sum(),
    "sum_dim": lambda x: x.sum(-1),
    "mean": lambda x: x.mean(-1),
    "prod": lambda x: x.prod(-1),
    "cumsum": lambda x: x.cumsum(-1),
    "cumprod": lambda x: x.cumprod(-1),
    "std": lambda x: x.std(-1),
    "norm": lambda x: x.norm(),
    "amax": lambda x: x.amax(-1),
    "nansum": lambda x: x.nansum(-1),
    "trace": torch.trace,
    "logsumexp": lambda x: x.logsumexp(-1),
    "sum_in_float32": lambda x: x.sum(dtype=torch.float32),
    "softmax_in_float32": lambda x: F.softmax(x, -1, dtype=torch.float32),
    "any": lambda x: x.any(-1),
}
NUMBERS: Functions = {
    "mul": lambda x: x * 0.1,
    "add": lambda x: x + math.pi,
    "div": lambda x: x / 0.3,
    "rsub": lambda x: 0.1 - x,
    "rdiv": lambda x: 0.1 / x,
    "pow": lambda x: x.abs() ** (1 / 3),
    "rpow": lambda x: 0.1**x,
    "add_alpha": lambda x: torch.add(x, x, alpha=0.1),
    "addcmul": lambda x: torch.addcmul(x, x, x, value=0.1),
    "addcdiv": lambda x: torch.addcdiv(x, x, x.abs() + 1, value=0.1),
    "lerp": lambda x: torch.lerp(x, x.flip(0), 0.1),
    "clamp": lambda x: x.clamp(-0.1, 1 / 3),
    "leaky_relu": lambda x: F.leaky_relu(x, 0.1),
    "elu": lambda x: F.elu(x, 0.1),
    "celu": lambda x: F.celu(x, 0.1),
    "selu": F.selu,
    "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "softplus": lambda x: F.softplus(x, 0.1),
    "hardtanh": lambda x: F.hardtanh(x, -0.1, 0.1),
    "threshold": lambda x: F.threshold(x, 0.1, 0.3),
    "softshrink": lambda x: F.softshrink(x, 0.1),
    "mish": F.mish,
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:], eps=1e-3),
    "group_norm": lambda x: F.group_norm(x, 2, eps=1e-3),
    "instance_norm": lambda x: F.instance_norm(x[None], eps=1e-3),
    "batch_norm": lambda x: F.batch_norm(x, x.new_zeros(6), x.new_ones(6), eps=1e-3),
    "rms_norm": lambda x: F.rms_norm(x, x.shape[-1:], eps=1e-3),
    "where": lambda x: torch.where(x > 0.1, x, 0.1),
    "masked_fill": lambda x: x.masked_fill(x > 0.1, 0.1),
    "full_like": lambda x: torch.full_like(x, 1 / 3),
    "linspace": lambda x: torch.linspace(0, 0.7, 6, dtype=x.dtype) + x,
    "arange": lambda x: torch.arange(0, 0.6, 0.1, dtype=x.dtype) + x,
    "arange_float32": lambda x: torch.arange(0, 0.6, 0.1),
    "remainder": lambda x: x % 0.3,
    "compared": lambda x: (x * 0 + 0.1) == 0.1,
    "deg2rad": torch.deg2rad,
    "log2": lambda x: x.abs().log2(),
    "log10": lambda x: x.abs().log10(),
    "sinc": torch.sinc,
    "huber": lambda x: F.huber_loss(x, x.flip(0), delta=0.1),
    "addmm": lambda x: torch.addmm(x @ x.T, x, x.T, beta=0.1, alpha=0.3),
    "baddbmm": lambda x: torch.baddbmm((x @ x.T)[None], x[None], x.T[None], beta=0.1, alpha=0.3),
    "attention": lambda x: F.scaled_dot_product_attention(x[None, None], x[None, None], x[None, None]),
    "fill": lambda x: x.clone().fill_(0.1),
    "std": lambda x: x.std(),
    "quantile": lambda x: x.quantile(0.3),
}
INTEGERS: Functions = {
    "left_shift": lambda a, b: a << (b & 3),
    "right_shift": lambda a, b: a >> (b & 3),
    "left_shift_number": lambda a, b: a << 2,
    "right_shift_number": lambda a, b: a >> 1,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | 5,
    "xor": lambda a, b: a ^ b,
    "not": lambda a, b: ~a,
    "neg": lambda a, b: -a,
    "abs": lambda a, b: a.abs(),
    "remainder": lambda a, b: a % (b | 1),
    "remainder_number": lambda a, b: a % 3,
    "fmod": lambda a, b: torch.fmod(a, b | 1),
    "floor_divide": lambda a, b: a // (b | 1),
    "floor_divide_number": lambda a, b: a // 3,
    "trunc_divide": lambda a, b: torch.div(a, b | 1, rounding_mode="trunc"),
    "mul": lambda a, b: a * b,
    "rsub": lambda a, b: 3 - a,
    "add_float": lambda a, b: a + 0.5,
    "square": lambda a, b: a.square(),
    "cube": lambda a, b: a**3,
    "sum": lambda a, b: a.sum(),
    "prod": lambda a, b: a.prod(),
    "cumsum": lambda a, b: a.cumsum(0),
    "cummax": lambda a, b: a.cummax(0)[0],
    "amax": lambda a, b: a.amax(),
    "amin": lambda a, b: a.amin(0, keepdim=True),
    "any": lambda a, b: a.any(),
    "all": lambda a, b: a.all(),
    "trunc": lambda a, b: a.trunc(),
    "clamp": lambda a, b: a.clamp(1, 5),
    "maximum": lambda a, b: torch.maximum(a, b),
}


def _written(write: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def function(x: Any, row: Any) -> Any:
        copied = x.clone()
        write(copied, row)
        return copied

    return function


WRITES: Functions = {
    "copy_row": _written(lambda y, r: y.copy_(r)),
    "copy_number": _written(lambda y, r: y.copy_(r[3])),
    "copy_integers": _written(lambda y, r: y.copy_(torch.arange(6))),
    "copy_into_rows": _written(lambda y, r: y[1:3].copy_(r)),
    "copy_into_column": _written(lambda y, r: y[:, 1].copy_(r[0])),
    "copy_into_transposed": _written(lambda y, r: y.t()[0].copy_(r[0])),
    "fill_rows": _written(lambda y, r: y[:2].fill_(r[0])),
    "add_row": _written(lambda y, r: y.add_(r)),
    "mul_columns": _written(lambda y, r: y[:, ::2].mul_(r[0])),
    "set_slice": _written(lambda y, r: y.__setitem__(slice(1, 3), r)),
    "set_all": _written(lambda y, r: y.__setitem__(Ellipsis, r)),
    "set_masked": _written(lambda y, r: y.__setitem__(torch.tensor([True, False, True, False]), r)),
    "masked_fill": _written(lambda y, r: y.masked_fill_(r > 0, 0.1)),
    "index_put": _written(lambda y, r: y.index_put_((torch.tensor([0, 2]),), r)),
    "index_put_sum": _written(lambda y, r: y.index_put_((torch.tensor([0, 0, 2]),), r, accumulate=True)),
    "set_crossed": _written(lambda y, r: y.__setitem__((torch.tensor([[0], [2]]), torch.tensor([1, 3])), r[:2])),
    "index_fill": _written(lambda y, r: y.index_fill_(0, torch.tensor([0, 2]), 0.1)),
    "lerp": _written(lambda y, r: y.lerp_(r, 0.1)),
}
EMPTY: Functions = {
    "sum": lambda x: x.sum(),
    "sum_0": lambda x: x.sum(0),
    "prod": lambda x: x.prod(),
    "prod_0": lambda x: x.prod(0),
    "any": lambda x: x.any(),
    "any_0": lambda x: x.any(0),
    "all": lambda x: x.all(),
    "all_0": lambda x: x.all(0),
    "norm": lambda x: x.norm(),
    "logsumexp": lambda x: x.logsumexp(0),
    "cumsum": lambda x: x.cumsum(0),
    "logcumsumexp": lambda x: x.logcumsumexp(0),
    "count": lambda x: x.count_nonzero(0),
    "amax": lambda x: x.amax(1),
    "matmul": lambda x: x.T @ x,
}


@pytest.fixture(autouse=True, scope="module")
def exporter_reads_its_library_once() -> Iterator[None]:
    with one_registry():
        yield


def assert_same(functions: Functions, sample: list[Any], to: str, *, ulps: float) -> None:
    """Dtypes, shapes and integers are equal; floats to ``ulps`` of the largest element, whose rounding sums carry."""
    from trueport.frontends.torch.source.call import as_array

    (made,) = torch_outputs(functions, [sample], to)
    for name, function in functions.items():
        want, got = as_array(function(*sample)), made[name]
        assert (got.dtype, got.shape) == (want.dtype, want.shape), name
        if want.dtype.kind in "biu":
            np.testing.assert_array_equal(got, want, name)
            continue
        unit = float(torch.finfo(getattr(torch, want.dtype.name)).eps)
        wide, other = want.astype(np.float64), got.astype(np.float64)
        largest = np.max(np.abs(wide[np.isfinite(wide)]), initial=0.0)
        np.testing.assert_allclose(other, wide, rtol=0, atol=ulps * unit * largest, err_msg=name)


@grid({f"{dtype}-{to}": (dtype, to) for dtype in ("float16", "bfloat16") for to in TARGETS}, quick=1)
def test_halves(cell: tuple[str, str]) -> None:
    dtype, to = cell
    assert_same(HALVES, [_ROWS.to(getattr(torch, dtype))], to, ulps=8)


@grid({f"{next(iter(part))}-{to}": (part, to) for part in groups(NUMBERS, 10) for to in TARGETS}, quick=2)
def test_digits_in_float64(cell: tuple[Functions, str]) -> None:
    functions, to = cell
    assert_same(functions, [_ROWS], to, ulps=32)


@grid(
    {
        f"{dtype}-{next(iter(part))}-{to}": (dtype, part, to)
        for dtype in ("uint8", "int8", "int16", "int32", "int64")
        for part in groups(INTEGERS, 16)
        for to in TARGETS
    },
    quick=2,
)
def test_integers(cell: tuple[str, Functions, str]) -> None:
    dtype, functions, to = cell
    first = [0, 1, 7, 100, 127, 128, 255, 200] if dtype == "uint8" else [0, 1, 7, 100, 127, -128, -1, -7]
    kind = getattr(torch, dtype)
    assert_same(
        functions, [torch.tensor(first, dtype=kind), torch.tensor([3, 2, 5, 1, 6, 7, 4, 2], dtype=kind)], to, ulps=4
    )


@grid({f"{next(iter(part))}-{to}": (part, to) for part in groups(WRITES, 9) for to in TARGETS}, quick=1)
def test_writes_that_broadcast(cell: tuple[Functions, str]) -> None:
    functions, to = cell
    assert_same(functions, [_ROWS.float(), _ROWS[0].float() * 2], to, ulps=4)


@grid({to: to for to in TARGETS}, quick=1)
def test_empty(cell: str) -> None:
    assert_same(EMPTY, [torch.zeros(0, 3)], cell, ulps=0)
