"""Kernels of composite operators for tensors whose sizes are symbols: PyTorch's own ask for numbers, which fixes sizes.

A batch norm asks whether there is an element at all, max_pool1d reads the length of its input, chunk counts its
parts, tensor_split compares the remainder of a size with the number of each part.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from trueport.frontends.torch._torch import torch

__all__ = ["symbolic_kernels"]


@contextmanager
def symbolic_kernels() -> Iterator[None]:
    """Within it such operators of a captured program leave all sizes open."""
    aten, key = torch.ops.aten, torch._C.DispatchKey.CompositeImplicitAutograd
    kernels: dict[Any, Callable[..., Any]] = {
        aten.batch_norm.default: _batch_norm,
        aten.chunk.default: _chunk,
        aten.max_pool1d.default: _max_pool1d,
        aten.tensor_split.sections: _tensor_split,
    }
    for operator, kernel in kernels.items():
        operator.py_impl(key)(kernel)
    try:
        yield
    finally:
        for operator in kernels:
            operator.py_kernels.pop(key)
            operator._dispatch_cache.clear()


def _batch_norm(
    x: Any, weight: Any, bias: Any, mean: Any, variance: Any, training: bool, momentum: float, eps: float, cudnn: bool
) -> Any:
    aten = torch.ops.aten
    if training or not _is_symbolic(x):
        return _own(aten.batch_norm.default, x, weight, bias, mean, variance, training, momentum, eps, cudnn)
    if isinstance(x, torch._subclasses.fake_tensor.FakeTensor):
        return torch.empty_like(x)
    return aten._native_batch_norm_legit_no_training.default(x, weight, bias, mean, variance, momentum, eps)[0]


def _max_pool1d(
    x: Any,
    kernel: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> Any:
    """By the pool of pictures, of one row."""
    aten = torch.ops.aten
    if not _is_symbolic(x):
        return _own(aten.max_pool1d.default, x, kernel, stride, padding, dilation, ceil_mode)
    strides = [1, *(stride or kernel)]
    pooled = aten.max_pool2d.default(x.unsqueeze(-2), [1, *kernel], strides, [0, *padding], [1, *dilation], ceil_mode)
    return pooled.squeeze(-2)


def _chunk(x: Any, chunks: int, dim: int = 0) -> Any:
    """Return the parts where the size's bounds settle that there are ``chunks``: three chunks of four rows are two."""
    size = x.shape[dim]
    if not _is_symbolic(x) or not isinstance(size, torch.SymInt) or not _is_count_settled(size, chunks):
        return _own(torch.ops.aten.chunk.default, x, chunks, dim)
    length = (size + chunks - 1) // chunks
    return _parts(x, [*(part * length for part in range(chunks)), size], dim)


def _is_count_settled(size: Any, chunks: int) -> bool:
    """True if every size within the bounds is cut into ``chunks`` parts; from ``chunks * (chunks - 1)`` on, each is."""
    bounds = size.node.shape_env.bound_sympy(size.node.expr)
    doubtful = (n for n in range(1, chunks * (chunks - 1)) if bounds.lower <= n <= bounds.upper)
    return all(math.ceil(n / math.ceil(n / chunks)) == chunks for n in doubtful)


def _tensor_split(x: Any, sections: int, dim: int = 0) -> Any:
    """Return the parts by their starts: each of the first ``size % sections`` parts has one element more."""
    if not _is_symbolic(x):
        return _own(torch.ops.aten.tensor_split.sections, x, sections, dim)
    least, longer = x.shape[dim] // sections, x.shape[dim] % sections
    starts = [part * least + torch.sym_min(part, longer) for part in range(sections + 1)]
    return _parts(x, starts, dim)


def _parts(x: Any, starts: Sequence[Any], dim: int) -> list[Any]:
    return [x.narrow(dim, start, end - start) for start, end in itertools.pairwise(starts)]


def _own(operator: Any, *args: Any) -> Any:
    """By PyTorch's own kernel."""
    return operator._op_dk(torch._C.DispatchKey.CompositeImplicitAutograd, *args)


def _is_symbolic(x: Any) -> bool:
    kinds = torch._subclasses.fake_tensor.FakeTensor, torch._subclasses.functional_tensor.FunctionalTensor
    return isinstance(x, kinds)
