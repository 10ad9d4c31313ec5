"""Batch norms captured whole: PyTorch asks whether there is an element at all, which fixes sizes that depend on values.

The shape of the result is that of the input.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from trueport.frontends.torch._torch import torch

__all__ = ["open_batch_norms"]


@contextmanager
def open_batch_norms() -> Iterator[None]:
    """Within it a batch norm by known statistics leaves all sizes of its input open."""
    layer, key = torch.ops.aten.batch_norm.default, torch._C.DispatchKey.CompositeImplicitAutograd
    layer.py_impl(key)(_batch_norm)
    try:
        yield
    finally:
        layer.py_kernels.pop(key)
        layer._dispatch_cache.clear()


def _batch_norm(
    x: Any, weight: Any, bias: Any, mean: Any, variance: Any, training: bool, momentum: float, eps: float, cudnn: bool
) -> Any:
    from torch._subclasses.fake_tensor import FakeTensor
    from torch._subclasses.functional_tensor import FunctionalTensor

    aten = torch.ops.aten
    if not training and isinstance(x, FakeTensor):
        return torch.empty_like(x)
    if not training and isinstance(x, FunctionalTensor):
        return aten._native_batch_norm_legit_no_training.default(x, weight, bias, mean, variance, momentum, eps)[0]
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    return aten.batch_norm.default._op_dk(key, x, weight, bias, mean, variance, training, momentum, eps, cudnn)
