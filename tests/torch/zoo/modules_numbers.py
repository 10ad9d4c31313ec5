"""Kinds of numbers: whole ones, promotion, half and double precision, complex ones, transforms, products."""

from __future__ import annotations

from typing import Any

import torch
import torch.ao.quantization.fx._decomposed  # registers the operators of quantized networks
from torch import Tensor, nn

from tests.torch.operators.draws import choices, edges, normal, positive, wholes
from tests.torch.zoo.making import function, layers
from tests.torch.zoo.member import TARGETS, Member

__all__ = ["MEMBERS"]


class Quantized(nn.Module):
    """Weights and activations rounded to eight bits on the way, as after training for it."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 4)
        self.register_buffer("scales", torch.rand(4) * 0.02 + 0.01)

    def forward(self, x: Tensor) -> Tensor:
        zeros = torch.zeros(4, dtype=torch.int32)
        weight = torch.fake_quantize_per_channel_affine(self.layer.weight, self.scales, zeros, 0, -128, 127)
        x = torch.fake_quantize_per_tensor_affine(x, 0.05, 3, 0, 255)
        return nn.functional.linear(x, weight, self.layer.bias)


class Decomposed(nn.Module):
    """Quantized as PyTorch's exporter of quantized networks writes it."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 4)

    def forward(self, x: Tensor) -> Any:
        ops = torch.ops.quantized_decomposed
        whole = ops.quantize_per_tensor(x, 0.05, 3, -128, 127, torch.int8)
        return self.layer(ops.dequantize_per_tensor(whole, 0.05, 3, -128, 127, torch.int8))


class Spectrogram(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(8))
        self.mel = nn.Linear(5, 3, bias=False)

    def forward(self, x: Tensor) -> Any:
        spectrum = torch.stft(x, 8, 4, window=self.window, center=True, return_complex=True).abs() ** 2
        return self.mel(spectrum.transpose(1, 2)).abs().clamp(min=1e-5).log()


class FourierMix(nn.Module):
    """Mixing by a Fourier transform over both axes, as FNet does it."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.layer = nn.LayerNorm(6), nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Any:
        return self.layer(self.norm(x + torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real))


class SpectralConvolution(nn.Module):
    """The lowest waves are weighted, as Fourier neural operators do it."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 3, 3, 2) * 0.3)

    def forward(self, x: Tensor) -> Tensor:
        waves = torch.fft.rfft(x)[..., :3]
        mixed = torch.einsum("bik,iok->bok", waves, torch.view_as_complex(self.weight))
        return torch.fft.irfft(mixed, n=12)


class Lowered(nn.Module):
    """A network in another precision from end to end."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 3)).to(dtype)

    def forward(self, x: Tensor) -> Any:
        return self.layers(x).softmax(-1)


class MixedPrecision(nn.Module):
    """Half precision inside of a float32 network."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(6, 8).half(), nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Any:
        return self.outer(self.inner(x.half()).relu().float())


def _whole_pair(n: int) -> tuple[Any, ...]:
    divisors = wholes(n, 6, low=1, high=5, seed=2) * (2 * choices(n, 6, seed=3).long() - 1)
    return wholes(n, 6, low=-20, high=20), divisors


