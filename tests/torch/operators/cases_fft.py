"""torch.fft and the short-time transforms."""

from __future__ import annotations

from typing import Any

import torch

from tests.torch.operators.case import AnyCase, Case
from tests.torch.operators.draws import normal, of, words

__all__ = ["CASES"]


def _complex(*shape: int) -> Any:
    return torch.complex(normal(*shape), normal(*shape, seed=1))


def _real(name: str, **options: Any) -> Case:
    return Case(f"torch.fft.{name}", of("n", 4, 6), options, label="-".join(options))


def _cplx(name: str, **options: Any) -> Case:
    return Case(f"torch.fft.{name}", of("n", 4, 6, draw=_complex), options, label="-".join(("complex", *options)))


_WINDOW = torch.hann_window(16)

CASES: list[AnyCase] = [
    *(_real(name) for name in words("fft fft2 fftn fftshift ifft ifft2 ifftn ifftshift ihfft ihfft2")),
    _real("ihfftn", dim=(1, 2)),
    *(_real(name) for name in words("rfft rfft2 rfftn")),
    *(_cplx(name) for name in words("fft fft2 fftn fftshift ifft ifft2 ifftn hfft hfft2 irfft irfft2")),
    _cplx("hfftn", dim=(1, 2)),
    _cplx("irfftn", dim=(1, 2)),
    _real("fft", n=9, dim=1, norm="ortho"),
    _real("rfft", n=5, norm="forward"),
    _cplx("irfft", n=7, dim=1),
    _cplx("ifft", n=3, norm="ortho"),
    Case("torch.fft.rfft", of("n", 4, 6, dtype=torch.float64), label="float64"),
    *(Case(f"torch.fft.{name}", of("n", 7), {"dim": 0}, label="open axis") for name in ("fft", "rfft")),
    Case("torch.fft.fftfreq", of("n", 4), call=lambda x: x * torch.fft.fftfreq(4, 0.5)),
    Case("torch.fft.rfftfreq", of("n", 3), call=lambda x: x * torch.fft.rfftfreq(4, 0.5)),
    Case(
        "torch.stft",
        of("n", 64),
        call=lambda x: torch.stft(x, 16, 4, window=_WINDOW, return_complex=True),
    ),
    Case(
        "torch.stft",
        of("n", 64),
        call=lambda x: torch.stft(
            x, 16, 5, 12, window=_WINDOW[:12], center=False, normalized=True, onesided=False, return_complex=True
        ),
        label="not centred, both sides",
    ),
    Case(
        "torch.stft",
        lambda n: (normal(2, 40 + 8 * n),),
        call=lambda x: torch.stft(x, 16, 4, window=_WINDOW, return_complex=True).abs(),
        label="open length",
    ),
    Case(
        "torch.istft",
        of("n", 9, 17, draw=_complex),
        call=lambda x: torch.istft(x, 16, 4, window=_WINDOW),
    ),
    Case(
        "torch.istft",
        of("n", 9, 17, draw=_complex),
        call=lambda x: torch.istft(x, 16, 4, window=_WINDOW, length=60),
        label="length",
    ),
    Case("torch.complex", lambda n: (normal(n, 4), normal(n, 4, seed=1))),
    Case("torch.polar", lambda n: (normal(n, 4), normal(n, 4, seed=1))),
    Case("torch.view_as_real", of("n", 4, draw=_complex)),
    Case("torch.view_as_complex", of("n", 4, 2)),
    Case("torch.real", of("n", 4, draw=_complex)),
    Case("torch.imag", of("n", 4, draw=_complex)),
    Case("torch.angle", of("n", 4, draw=_complex)),
    Case("torch.angle", of("n", 4), label="real"),
    *(
        Case(
            "torch.complex",
            lambda n: (_complex(n, 4), _complex(n, 4) + 1),
            call=call,
            label=label,
        )
        for label, call in {
            "mul": lambda a, b: a * b,
            "div": lambda a, b: a / b,
            "add conj": lambda a, b: a + b.conj(),
            "abs": lambda a, b: a.abs() + b.abs(),
            "exp": lambda a, b: torch.exp(a) - b,
            "matmul": lambda a, b: a @ b.T,
            "scalar": lambda a, b: a * 2 - 1 + 1j * b,
            "real and complex": lambda a, b: a.real * b,
            "reshape": lambda a, b: torch.cat([a, b], 1).reshape(-1, 2, 4).transpose(1, 2)[:, 1:],
            "sum": lambda a, b: a.sum(-1) + b.mean(-1),
            "pow": lambda a, b: a**2,
        }.items()
    ),
    Case("aten._fft_r2c.default", of("n", 6), call=lambda x: torch.ops.aten._fft_r2c(x, [1], 0, True)),
    Case("aten._fft_c2r.default", of("n", 4, draw=_complex), call=lambda x: torch.ops.aten._fft_c2r(x, [1], 0, 6)),
]
