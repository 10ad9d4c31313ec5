"""The public names that coverage is measured by, found by looking: a new release shows what is new.

Run it to see what has no case yet: ``python -m tests.torch.operators.names [PREFIX]``.
"""

from __future__ import annotations

import inspect
import operator
import sys
from collections.abc import Iterator

import torch

from tests.torch.operators.case import all_cases
from tests.torch.operators.draws import words

__all__ = ["public_names"]

_SPACES = ("nn.functional", "special", "fft", "linalg")
_NOT_ITS_OWN = ("typing", "torch.overrides", "torch._jit_internal")
_NAMED = words(
    "stft istft complex polar view_as_real view_as_complex real imag angle unique unique_consecutive nonzero "
    "masked_select argwhere index_put index_add index_copy index_fill scatter scatter_add scatter_reduce "
    "segment_reduce bucketize searchsorted histc bincount floor_divide remainder fmod round true_divide masked_scatter "
    "take take_along_dim cumprod cummax cummin logcumsumexp median quantile nanmedian kthvalue mode cdist einsum "
    "tensordot diff trapezoid roll rot90 tril triu repeat_interleave meshgrid block_diag cartesian_prod "
    "combinations isin lerp addcmul addcdiv hypot logaddexp gcd lcm bitwise_left_shift bitwise_right_shift nan_to_num "
    "nansum nanmean std var norm renorm logit sinc where clamp allclose equal topk sort argsort msort"
)
"""Functions of torch itself that networks meet often and exporters rarely carry over whole."""


def public_names() -> list[str]:
    """The functions of the namespaces, those of torch that are named here, and the operators of the core ATen set."""
    return sorted({*_functions(), *(f"torch.{name}" for name in _NAMED), *_core()})


def _functions() -> Iterator[str]:
    for space in _SPACES:
        for name, item in vars(operator.attrgetter(space)(torch)).items():
            named = callable(item) and not inspect.isclass(item) and not name.startswith("_")
            if named and getattr(item, "__module__", None) not in _NOT_ITS_OWN and "torch_function" not in name:
                yield f"torch.{space}.{name}"


def _core() -> Iterator[str]:
    for full in torch._C._dispatch_get_all_op_names():
        space, _, rest = full.partition("::")
        packet, _, overload = rest.partition(".")
        if space != "aten" or not hasattr(torch.ops.aten, packet):
            continue
        found = getattr(getattr(torch.ops.aten, packet), overload or "default", None)
        if found is not None and torch.Tag.core in found.tags:
            yield f"aten.{packet}.{overload or 'default'}"


def main() -> None:
    """Print names without a case."""
    prefix = sys.argv[1] if len(sys.argv) > 1 else ""
    known = {case.name for case in all_cases()}
    missing = [name for name in public_names() if name not in known and name.startswith(prefix)]
    print("\n".join(missing))
    print(f"{len(missing)} of {len(public_names())} names have no case", file=sys.stderr)


if __name__ == "__main__":
    main()
