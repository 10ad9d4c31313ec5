"""What holds while PyTorch captures or decomposes a program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from trueport.frontends.torch._torch import torch
from trueport.frontends.torch.exporter.recurrence import open_sequences
from trueport.frontends.torch.exporter.symbolic_kernels import symbolic_kernels
from trueport.frontends.torch.source.exporter_output import quiet
from trueport.frontends.torch.source.quantized_operators import open_quantized
from trueport.versions.torch import int64_indices, without_triton

__all__ = ["exporting"]


@contextmanager
def exporting() -> Iterator[None]:
    """Within it PyTorch's exporter is quiet, keeps sizes open, and types every value as its kernels do."""
    with ExitStack() as stack:
        for scope in (without_triton, quiet, open_sequences, symbolic_kernels, open_quantized):
            stack.enter_context(scope())
        stack.enter_context(int64_indices(torch))
        # The order of a product of several tensors is chosen by their sizes, which reads them.
        stack.enter_context(torch.backends.opt_einsum.flags(enabled=False))
        yield
