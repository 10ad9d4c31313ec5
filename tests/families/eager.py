"""Modules converted and compared with what their user gets: the plain call in eager mode, without gradients."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import trueport

__all__ = ["Case", "check", "module_of"]

Inputs = tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class Case:
    """A module and several inputs, the first of which is the example."""

    make: Callable[[], nn.Module]
    inputs: Callable[[], Sequence[Inputs]]
    dynamic: str | None = None
    refused: str = ""
    """a part of the message; empty when it has to convert, and to give what eager mode gives"""
    to: str = "onnx"
    names: tuple[str, ...] = ("output",)
    exact: bool = False
    """compare with eager mode bit for bit"""


def module_of(forward: Callable[..., Any], **parts: Any) -> Callable[[], nn.Module]:
    """A function that makes a module with this forward, in evaluation mode."""

    def make() -> nn.Module:
        torch.manual_seed(0)
        kind = type(forward.__name__, (nn.Module,), {"forward": forward, "__module__": __name__})
        module: nn.Module = kind()
        for name, part in parts.items():
            setattr(module, name, part())
        return module.eval()

    return make


def check(case: Case, folder: Path) -> None:
    """Convert, save, run the file with its own framework; or be refused with place, reason and remedy."""
    module = case.make()
    example, *_ = inputs = case.inputs()
    if case.refused:
        with pytest.raises(trueport.TrueportError) as caught:
            trueport.convert(module, to=case.to, example_inputs=example, dynamic_shapes=case.dynamic)
        assert case.refused in str(caught.value), str(caught.value)
        assert caught.value.remedy and caught.value.where, repr(caught.value)
        return
    result = trueport.convert(module, to=case.to, example_inputs=example, dynamic_shapes=case.dynamic)
    assert result.report.verdict is not None and result.report.verdict.value == "faithful", str(result.report)
    place = folder / ("model.onnx" if case.to == "onnx" else "model")
    result.save(place)
    names = [port.name for port in result.report.inputs]
    run = _session(place) if case.to == "onnx" else _signature(place)
    assert tuple(port.name for port in result.report.outputs) == case.names
    for given in inputs:
        want = _eager(module, given)
        got = run(dict(zip(names, (tensor.numpy() for tensor in given), strict=True)), case.names)
        wide = None if case.exact else _wide(case.make(), given)
        for index, name in enumerate(case.names):
            _compare(name, want[index], got[name], None if wide is None else wide[index])


def _eager(module: nn.Module, given: Inputs) -> list[np.ndarray]:
    with torch.no_grad():
        return _arrays(module(*(tensor.clone() for tensor in given)))


def _wide(module: nn.Module, given: Inputs) -> list[np.ndarray] | None:
    """The same in float64."""
    doubles = [tensor.double() if tensor.is_floating_point() else tensor for tensor in given]
    return _eager(module.double(), tuple(doubles))


def _arrays(result: Any) -> list[np.ndarray]:
    leaves = [leaf for item in torch.utils._pytree.tree_leaves(result) for leaf in _fields(item)]
    kinds = {int: np.int64, bool: np.bool_, float: np.float64}
    return [
        leaf.numpy() if isinstance(leaf, torch.Tensor) else np.asarray(leaf, kinds[type(leaf)])
        for leaf in leaves
        if isinstance(leaf, (torch.Tensor, int, float))
    ]


def _fields(item: Any) -> list[Any]:
    """What a dataclass holds; anything else as it is."""
    if not dataclasses.is_dataclass(item):
        return list(item) if isinstance(item, torch.Size) else [item]
    return [getattr(item, field.name) for field in dataclasses.fields(item)]


def _compare(name: str, want: np.ndarray, got: np.ndarray, wide: np.ndarray | None) -> None:
    assert got.shape == want.shape and got.dtype == want.dtype, (
        f"{name}: {got.dtype}{got.shape}, {want.dtype}{want.shape}"
    )
    if want.dtype.kind != "f" or wide is None:
        np.testing.assert_array_equal(got, want, err_msg=name)
        return
    np.testing.assert_array_equal(np.isfinite(got), np.isfinite(want), err_msg=name)
    finite = np.isfinite(want)
    exact, largest = wide.astype(np.float64), float(np.max(np.abs(want[finite]), initial=0.0))
    # As near to the float64 result as eager mode is, eight times over, and four units in the last place of the largest.
    noise = float(np.max(np.abs(want.astype(np.float64) - exact)[finite], initial=0.0))
    allowed = 8 * noise + 4 * float(np.finfo(want.dtype).eps) * largest
    assert float(np.max(np.abs(got.astype(np.float64) - exact)[finite], initial=0.0)) <= allowed, name


Run = Callable[[dict[str, np.ndarray], Sequence[str]], dict[str, np.ndarray]]


def _session(place: Path) -> Run:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(place), providers=["CPUExecutionProvider"])

    def run(feeds: dict[str, np.ndarray], names: Sequence[str]) -> dict[str, np.ndarray]:
        taken = {item.name for item in session.get_inputs()}
        made = session.run(list(names), {name: value for name, value in feeds.items() if name in taken})
        return dict(zip(names, made, strict=True))

    return run


def _signature(place: Path) -> Run:
    import tensorflow as tf

    signature = tf.saved_model.load(str(place)).signatures["serving_default"]

    def run(feeds: dict[str, np.ndarray], names: Sequence[str]) -> dict[str, np.ndarray]:
        made = signature(**{name: tf.constant(value) for name, value in feeds.items()})
        return {name: np.asarray(made[name]) for name in names}

    return run
