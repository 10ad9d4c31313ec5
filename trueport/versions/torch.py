"""What PyTorch's packages need beside TensorFlow."""

from __future__ import annotations

import sys

__all__ = ["keep_triton_out"]


def keep_triton_out() -> None:
    """Have PyTorch go on without Triton where TensorFlow is loaded already.

    Both carry LLVM. Triton 3.9, which PyTorch 2.15 loads when it exports a program, ends the process when it is loaded
    after TensorFlow ("CommandLine Error: Option … registered more than once"). The other order works.
    """
    if "tensorflow" in sys.modules and "triton" not in sys.modules:
        sys.modules["triton"] = None  # type: ignore[assignment]
