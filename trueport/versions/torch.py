"""Operators that some versions of PyTorch lack or capture wrongly, and what its packages need beside TensorFlow."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

__all__ = [
    "defers_conditions",
    "int64_indices",
    "lacks",
    "own_translations_first",
    "script_exporter",
    "without_triton",
]

_NOT_IN_ALL = {
    "aten::cholesky": "PyTorch 2.15 has aten::linalg_cholesky only",
    "aten::_upsample_lanczos2d_aa": "came with PyTorch 2.13",
    "aten::_upsample_lanczos2d_aa.vec": "came with PyTorch 2.13",
}
"""Operators that translations are declared for and that a supported version lacks."""

_WITH_INDICES = ("_unique2", "unique_dim", "unique_consecutive")
"""Operators that return values, then indices and counts."""


def lacks(torch: Any, operator: str) -> bool:
    """True if the installed PyTorch (``torch``, the module) lacks an operator that others have: no program uses it."""
    space, _, rest = operator.partition("::")
    name = rest.partition(".")[0]
    return operator in _NOT_IN_ALL and not hasattr(getattr(torch.ops, space), name)


def defers_conditions(torch: Any) -> bool:
    """True if the exporter can put conditions on sizes into the program; PyTorch 2.8 cannot."""
    return "prefer_deferred_runtime_asserts_over_guards" in inspect.signature(torch.export.export).parameters


@contextlib.contextmanager
def int64_indices(torch: Any) -> Iterator[None]:
    """Within it a program that is captured has indices and counts of unique() in int64, as its kernels return them.

    PyTorch 2.8 gives them the type of the values while it captures, which types everything that follows wrongly.
    """
    table = torch._subclasses.fake_impls.op_implementations_dict
    overloads = [getattr(torch.ops.aten, name).default for name in _WITH_INDICES]
    kept = {overload: table[overload] for overload in overloads if overload in table}
    table.update({overload: _with_int64(implementation, torch) for overload, implementation in kept.items()})
    try:
        yield
    finally:
        table.update(kept)


def _with_int64(implementation: Callable[..., Any], torch: Any) -> Callable[..., Any]:
    @functools.wraps(implementation)
    def called(*args: Any, **options: Any) -> Any:
        values, *indices = implementation(*args, **options)
        return values, *(index.new_empty(index.shape, dtype=torch.int64) for index in indices)

    return called


@contextlib.contextmanager
def own_translations_first(dispatching: Any) -> Iterator[None]:
    """Within it the exporter takes a custom translation for every node of its operator.

    ``dispatching``: the exporter's module of that name. In PyTorch 2.8 it compares the types of a node with the
    signature of a translation, and takes ``*args`` for one argument; in later versions it does not compare.
    """
    match = getattr(dispatching, "get_matching_overload", None)
    if match is None:
        yield
        return

    def chosen(node: Any, overloads: Sequence[Any]) -> Any:
        custom = [overload.onnx_function for overload in overloads if overload.is_custom]
        return (custom[0], "a custom translation") if custom else match(node, overloads)

    dispatching.get_matching_overload = chosen
    try:
        yield
    finally:
        dispatching.get_matching_overload = match


def script_exporter() -> Any:
    """Return the module of the exporter for scripted modules; it was moved in PyTorch 2.9."""
    try:
        return importlib.import_module("torch.onnx._internal.torchscript_exporter.utils")
    except ModuleNotFoundError:
        return importlib.import_module("torch.onnx.utils")


@contextlib.contextmanager
def without_triton() -> Iterator[None]:
    """Within it PyTorch goes on without Triton if TensorFlow is loaded already; after it `import triton` is as before.

    Both carry LLVM. Triton 3.9, which PyTorch 2.15 loads when it exports a program, ends the process when it is loaded
    after TensorFlow ("CommandLine Error: Option … registered more than once"). The other order works. PyTorch keeps
    the answer to the question whether there is Triton, so it stays without it in such a process.
    """
    if "tensorflow" not in sys.modules or "triton" in sys.modules:
        yield
        return
    sys.modules["triton"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        if sys.modules.get("triton", ...) is None:
            del sys.modules["triton"]
