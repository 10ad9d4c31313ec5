"""Operators that some versions of PyTorch lack, and what its packages need beside TensorFlow."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["keep_triton_out", "lacks"]

_NOT_IN_ALL = {
    "aten::cholesky": "PyTorch 2.15 has aten::linalg_cholesky only",
    "aten::_upsample_lanczos2d_aa": "came with PyTorch 2.13",
    "aten::_upsample_lanczos2d_aa.vec": "came with PyTorch 2.13",
}
"""Operators that translations are declared for and that a supported version lacks."""


def lacks(torch: Any, operator: str) -> bool:
    """True if the installed PyTorch (``torch``, the module) lacks an operator that others have: no program uses it."""
    space, _, rest = operator.partition("::")
    name = rest.partition(".")[0]
    return operator in _NOT_IN_ALL and not hasattr(getattr(torch.ops, space), name)


def keep_triton_out() -> None:
    """Have PyTorch go on without Triton where TensorFlow is loaded already.

    Both carry LLVM. Triton 3.9, which PyTorch 2.15 loads when it exports a program, ends the process when it is loaded
    after TensorFlow ("CommandLine Error: Option … registered more than once"). The other order works.
    """
    if "tensorflow" in sys.modules and "triton" not in sys.modules:
        sys.modules["triton"] = None  # type: ignore[assignment]
