"""PyTorch's control flow under a dispatch mode: branches and loops run as Python does them, seen by the mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trueport.frontends.torch._torch import torch

__all__ = ["run_control_flow_in"]


def run_control_flow_in(mode_class: Any) -> None:
    """Let `torch.cond` and `while_loop` run under a class of dispatch modes, which would otherwise refuse them."""
    torch.ops.higher_order.cond.py_impl(mode_class)(_branch)
    torch.ops.higher_order.while_loop.py_impl(mode_class)(_loop)


def _branch(mode: Any, predicate: Any, then: Any, otherwise: Any, operands: Sequence[Any]) -> Any:
    with mode:
        return (then if bool(predicate) else otherwise)(*operands)


def _loop(mode: Any, condition: Any, body: Any, carried: Sequence[Any], more: Sequence[Any]) -> Any:
    with mode:
        while bool(condition(*carried, *more)):
            carried = body(*carried, *more)
        return tuple(carried)
