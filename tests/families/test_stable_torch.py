"""PyTorch's functions at extreme magnitudes: stable forms in ONNX and TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch.nn import functional as F

from tests.cells import grid
from tests.families.numbers import EXTREMES, PAIRS, ROWS, Functions, groups, wrong_in_torch
from tests.torch.speed import one_registry

_LOSE_BESIDE_ONE = """
    elu selu celu elu_alpha sigmoid log_ndtr logaddexp logaddexp2 logsumexp logcumsumexp log_softmax
    """
_LOSE_BESIDE_INPUT = "silu mish glu tanhshrink gelu gelu_tanh"
AGAINST = {
    **dict.fromkeys(_LOSE_BESIDE_ONE.split(), "one"),
    **dict.fromkeys(_LOSE_BESIDE_INPUT.split(), "input"),
}
"""Kernels of ONNX Runtime and TensorFlow that lose what is small beside one, or beside the input: declared so."""
UNARY: Functions = {
    "softplus": F.softplus,
    "softplus_beta": lambda x: F.softplus(x, beta=2.5, threshold=7),
    "softplus_below": lambda x: F.softplus(x, beta=0.1, threshold=-5),
    "log1p": torch.log1p,
    "expm1": torch.expm1,
    "logsigmoid": F.logsigmoid,
    "sinc": torch.sinc,
    "logit": torch.logit,
    "logit_eps": lambda x: torch.logit(x, 1e-6),
    "erf": torch.erf,
    "erfc": torch.erfc,
    "erfinv": torch.erfinv,
    "digamma": torch.digamma,
    "lgamma": torch.lgamma,
    "tanh": torch.tanh,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "mish": F.mish,
    "silu": F.silu,
    "sigmoid": torch.sigmoid,
    "exp": torch.exp,
    "exp2": torch.exp2,
    "log": torch.log,
    "log2": torch.log2,
    "log10": torch.log10,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "reciprocal": torch.reciprocal,
    "sinh": torch.sinh,
    "cosh": torch.cosh,
    "asinh": torch.asinh,
    "acosh": torch.acosh,
    "atanh": torch.atanh,
    "asin": torch.asin,
    "acos": torch.acos,
    "atan": torch.atan,
    "elu": F.elu,
    "elu_alpha": lambda x: F.elu(x, 1.3),
    "selu": F.selu,
    "celu": lambda x: F.celu(x, 0.7),
    "softsign": F.softsign,
    "tanhshrink": F.tanhshrink,
    "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid,
    "leaky_relu": F.leaky_relu,
    "softshrink": F.softshrink,
    "ndtr": torch.special.ndtr,
    "log_ndtr": torch.special.log_ndtr,
    "entr": torch.special.entr,
    "i0e": torch.special.i0e,
    "nan_to_num": torch.nan_to_num,
    "sign": torch.sign,
    "signbit": torch.signbit,
    "trunc": torch.trunc,
    "relu": F.relu,
    "heaviside": lambda x: torch.heaviside(x, torch.tensor(0.5, dtype=x.dtype)),
    "clamp": lambda x: x.clamp(-1, 1),
    "clamp_min": lambda x: x.clamp_min(0.5),
    "clamp_max": lambda x: x.clamp_max(0.5),
    "cube": lambda x: x**3,
    "root": lambda x: x**0.5,
    "inverse_root": lambda x: x**-0.5,
    "power_of_two": lambda x: 2**x,
}
BINARY: Functions = {
    "logaddexp": torch.logaddexp,
    "logaddexp2": torch.logaddexp2,
    "atan2": torch.atan2,
    "hypot": torch.hypot,
    "xlogy": torch.xlogy,
    "xlog1py": torch.special.xlog1py,
    "xlogy_number": lambda a, b: torch.xlogy(3.0, b),
    "fmax": torch.fmax,
    "fmin": torch.fmin,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "copysign": torch.copysign,
    "clamp_tensor": lambda a, b: torch.clamp(a, max=b),
    "true_divide": torch.true_divide,
}
REDUCTIONS: Functions = {
    "logsumexp": lambda x: torch.logsumexp(x, -1),
    "logsumexp_all": lambda x: torch.logsumexp(x, (0, 1)),
    "logcumsumexp": lambda x: torch.logcumsumexp(x, -1),
    "logcumsumexp_0": lambda x: torch.logcumsumexp(x, 0),
    "softmax": lambda x: F.softmax(x, -1),
    "log_softmax": lambda x: F.log_softmax(x, -1),
    "softmin": lambda x: F.softmin(x, -1),
    "cosine": lambda x: F.cosine_similarity(x, x.flip(0), -1),
    "normalize": lambda x: F.normalize(x, dim=-1),
    "normalize_1": lambda x: F.normalize(x, p=1, dim=-1),
    "normalize_3": lambda x: F.normalize(x, p=3.0, dim=-1),
    "var": lambda x: x.var(-1),
    "std": lambda x: x.std(-1),
    "std_all": lambda x: x.std(),
    "std_uncorrected": lambda x: x.std(-1, correction=0, keepdim=True),
    "std_mean": lambda x: torch.std_mean(x, -1)[0],
    "renorm": lambda x: torch.renorm(x, 2, 0, 1.5),
    "pairwise": lambda x: F.pairwise_distance(x, x.flip(0)),
    "cdist_0": lambda x: torch.cdist(x, x.flip(0), p=0.0),
    "cdist_1": lambda x: torch.cdist(x, x.flip(0), p=1.0),
    "cdist_3": lambda x: torch.cdist(x, x.flip(0), p=3.0),
    "pdist_half": lambda x: F.pdist(x, 0.5),
    "cummax": lambda x: x.cummax(-1)[0],
    "cummin": lambda x: x.cummin(-1)[0],
    "nanmedian": lambda x: x.nanmedian(-1)[0],
    "median": lambda x: x.median(-1)[0],
    "rms_norm": lambda x: F.rms_norm(x, x.shape[-1:], eps=1e-6),
    **{f"vector_norm_{p}": lambda x, p=p: torch.linalg.vector_norm(x, p, -1) for p in (0, 1, 2, 3, 0.5, -1, 2.5)},
    **{f"matrix_norm_{p}": lambda x, p=p: torch.linalg.matrix_norm(x, p) for p in ("fro", 1, -1)},
}
TARGETS = ("onnx", "tensorflow")


@pytest.fixture(autouse=True, scope="module")
def exporter_reads_its_library_once() -> Iterator[None]:
    with one_registry():
        yield


def cells(functions: Functions) -> dict[str, tuple[Functions, str]]:
    """One conversion per group and target, named after the group's first function."""
    return {f"{next(iter(part))}-{to}": (part, to) for part in groups(functions) for to in TARGETS}


@grid(cells(UNARY), quick=2)
def test_unary(cell: tuple[Functions, str]) -> None:
    functions, to = cell
    assert not wrong_in_torch(functions, {"": [torch.from_numpy(EXTREMES)]}, to, against=AGAINST)


@grid(cells(BINARY), quick=1)
def test_binary(cell: tuple[Functions, str]) -> None:
    functions, to = cell
    assert not wrong_in_torch(functions, {"": [torch.from_numpy(part) for part in PAIRS]}, to, against=AGAINST)


@grid(cells(REDUCTIONS), quick=2)
def test_reductions(cell: tuple[Functions, str]) -> None:
    functions, to = cell
    samples = {name: [torch.from_numpy(rows)] for name, rows in ROWS.items()}
    assert not wrong_in_torch(functions, samples, to, against=AGAINST)