def _divided(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    return x // y, x % y, torch.fmod(x, y), torch.div(x, y, rounding_mode="trunc"), x / y


def _bits(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    return x & y, x | y, x ^ y, ~x, x << 2, x >> 1


def _promoted(i: Tensor, f: Tensor, b: Tensor) -> tuple[Tensor, ...]:
    return (
        i + f,
        i * 2.5,
        b + 1,
        b * f,
        i / 2,
        torch.where(b, i, f),
        i.to(torch.int8) + i,
        (f > 0).sum(1),
        b.float().mean(),
    )


def _rounded(x: Tensor) -> tuple[Tensor, ...]:
    return x.round(), x.floor(), x.ceil(), x.trunc(), x.frac(), torch.round(x, decimals=1), x.sign()


def _in(dtype: torch.dtype) -> Any:
    return lambda n: normal(n, 6, dtype=dtype)


def _matrices(n: int) -> tuple[Any, ...]:
    return normal(n, 4, 3), normal(n, 3, 5, seed=1)


def _definite(n: int) -> Any:
    half = normal(n, 4, 4)
    return half @ half.transpose(1, 2) + 2 * torch.eye(4)


def _complex(n: int) -> Any:
    return torch.complex(normal(n, 6), normal(n, 6, seed=1))


MEMBERS: list[Member] = [
    function("division of wholes", _divided, _whole_pair, quick=True),
    function("division of floats", _divided, lambda n: (normal(n, 6) * 5, positive(n, 6, seed=1) * -2)),
    function("bits", _bits, lambda n: (wholes(n, 6, dtype=torch.int32), wholes(n, 6, seed=1, dtype=torch.int32))),
    function(
        "arithmetic that wraps",
        lambda x: (x * 2, x + x, -x, x.sum(1)),
        lambda n: wholes(n, 6, low=-128, high=127, dtype=torch.int8),
    ),
    function("type promotion", _promoted, lambda n: (wholes(n, 6), normal(n, 6), choices(n, 6, seed=1))),
    function("rounding", _rounded, lambda n: edges(n, 6, without="nan inf")),
    function(
        "comparisons and logic",
        lambda x, y: (x < y, (x >= y) & ~(x == y), torch.isclose(x, y), torch.maximum(x, y)),
        lambda n: (edges(n, 6), edges(n, 6, seed=1)),
    ),
    function(
        "casts of types",
        lambda x: (x.int(), x.to(torch.uint8), x.bool(), x.double(), x.half()),
        lambda n: positive(n, 6) * 3,
    ),
    function(
        "powers and roots",
        lambda x: (x**2, x**-1.5, 2.0**x, x.sqrt(), x.rsqrt(), x.reciprocal(), x.log1p(), x.expm1()),
        lambda n: positive(n, 6),
    ),
    function(
        "trigonometry",
        lambda x: (x.sin(), x.cos(), x.tan(), x.atan(), torch.atan2(x, x.flip(1)), x.sinh(), x.asinh(), x.erf()),
    ),
    function(
        "special functions",
        lambda x: (
            torch.special.i0(x),
            torch.lgamma(x),
            torch.digamma(x),
            torch.special.erfcx(x),
            torch.special.xlog1py(x, x),
        ),
        lambda n: positive(n, 6),
    ),
    function(
        "reductions",
        lambda x: (
            x.sum(),
            x.mean(1),
            x.std(1),
            x.var(0, unbiased=False),
            x.prod(1),
            x.amax((0, 1)),
            x.logsumexp(1),
            x.norm(dim=1),
        ),
    ),
    Member("float16", lambda: Lowered(torch.float16), _in(torch.float16)),
    Member("bfloat16", lambda: Lowered(torch.bfloat16), _in(torch.bfloat16)),
    Member("float64", lambda: Lowered(torch.float64), _in(torch.float64)),
    Member("half precision inside", MixedPrecision, lambda n: normal(n, 6)),
    layers(
        "convolution in float16",
        lambda: nn.Conv2d(4, 3, 3, dtype=torch.float16),
        inputs=lambda n: normal(n, 4, 6, 7, dtype=torch.float16),
    ),
    layers(
        "convolution in float64",
        lambda: nn.Conv2d(4, 3, 3, dtype=torch.float64),
        inputs=lambda n: normal(n, 4, 6, 7, dtype=torch.float64),
        cannot={"onnx": "ONNX Runtime has no kernel for Conv of doubles"},
    ),
    Member("fake quantization", Quantized, lambda n: normal(n, 6) * 2),
    Member("quantized and back", Decomposed, lambda n: normal(n, 6) * 2),
    function("einsum, batched product", lambda x, y: torch.einsum("bij,bjk->bik", x, y), _matrices, quick=True),
    function(
        "einsum, traces and outer products",
        lambda x, y: (
            torch.einsum("bii->b", x[:, :3]),
            torch.einsum("bij,bkl->bjl", x, y),
            torch.einsum("...ij->...ji", x),
        ),
        _matrices,
    ),
    function(
        "matmul of all ranks",
        lambda x, y: (x @ y, x[0, 0] @ y[0], x @ y[0, :, 0], x[:, None] @ y, torch.tensordot(x, y, dims=([2], [1]))),
        _matrices,
    ),
    function(
        "addmm, baddbmm, outer, cross",
        lambda x, y: (
            torch.addmm(x[0], x[0], y[0, :, :3], beta=0.5),
            torch.baddbmm(x[..., :1], x, y, alpha=2),
            torch.cross(x, x.flip(1), dim=2),
        ),
        _matrices,
    ),
    function(
        "solve, inverse, determinant",
        lambda x: (torch.linalg.solve(x, x[..., 0]), torch.linalg.inv(x), torch.linalg.det(x)),
        _definite,
    ),
    function("Cholesky", lambda x: torch.linalg.cholesky(x), _definite),
    function(
        "complex arithmetic",
        lambda x: (x * x.conj(), x + 1j, x.abs(), x.angle(), x.real, torch.view_as_real(x * 2j)),
        _complex,
    ),
    function(
        "complex from polar",
        lambda r, a: torch.view_as_real(torch.polar(r, a) * torch.exp(1j * a)),
        lambda n: (positive(n, 6), normal(n, 6, seed=1)),
        cannot=dict.fromkeys(TARGETS, "a product of a real tensor with a complex number has no translation"),
    ),
    function("fft and back", lambda x: torch.fft.ifft(torch.fft.fft(x, norm="ortho") * 2).real, lambda n: normal(n, 8)),
    function(
        "rfft2 and irfft2", lambda x: torch.fft.irfft2(torch.fft.rfft2(x) * 0.5, s=(6, 8)), lambda n: normal(n, 6, 8)
    ),
    function(
        "stft and istft",
        lambda x: torch.istft(
            torch.stft(x, 8, 2, window=torch.hann_window(8), return_complex=True), 8, 2, window=torch.hann_window(8)
        ),
        lambda n: normal(n, 32),
    ),
    Member("spectrogram", Spectrogram, lambda n: normal(n, 32)),
    Member("Fourier mixing", FourierMix, lambda n: normal(n, 8, 6)),
    Member(
        "spectral convolution",
        SpectralConvolution,
        lambda n: normal(n, 4, 12),
        cannot=dict.fromkeys(TARGETS, "PyTorch's exporter fails on an einsum of complex weights"),
    ),
]
