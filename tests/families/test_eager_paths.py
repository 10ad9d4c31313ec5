"""What eager mode computes and an export would record differently: attention kernels, flags, training mode, layouts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import trueport
from tests.cells import grid
from tests.families.eager import Case, Inputs, check, module_of

_WIDTH = 8


def padding(batch: int, length: int, kind: str) -> torch.Tensor:
    """True at padded positions; the last row is padded most."""
    lengths = {"none": [length] * batch, "some": [length - row for row in range(batch)]}.get(kind, [2] * batch)
    mask = torch.arange(length)[None] >= torch.tensor(lengths)[:, None]
    if kind == "whole row":
        mask[0] = True
    return mask.flip(1) if kind == "in front" else mask


_PADDINGS = ("some", "none", "all short", "whole row", "in front")


def padded(dynamic: bool, kind: str = "some") -> Callable[[], Sequence[Inputs]]:
    def inputs() -> list[Inputs]:
        generator = torch.Generator().manual_seed(3)
        sizes = [(2, 5), (3, 7), (1, 4)] if dynamic else [(2, 5)] * 2
        kinds = [kind, *(k for k in _PADDINGS if k != kind)]
        return [
            (torch.randn(batch, length, _WIDTH, generator=generator), padding(batch, length, word))
            for (batch, length), word in zip(itertools.cycle(sizes), kinds, strict=False)
        ]

    return inputs


def encoder(**options: Any) -> nn.Module:
    layer = nn.TransformerEncoderLayer(
        _WIDTH,
        options.pop("heads", 2),
        16,
        batch_first=True,
        norm_first=options.pop("norm_first", False),
        activation=options.pop("activation", "relu"),
    )
    norm = nn.LayerNorm(_WIDTH) if options.pop("norm", False) else None
    if norm is not None:
        nn.init.normal_(norm.bias)
    return nn.TransformerEncoder(layer, 2, norm=norm, **options)


def by_padding(self: Any, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return self.part(x, src_key_padding_mask=mask)


def by_float_padding(self: Any, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return self.part(x, src_key_padding_mask=torch.where(mask, -5.0, 0.0))


def by_key_padding(self: Any, x: torch.Tensor, mask: torch.Tensor) -> Any:
    return self.part(x, x, x, key_padding_mask=mask)


def by_key_padding_alone(self: Any, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return self.part(x, x, x, key_padding_mask=mask, need_weights=False)[0]


def by_both(self: Any, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    causal = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
    return self.part(x, causal, src_key_padding_mask=torch.where(mask, -torch.inf, 0.0))


def by_bias(self: Any, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return self.part(x, torch.arange(25.0).reshape(5, 5) - 12)


_DYNAMIC = "x.0=batch,x.1=length,mask.0=batch,mask.1=length"
_ENCODERS: dict[str, tuple[Callable[..., Any], Callable[[], nn.Module], tuple[str, ...]]] = {
    "encoder": (by_padding, encoder, ("output",)),
    "encoder, norm": (by_padding, lambda: encoder(norm=True), ("output",)),
    "encoder, norm first, gelu": (by_padding, lambda: encoder(norm_first=True, activation="gelu"), ("output",)),
    "encoder, not nested": (by_padding, lambda: encoder(enable_nested_tensor=False), ("output",)),
    "encoder, mask not looked at": (by_padding, lambda: encoder(mask_check=False), ("output",)),
    "encoder, odd heads": (by_padding, lambda: encoder(heads=1), ("output",)),
    "encoder, floats": (by_float_padding, encoder, ("output",)),
    "encoder, causal too": (by_both, encoder, ("output",)),
    "layer": (by_padding, lambda: encoder().layers[0], ("output",)),
    "layer, floats": (by_float_padding, lambda: encoder().layers[0], ("output",)),
    "layer, causal too": (by_both, lambda: encoder().layers[0], ("output",)),
    "attention": (by_key_padding, lambda: nn.MultiheadAttention(_WIDTH, 2, batch_first=True), ("output_0", "output_1")),
    "attention, no weights": (
        by_key_padding_alone,
        lambda: nn.MultiheadAttention(_WIDTH, 2, batch_first=True),
        ("output",),
    ),
}


def attention_cells() -> dict[str, Case]:
    cells = {}
    for name, (forward, part, names) in _ENCODERS.items():
        for dynamic in (False, True):
            inputs = padded(dynamic)
            make = module_of(forward, part=part)
            for to in ("onnx", "tensorflow"):
                words = f"{name}-{'dynamic' if dynamic else 'static'}-{to}"
                cells[words] = Case(make, inputs, _DYNAMIC if dynamic else None, to=to, names=names)
    cells["layer, bias taken for a mask"] = Case(module_of(by_bias, part=lambda: encoder().layers[0]), padded(False))
    return cells


@grid(attention_cells(), quick=3)
def test_attention_as_in_eager_mode(cell: Case, tmp_path: Path) -> None:
    check(cell, tmp_path)


def rows() -> list[Inputs]:
    generator = torch.Generator().manual_seed(5)
    return [(torch.randn(n, 4, generator=generator),) for n in (2, 5, 3)]


def asks_compiling(self: Any, x: torch.Tensor) -> torch.Tensor:
    return x * 2 if torch.compiler.is_compiling() else x * 3


def asks_exporting(self: Any, x: torch.Tensor) -> torch.Tensor:
    return x * 2 if torch.compiler.is_exporting() else x * 3


def asks_dynamo(self: Any, x: torch.Tensor) -> torch.Tensor:
    return x * 2 if torch._dynamo.is_compiling() else x * 3


def asks_jit(self: Any, x: torch.Tensor) -> torch.Tensor:
    return x * 2 if torch.jit.is_tracing() or torch.jit.is_scripting() else x * 3


def asks_onnx(self: Any, x: torch.Tensor) -> torch.Tensor:
    return x * 2 if torch.onnx.is_in_onnx_export() else x * 3


def asks_gradients(self: Any, x: torch.Tensor) -> torch.Tensor:
    return x * 2 if torch.is_grad_enabled() or x.requires_grad else x * 3


def asks_default_type(self: Any, x: torch.Tensor) -> torch.Tensor:
    return x.to(torch.get_default_dtype()) * torch.ones(4)


def asks_autocast(self: Any, x: torch.Tensor) -> torch.Tensor:
    return x * 2 if torch.is_autocast_enabled("cpu") else x * 3


def asks_kind_of_tensor(self: Any, x: torch.Tensor) -> torch.Tensor:
    return x * 2 if type(x) is torch.Tensor else x * 3


def asks_kind_of_size(self: Any, x: torch.Tensor) -> torch.Tensor:
    return x * 2 if type(x.shape[0]) is int else x * 3


_ASKS = (
    asks_compiling,
    asks_exporting,
    asks_dynamo,
    asks_jit,
    asks_onnx,
    asks_gradients,
    asks_default_type,
    asks_autocast,
    asks_kind_of_tensor,
    asks_kind_of_size,
)


@grid(
    {
        **{forward.__name__: Case(module_of(forward), rows, "x.0=batch", exact=True) for forward in _ASKS},
    },
    quick=2,
)
def test_questions_about_capture(cell: Case, tmp_path: Path) -> None:
    check(cell, tmp_path)


class KeepsTraining(nn.Module):
    """Stays in training mode where its user has it in evaluation mode."""

    def __init__(self, part: nn.Module) -> None:
        super().__init__()
        self.part = part

    def train(self, mode: bool = True) -> KeepsTraining:
        super().train(mode)
        self.part.train(True)
        return self

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.part(x)  # type: ignore[no-any-return]


def pictures() -> list[Inputs]:
    generator = torch.Generator().manual_seed(5)
    return [(torch.randn(n, 4, 3, 5, generator=generator) * 3 + 1,) for n in (2, 5, 3)]


def series() -> list[Inputs]:
    return [(x[:, :, 0],) for (x,) in pictures()]


@grid(
    {
        "batch norm 1d": Case(lambda: KeepsTraining(nn.BatchNorm1d(4)).eval(), rows, "x.0=batch(2..64)"),
        "batch norm 2d": Case(lambda: KeepsTraining(nn.BatchNorm2d(4)).eval(), pictures, "x.0=batch"),
        "batch norm 2d, tensorflow": Case(
            lambda: KeepsTraining(nn.BatchNorm2d(4)).eval(), pictures, "x.0=batch", to="tensorflow"
        ),
        "instance norm": Case(
            lambda: KeepsTraining(nn.InstanceNorm1d(4, track_running_stats=True)).eval(), series, "x.0=batch"
        ),
        "given in training mode": Case(lambda: KeepsTraining(nn.BatchNorm2d(4)), pictures, "x.0=batch"),
    },
    quick=1,
)
def test_parts_kept_in_training_mode(cell: Case, tmp_path: Path) -> None:
    check(cell, tmp_path)


def test_a_part_kept_in_training_mode_is_reported_and_left_as_it_was() -> None:
    module = KeepsTraining(nn.BatchNorm2d(4)).eval()
    state = {name: value.clone() for name, value in module.state_dict().items()}
    result = trueport.convert(module, to="onnx", example_inputs=pictures()[0], verify=False)
    assert any(loss.what == "kept in training mode" for loss in result.report.losses)
    assert module.part.training and not module.training and module.part.track_running_stats
    assert all(torch.equal(value, state[name]) for name, value in module.state_dict().items())


def strided(self: Any, x: torch.Tensor) -> torch.Tensor:
    return torch.as_strided(x, (2, 2), (4, 1))


def by_stride(self: Any, x: torch.Tensor) -> torch.Tensor:
    return x * x.stride(0)


def if_contiguous(self: Any, x: torch.Tensor) -> torch.Tensor:
    return x * 2 if x.is_contiguous() else x * 3


def if_channels_last(self: Any, x: torch.Tensor) -> torch.Tensor:
    return x * 2 if x.is_contiguous(memory_format=torch.channels_last) else x * 3


def strided_copy(self: Any, x: torch.Tensor) -> torch.Tensor:
    return torch.as_strided(x.contiguous(), (2, 2), (4, 1))


def viewed(self: Any, x: torch.Tensor) -> torch.Tensor:
    return x.contiguous().view(-1) if not x.is_contiguous() else x.view(-1)


_DEPENDS = "the result depends on how input 'x' lies in memory"


def transposed() -> list[Inputs]:
    return [(torch.randn(4, 6).t(),), (torch.randn(6, 4),)]


def plain() -> list[Inputs]:
    return [(torch.randn(6, 4),), (torch.randn(4, 6).t(),)]


@grid(
    {
        **{
            f"{forward.__name__}-{inputs.__name__}": Case(
                module_of(forward), inputs, refused=f"{forward.__name__}: return "
            )
            for forward in (strided, by_stride, if_contiguous)
            for inputs in (plain, transposed)
        },
        "if_channels_last": Case(module_of(if_channels_last), lambda: [(torch.randn(1, 3, 4, 4),)], refused=_DEPENDS),
        **{
            f"{forward.__name__}-{inputs.__name__}": Case(module_of(forward), inputs, exact=True)
            for forward in (strided_copy, viewed)
            for inputs in (plain, transposed)
        },
    },
    quick=3,
)
def test_memory_layout(cell: Case, tmp_path: Path) -> None:
    check(cell, tmp_path)


class Normalizes(nn.Module):
    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how
        self.linear = nn.Linear(4, 4)
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight = self.linear.weight
        if self.how == "data in place":
            weight.data /= weight.data.norm()
        elif self.how == "data assigned":
            weight.data = weight.data / weight.data.norm()
        elif self.how == "clamped":
            with torch.no_grad():
                weight.clamp_(-0.1, 0.1)
        elif self.how == "copied into":
            with torch.no_grad():
                weight.copy_(weight / weight.norm())
        elif self.how == "view of data":
            weight.data[0].fill_(1.0)
        else:
            self.steps.add_(1)
        return self.linear(x)  # type: ignore[no-any-return]


@pytest.mark.parametrize("how", ["data in place", "data assigned", "clamped", "copied into", "view of data", "buffer"])
def test_weights_written_in_forward_are_refused(how: str) -> None:
    with pytest.raises(trueport.ConversionError, match="that the module keeps, in place") as caught:
        trueport.convert(Normalizes(how).eval(), to="onnx", example_inputs=rows()[0])
    assert "linear.weight" in str(caught.value) or how == "buffer"
    assert caught.value.remedy and ("in forward" in str(caught.value) or how == "data assigned")


class Collects(nn.Module):
    """Keeps intermediate values in an attribute, as feature extractors do."""

    def __init__(self, how: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.how = how
        self.linear = nn.Linear(4, 4)
        self.found: Any = {} if how == "dict" else []
        if how == "list":
            self.linear.register_forward_hook(lambda module, args, made: self.found.append(made))
        elif how == "dict":
            self.linear.register_forward_hook(lambda module, args, made: self.found.update(a=made))
        elif how == "closure":
            kept: list[torch.Tensor] = []
            self.read = lambda: kept[-1]
            self.linear.register_forward_hook(lambda module, args, made: kept.append(made))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.how == "first call" and not hasattr(self, "_hooked"):
            self.linear.register_forward_hook(lambda module, args, made: self.found.append(made))
            self._hooked = True
        if self.how in ("list", "first call"):
            self.found = []
        y = self.linear(x)
        if self.how == "first call":
            return y.relu() + torch.stack(self.found).sum(0)
        if self.how == "attribute":
            self.last = y
        kept = {"list": lambda: self.found[0], "dict": lambda: self.found["a"], "attribute": lambda: self.last}
        return y.relu() + kept.get(self.how, getattr(self, "read", lambda: y))()


@grid(
    {
        how: Case(lambda how=how: Collects(how).eval(), rows, "x.0=batch")
        for how in ("list", "dict", "attribute", "closure", "first call")
    },
    quick=2,
)
def test_values_collected_by_hooks_and_attributes(cell: Case, tmp_path: Path) -> None:
    check(cell, tmp_path)
