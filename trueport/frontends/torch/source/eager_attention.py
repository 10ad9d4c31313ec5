"""What PyTorch's attention modules compute in eager mode, where an export would record something else.

nn.MultiheadAttention, nn.TransformerEncoderLayer and nn.TransformerEncoder call fused kernels in eager mode. These
give NaN in fully masked rows, take every number but zero in a mask for "leave out", and give zeros at padded positions.
The code that torch.export records does none of that. Within ``eager_paths`` the modules choose by their own rules, as
in eager mode, and the fused kernels are replaced by the same computation in plain operators.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from trueport.frontends.torch._torch import torch
from trueport.frontends.torch.source.operator_steps import steps_of
from trueport.frontends.torch.source.user_lines import is_users

__all__ = ["attributes_replaced", "eager_flags", "eager_paths"]

_FUSED = ("_native_multi_head_attention", "_transformer_encoder_layer_fwd")
_ATTENTION_CODE = ("torch.nn.modules.activation", "torch.nn.modules.transformer")
_FLAGS = (
    ("torch.compiler", "is_compiling"),
    ("torch.compiler", "is_dynamo_compiling"),
    ("torch.compiler", "is_exporting"),
    ("torch._utils", "is_compiling"),
    ("torch._dynamo", "is_compiling"),
    ("torch.jit", "is_tracing"),
    ("torch.jit", "is_scripting"),
    ("torch.onnx", "is_in_onnx_export"),
)
"""Functions that tell a module whether it is being captured."""


@contextmanager
def attributes_replaced(*replacements: tuple[Any, str, Any]) -> Iterator[None]:
    """Set attributes of modules or classes, and put the old values back."""
    kept = [(owner, name, getattr(owner, name)) for owner, name, _ in replacements]
    for owner, name, value in replacements:
        setattr(owner, name, value)
    try:
        yield
    finally:
        for owner, name, value in reversed(kept):
            setattr(owner, name, value)


@contextmanager
def eager_paths() -> Iterator[None]:
    """Within it attention modules compute what they compute in eager mode, in operators that can be exported."""
    overrides, activation = torch.overrides, importlib.import_module(_ATTENTION_CODE[0])
    asks = overrides.has_torch_function

    def has_torch_function(args: Any) -> bool:
        # Tensors of an export count as overridden, and these modules then avoid their fused kernels.
        caller = sys._getframe(1).f_globals.get("__name__")
        return False if caller in _ATTENTION_CODE else bool(asks(args))

    package = importlib.import_module("torch")  # itself: the name above stands for a module that is loaded on use
    replaced = [(package, name, steps_of(getattr(torch.ops.aten, name).default)) for name in _FUSED]
    replaced += [
        (overrides, "has_torch_function", has_torch_function),
        (torch.nn.TransformerEncoder, "forward", _encoder(torch.nn.TransformerEncoder.forward)),
    ]
    transformer = importlib.import_module(_ATTENTION_CODE[1])
    if hasattr(transformer, "_detect_is_causal_mask"):
        replaced.append((transformer, "_detect_is_causal_mask", _is_said_to_be_causal))
    if hasattr(activation, "_is_make_fx_tracing"):
        replaced.append((activation, "_is_make_fx_tracing", lambda: False))
    with attributes_replaced(*replaced):
        yield


def _is_said_to_be_causal(mask: Any, is_causal: bool | None = None, size: int | None = None) -> bool:
    """True if the caller says so. Looking at the mask would depend on data, and only chooses a faster kernel."""
    return is_causal is True


def _encoder(forward: Callable[..., Any]) -> Callable[..., Any]:
    """nn.TransformerEncoder.forward with zeros at padded positions wherever eager mode uses nested tensors."""

    def run(self: Any, src: Any, mask: Any = None, src_key_padding_mask: Any = None, is_causal: Any = None) -> Any:
        if not _uses_nested(self, src, mask, src_key_padding_mask):
            return forward(self, src, mask, src_key_padding_mask, is_causal)
        valid = src_key_padding_mask.logical_not()
        leading = torch.arange(src.size(1), device=src.device) < valid.sum(1, keepdim=True)
        if getattr(self, "mask_check", True):
            padded = (~leading) & (valid == leading).all()
        else:  # not looked at: as many positions as are valid, from the first one
            padded, src_key_padding_mask = ~leading, ~leading
        norm, self.norm, self.use_nested_tensor = self.norm, None, False
        try:
            made = forward(self, src, mask, src_key_padding_mask, is_causal)
        finally:
            self.norm, self.use_nested_tensor = norm, True
        made = made.masked_fill(padded.unsqueeze(-1), 0.0)
        return made if norm is None else norm(made)

    return run


def _uses_nested(encoder: Any, src: Any, mask: Any, padding: Any) -> bool:
    """True if eager mode converts to nested tensors, provided that the padding stands at the end of each row."""
    return (
        padding is not None
        and mask is None
        and src.dim() == 3
        and bool(getattr(encoder, "use_nested_tensor", False))
        and not encoder.layers[0].training
        and torch.backends.mha.get_fastpath_enabled()
        and not torch.is_autocast_enabled()
    )


@contextmanager
def eager_flags() -> Iterator[list[str]]:
    """Within it a module's own code hears that it is not being captured; collects the names of what it asked."""
    asked: list[str] = []
    with ExitStack() as stack:
        for place, name in _FLAGS:
            owner = importlib.import_module(place)
            if hasattr(owner, name):
                answer = _answering(getattr(owner, name), f"{place}.{name}()", asked)
                stack.enter_context(attributes_replaced((owner, name, answer)))
        yield asked


def _answering(real: Callable[[], bool], words: str, asked: list[str]) -> Callable[[], bool]:
    def answer() -> bool:
        frame = sys._getframe(1)
        if not is_users(frame.f_code.co_filename):
            return real()
        asked.append(words)
        return False

    return answer
