"""PyTorch's functions of complex numbers: the same numbers in ONNX and TensorFlow, or a refusal with a remedy.

The exporter carries complex numbers as pairs of reals. Inputs and outputs are such pairs (``torch.view_as_real``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import trueport
from tests.cells import grid
from tests.families.numbers import EXTREMES, Functions, differences, groups, torch_outputs
from tests.torch.speed import one_registry

CONVERTED: Functions = {
    "mul": lambda a, b: a * b,
    "mul_real": lambda a, b: a * b.real,
    "mul_scalar": lambda a, b: a * (2 - 3j),
    "mul_float": lambda a, b: a * 2.5,
    "rmul": lambda a, b: (1 + 2j) * a,
    "add": lambda a, b: a + b,
    "add_scalar": lambda a, b: a + (1 - 2j),
    "add_float": lambda a, b: a + 1.5,
    "add_alpha": lambda a, b: torch.add(a, b, alpha=2),
    "add_alpha_c": lambda a, b: torch.add(a, b, alpha=2j),
    "add_real": lambda a, b: a + b.real,
    "radd_real": lambda a, b: b.real + a,
    "sub": lambda a, b: a - b,
    "rsub": lambda a, b: 1 - a,
    "sub_real": lambda a, b: a - b.real,
    "real_sub": lambda a, b: b.real - a,
    "div": lambda a, b: a / b,
    "div_real": lambda a, b: a / b.real,
    "real_div": lambda a, b: a.real / b,
    "div_scalar": lambda a, b: a / (1 + 2j),
    "div_float": lambda a, b: a / 3.0,
    "rdiv": lambda a, b: 1 / a,
    "reciprocal": lambda a, b: a.reciprocal(),
    "abs": lambda a, b: a.abs(),
    "angle": lambda a, b: a.angle(),
    "exp": lambda a, b: a.exp(),
    "polar": lambda a, b: torch.polar(a.abs(), b.angle()),
    "polar_raw": lambda a, b: torch.polar(a.real, b.real),
    "complex": lambda a, b: torch.complex(a.real, b.imag),
    "conj": lambda a, b: a.conj(),
    "conj_phys": lambda a, b: torch.conj_physical(a),
    "resolve": lambda a, b: a.conj().resolve_conj(),
    "real": lambda a, b: a.real,
    "imag": lambda a, b: a.imag,
    "neg": lambda a, b: -a,
    "conj_mul": lambda a, b: a.conj() * b,
    "sqrt": lambda a, b: a.sqrt(),
    "log": lambda a, b: a.log(),
    "log2": lambda a, b: a.log2(),
    "log10": lambda a, b: a.log10(),
    "pow2": lambda a, b: a**2,
    "pow3": lambda a, b: a**3,
    "pow_half": lambda a, b: a**0.5,
    "pow_neg": lambda a, b: a ** (-1),
    "pow_c": lambda a, b: a ** (1 + 1j),
    "square": lambda a, b: a.square(),
    "sgn": lambda a, b: a.sgn(),
    "isnan": lambda a, b: a.isnan(),
    "isinf": lambda a, b: a.isinf(),
    "isfinite": lambda a, b: a.isfinite(),
    "isreal": lambda a, b: a.isreal(),
    "eq": lambda a, b: a == b,
    "eq_self": lambda a, b: a == a.clone(),
    "ne": lambda a, b: a != b,
    "eq_scalar": lambda a, b: a == 0,
    "eq_cscalar": lambda a, b: a == 1 + 2j,
    "sum": lambda a, b: a.sum(),
    "sum1": lambda a, b: a.sum(-1),
    "sum0k": lambda a, b: a.sum(0, keepdim=True),
    "mean": lambda a, b: a.mean(-1),
    "mean_all": lambda a, b: a.mean(),
    "cumsum": lambda a, b: a.cumsum(-1),
    "cumsum0": lambda a, b: a.cumsum(0),
    "norm": lambda a, b: a.norm(),
    "vector_norm": lambda a, b: torch.linalg.vector_norm(a, dim=-1),
    "norm1": lambda a, b: torch.linalg.vector_norm(a, 1, dim=-1),
    "normalize": lambda a, b: F.normalize(torch.view_as_real(a), dim=-1),
    "count": lambda a, b: torch.count_nonzero(a),
    "matmul": lambda a, b: a @ b.mT,
    "matmul_real": lambda a, b: a @ b.real.mT.to(a.dtype),
    "mv": lambda a, b: a @ b[0],
    "dot": lambda a, b: torch.dot(a[0], b[0]),
    "vdot": lambda a, b: torch.vdot(a[0], b[0]),
    "outer": lambda a, b: torch.outer(a[0], b[1]),
    "bmm": lambda a, b: torch.bmm(a[None], b.mT[None]),
    "matmul4": lambda a, b: a.reshape(2, 2, 6) @ b.reshape(2, 2, 6).mT,
    "einsum": lambda a, b: torch.einsum("ij,kj->ik", a, b),
    "einsum2": lambda a, b: torch.einsum("ij,ij->i", a, b.conj()),
    "einsum3": lambda a, b: torch.einsum("ij->ji", a),
    "inner": lambda a, b: torch.inner(a, b),
    "adjoint": lambda a, b: a.mH @ b,
    "kron": lambda a, b: torch.kron(a, b),
    "reshape": lambda a, b: a.reshape(6, 4),
    "view": lambda a, b: a.view(-1),
    "flatten": lambda a, b: a.flatten(),
    "transpose": lambda a, b: a.transpose(0, 1),
    "t": lambda a, b: a.t(),
    "permute": lambda a, b: a.permute(1, 0),
    "cat": lambda a, b: torch.cat([a, b], -1),
    "cat0": lambda a, b: torch.cat([a, b], 0),
    "stack": lambda a, b: torch.stack([a, b], -1),
    "split": lambda a, b: a.split(3, -1)[1],
    "chunk": lambda a, b: a.chunk(2, -1)[0],
    "slice": lambda a, b: a[:, 1:4],
    "slice0": lambda a, b: a[1:3],
    "step": lambda a, b: a[:, ::2],
    "index": lambda a, b: a[:, -1],
    "index0": lambda a, b: a[1],
    "index_select": lambda a, b: a.index_select(-1, torch.tensor([0, 2])),
    "flip": lambda a, b: a.flip(-1),
    "roll": lambda a, b: a.roll(1, -1),
    "roll0": lambda a, b: torch.roll(a, (1, 2), (0, 1)),
    "repeat": lambda a, b: a.repeat(2, 1),
    "expand": lambda a, b: a[:, None].expand(4, 3, 6),
    "unsqueeze": lambda a, b: a.unsqueeze(-1),
    "squeeze": lambda a, b: a[:1].squeeze(0),
    "unbind": lambda a, b: a.unbind(-1)[2],
    "where": lambda a, b: torch.where(a.real > 0, a, b),
    "where_s": lambda a, b: torch.where(a.real > 0, a, 0),
    "masked_fill": lambda a, b: a.masked_fill(a.real > 0, 0),
    "masked_fill_c": lambda a, b: a.masked_fill(a.real > 0, 1j),
    "clone": lambda a, b: a.clone(),
    "contiguous": lambda a, b: a.t().contiguous(),
    "movedim": lambda a, b: a.movedim(0, 1),
    "fftshift": lambda a, b: torch.fft.fftshift(a),
    "ifftshift": lambda a, b: torch.fft.ifftshift(a, dim=-1),
    "zeros_like": lambda a, b: torch.zeros_like(a) + a,
    "ones_like": lambda a, b: torch.ones_like(a) * a,
    "full_like": lambda a, b: torch.full_like(a, 2.0) * a,
    "to64": lambda a, b: a.real.to(torch.complex64),
    "to_real": lambda a, b: a.real.double(),
    "const": lambda a, b: a * torch.tensor([1 + 1j, 2, 3, 4, 5, 6j]),
    "const_add": lambda a, b: a + torch.tensor(1j),
    "fft": lambda a, b: torch.fft.fft(a),
    "ifft": lambda a, b: torch.fft.ifft(a),
    "fft2": lambda a, b: torch.fft.fft2(a),
    "rfft": lambda a, b: torch.fft.rfft(a.real),
    "irfft": lambda a, b: torch.fft.irfft(a),
    "rfft2": lambda a, b: torch.fft.irfft2(torch.fft.rfft2(a.real) * 2),
    "conv": lambda a, b: torch.fft.ifft(torch.fft.fft(a) * torch.fft.fft(b)).real,
    "hfft": lambda a, b: torch.fft.hfft(a),
    "ihfft": lambda a, b: torch.fft.ihfft(a.real),
    "fftn": lambda a, b: torch.fft.fftn(a, norm="ortho"),
    "stft": lambda a, b: torch.stft(a.real.reshape(1, -1), 8, return_complex=True, window=torch.hann_window(8)),
    "power": lambda a, b: torch.fft.rfft(a.real).abs() ** 2,
    "filter": lambda a, b: torch.fft.irfft(torch.fft.rfft(a.real, dim=-1) * (1 + 2j), n=6),
    "rope": lambda a, b: torch.view_as_real(
        a * torch.polar(torch.ones(4, 6), torch.arange(24.0).reshape(4, 6))
    ).flatten(-2),
    "real_imag_cat": lambda a, b: torch.cat([a.real, a.imag], -1),
    "max": lambda a, b: a.abs().max(-1)[0],
    "relu_parts": lambda a, b: torch.complex(F.relu(a.real), F.relu(a.imag)),
    "softmax": lambda a, b: a.abs().softmax(-1) * a,
    "eye": lambda a, b: a[:4, :4] + torch.eye(4),
    "angle_real": lambda a, b: a.real.angle(),
    "abs_sq": lambda a, b: (a * a.conj()).real,
    "nan_to_num": lambda a, b: torch.nan_to_num(torch.view_as_real(a)),
    "fill_imag": lambda a, b: torch.complex(a.real, torch.zeros_like(a.imag)),
    "dropout": lambda a, b: F.dropout(a, 0.5, False),
    "meshgrid": lambda a, b: torch.meshgrid(a[0], b[0], indexing="ij")[0],
    "broadcast": lambda a, b: a[:, :1] * b[:1],
    "numel": lambda a, b: a * a.numel(),
    "size": lambda a, b: a.reshape(a.shape[0], -1),
}
REFUSED: Functions = {
    "real_times_j": lambda a, b: a.real * 1j,
    "expm1": lambda a, b: torch.expm1(a),
    "log1p": lambda a, b: a.log1p(),
    "pow_t": lambda a, b: a**b,
    "rpow": lambda a, b: 2**a,
    "rpow_real": lambda a, b: a.real.abs() ** b,
    "rsqrt": lambda a, b: a.rsqrt(),
    "sin": lambda a, b: a.sin(),
    "cos": lambda a, b: a.cos(),
    "tan": lambda a, b: a.tan(),
    "sinh": lambda a, b: a.sinh(),
    "cosh": lambda a, b: a.cosh(),
    "tanh": lambda a, b: a.tanh(),
    "asin": lambda a, b: a.asin(),
    "atan": lambda a, b: a.atan(),
    "acosh": lambda a, b: a.acosh(),
    "sigmoid": lambda a, b: a.sigmoid(),
    "isclose": lambda a, b: torch.isclose(a, b),
    "prod": lambda a, b: a.prod(-1),
    "cumprod": lambda a, b: a.cumprod(-1),
    "var": lambda a, b: a.var(-1),
    "std": lambda a, b: a.std(-1),
    "any": lambda a, b: a.any(),
    "all": lambda a, b: a.all(-1),
    "linear": lambda a, b: F.linear(a, b),
    "addmm": lambda a, b: torch.addmm(a @ b.mT, a, b.mT),
    "addcmul": lambda a, b: torch.addcmul(a, a, b),
    "gather_idx": lambda a, b: a[:, torch.tensor([0, 2])],
    "gather": lambda a, b: a.gather(1, torch.zeros(4, 2, dtype=torch.int64)),
    "tile": lambda a, b: a.tile(2),
    "pad": lambda a, b: F.pad(a, (1, 2)),
    "pad_v": lambda a, b: F.pad(a, (1, 2), value=1.0),
    "diag": lambda a, b: a[:4, :4].diagonal(),
    "tril": lambda a, b: a.tril(),
    "triu": lambda a, b: a.triu(),
    "unfold": lambda a, b: a.unfold(-1, 3, 1),
    "scatter": lambda a, b: a.scatter(1, torch.zeros(4, 1, dtype=torch.int64), b),
    "index_put": lambda a, b: torch.index_put(a, (torch.tensor([0, 1]),), b[:2]),
    "copy_slice": lambda a, b: torch.slice_scatter(a, b[:, :2], 1, 0, 2),
    "new_zeros": lambda a, b: a.new_zeros(4, 6) + b,
    "to128": lambda a, b: a.to(torch.complex128),
    "lerp": lambda a, b: torch.lerp(a, b, 0.3),
    "det": lambda a, b: torch.linalg.det(a[:3, :3]),
    "inv": lambda a, b: torch.linalg.inv(a[:3, :3]),
    "trace": lambda a, b: torch.trace(a[:4, :4]),
}
TARGETS = ("onnx", "tensorflow")
Cell = tuple[Functions, str]


@pytest.fixture(autouse=True, scope="module")
def exporter_reads_its_library_once() -> Iterator[None]:
    with one_registry():
        yield


def _on_pairs(function: Any) -> Any:
    """A function of two complex tensors as one of pairs of reals."""

    def call(x: Any, y: Any) -> Any:
        made = function(torch.view_as_complex(x), torch.view_as_complex(y))
        return torch.view_as_real(made.resolve_conj()) if made.is_complex() else made.resolve_neg()

    return call


def _drawn(seed: int) -> list[torch.Tensor]:
    rng = np.random.default_rng(seed)
    return [torch.from_numpy(rng.standard_normal((4, 6, 2)).astype(np.float32)) for _ in range(2)]


def _wrong(functions: Functions, sample: list[torch.Tensor], to: str, *, size_of_all: bool) -> dict[str, list[str]]:
    """Errors are relative to each element, or to the largest one: sums of several products cancel."""
    pairs = {name: _on_pairs(function) for name, function in functions.items()}
    (made,) = torch_outputs(pairs, [sample], to)
    found = {}
    for name, function in pairs.items():
        source, wide = function(*sample).numpy(), function(*(value.double() for value in sample)).numpy()
        size = np.abs(wide).max() if size_of_all and wide.dtype.kind == "f" else 0.0
        if lines := differences(made[name], source, wide, against=size):
            found[name] = lines[:4]
    return found


@grid(
    {f"{next(iter(part))}-{to}": (part, to) for part in groups(CONVERTED, 16) for to in TARGETS},
    quick=2,
)
def test_converted(cell: Cell) -> None:
    functions, to = cell
    assert not _wrong(functions, _drawn(5), to, size_of_all=True)


EXTREME: Functions = {
    name: CONVERTED[name]
    for name in ("abs", "angle", "div", "reciprocal", "sqrt", "log", "eq", "isnan", "isinf", "isfinite", "norm")
}


def _extremes() -> list[torch.Tensor]:
    """All pairs of extreme numbers, and the same in another order."""
    values = EXTREMES[np.isnan(EXTREMES) | (np.abs(EXTREMES) == 0) | (np.abs(EXTREMES) > 1.2e-38)]
    pairs = np.stack([part.ravel() for part in np.meshgrid(values, values)], -1)
    return [torch.from_numpy(pairs), torch.from_numpy(pairs[np.random.default_rng(7).permutation(len(pairs))])]


@grid({f"{name}-{to}": (name, to) for name in EXTREME for to in TARGETS}, quick=1)
def test_extreme_magnitudes(cell: tuple[str, str]) -> None:
    name, to = cell
    assert not _wrong({name: EXTREME[name]}, _extremes(), to, size_of_all=False)


@grid({f"{name}-{to}": (name, to) for name in REFUSED for to in TARGETS}, quick=2)
def test_refused_in_words(cell: tuple[str, str]) -> None:
    name, to = cell

    class Module(torch.nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            return _on_pairs(REFUSED[name])(x, y)

    with pytest.raises(trueport.errors.ConversionError) as error:
        trueport.convert(Module().eval(), to=to, example_inputs=tuple(_drawn(5)), verify=False)
    assert "complex" in str(error.value)
    assert "→" in str(error.value)
