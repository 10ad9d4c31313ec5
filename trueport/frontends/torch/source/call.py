"""How a module is called: its arguments as a tree, of which the tensors are the inputs of the converted model.

Every tensor in the arguments and in the result gets a name: the parameter's of ``forward``, and the keys on the way to
it, joined by ``_``. ``results`` names what comes back.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import onnx_ir as ir

from trueport.errors import InvalidInput, UsageError
from trueport.frontends.torch._torch import torch
from trueport.frontends.torch.source.exporter_output import torch_warnings_hidden
from trueport.frontends.torch.source.kept_attributes import kept_attributes
from trueport.frontends.torch.source.results import name_of, named_results, unique
from trueport.ir.ports import Port
from trueport.quoting import plain_text
from trueport.versions.torch import without_triton

__all__ = ["Call", "as_array", "as_tensor", "inference", "make_call", "port_of"]

_PLACE = "torch._higher_order_ops.utils"
_NAME = "_hop_compile_and_call"


@dataclass(frozen=True)
class Call:
    """An example call, and the names of the tensors in it."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    names: tuple[str, ...]
    """of the leaves that are tensors, in the order in which they are passed"""

    @property
    def tensors(self) -> list[Any]:
        return [leaf for leaf in _leaves(self) if isinstance(leaf, torch.Tensor)]

    @property
    def fixed(self) -> dict[str, Any]:
        """Arguments that are no tensors: they are part of the converted model."""
        leaves = torch.utils._pytree.tree_flatten_with_path((self.args, dict(self.kwargs)))[0]
        return {_key(path): leaf for path, leaf in leaves if leaf is not None and not isinstance(leaf, torch.Tensor)}

    def filled(self, tensors: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with other tensors in the places of these."""
        leaves, spec = torch.utils._pytree.tree_flatten((self.args, dict(self.kwargs)))
        given = iter(tensors)
        args, kwargs = torch.utils._pytree.tree_unflatten(
            [next(given) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves], spec
        )
        return tuple(args), kwargs

    def run(self, module: Any, tensors: Sequence[Any]) -> dict[str, Any]:
        """The module's result on these tensors: every tensor and number in it by its name."""
        return named_results(self.result(module, tensors), self.names)

    def result(self, module: Any, tensors: Sequence[Any]) -> Any:
        """The module's result on these tensors, as the module gives it."""
        args, kwargs = self.filled(tensors)
        with uncompiled():
            return module(*args, **kwargs)


def make_call(module: Any, example: Any) -> Call:
    """``example``: a tensor, a tuple of arguments, a dict by parameter, or a pair of both."""
    args, kwargs = _arguments(example)
    forward = module.forward if hasattr(module, "forward") else module
    bound = _bound(forward, args, kwargs)
    # Keywords in the order in which forward has them: the names below are read off that order.
    kwargs = {name: kwargs[name] for name in bound if name in kwargs}
    leaves, _ = torch.utils._pytree.tree_flatten_with_path(bound)
    names = [name_of(path) for path, leaf in leaves if isinstance(leaf, torch.Tensor)]
    return Call(args, kwargs, tuple(unique(names)))


def _arguments(example: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(example, torch.Tensor):
        return (example,), {}
    if isinstance(example, Mapping):
        return (), dict(example)
    if isinstance(example, (tuple, list)):
        pair = len(example) == 2 and isinstance(example[0], tuple) and isinstance(example[1], dict)
        return (tuple(example[0]), dict(example[1])) if pair else (tuple(example), {})
    raise UsageError(
        f"example inputs are a {type(example).__name__}",
        where="example_inputs",
        remedy="pass a tensor, a tuple of arguments, a dict by parameter's name, or (arguments, keywords)",
    )


def _bound(forward: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    try:
        signature = inspect.signature(forward)
    except ValueError:  # TorchScript's and C++ callables have none
        return {**{f"input_{index}": value for index, value in enumerate(args)}, **kwargs}
    try:
        bound = signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        raise UsageError(
            f"the example does not fit forward{signature}: {plain_text(error)}",
            where="example_inputs",
            remedy="pass a value for each of forward's parameters that has no default",
        ) from error
    spread = {p.name for p in signature.parameters.values() if p.kind == inspect.Parameter.VAR_KEYWORD}
    flat: dict[str, Any] = {}
    for name, value in bound.items():
        flat |= value if name in spread else {name: value}
    return flat


def _key(path: Sequence[Any]) -> str:
    return name_of(path[1:])


def _leaves(call: Call) -> list[Any]:
    leaves: list[Any] = torch.utils._pytree.tree_flatten((call.args, dict(call.kwargs)))[0]
    return leaves


def port_of(name: str, tensor: Any, dims: Mapping[int, str]) -> Port:
    """The border's word for a tensor: open dims by their names."""
    shape = tuple(dims.get(axis, int(size)) for axis, size in enumerate(tensor.shape))
    if tensor.is_complex():
        return Port(name, "pair", _onnx_dtype(tensor.real.dtype).name, (*shape, 2), (name,))
    return Port(name, "tensor", _onnx_dtype(tensor.dtype).name, shape, (name,))


def _onnx_dtype(dtype: Any) -> ir.DataType:
    return ir.DataType.from_numpy(as_array(torch.zeros((), dtype=dtype)).dtype)


_BITS: Mapping[str, tuple[str, Any]] = {
    "bfloat16": ("int16", ml_dtypes.bfloat16),
    "float8_e4m3fn": ("uint8", ml_dtypes.float8_e4m3fn),
    "float8_e5m2": ("uint8", ml_dtypes.float8_e5m2),
    "float8_e4m3fnuz": ("uint8", ml_dtypes.float8_e4m3fnuz),
    "float8_e5m2fnuz": ("uint8", ml_dtypes.float8_e5m2fnuz),
}
"""Types that NumPy has no word for: the integers that carry their bits, and ml_dtypes' name."""


def as_array(tensor: Any) -> np.ndarray:
    """A tensor's values, bit for bit; a complex one as pairs of reals in a last axis, as ONNX has them."""
    tensor = tensor.detach().cpu()
    tensor = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
    carried = _BITS.get(str(tensor.dtype).removeprefix("torch."))
    if carried is None:
        array: np.ndarray = tensor.contiguous().numpy()
        return array
    bits, name = carried
    return np.asarray(tensor.contiguous().view(getattr(torch, bits)).numpy()).view(name)


def as_tensor(array: Any, like: Any, name: str) -> Any:
    """An array as a tensor of the same type as another; ``name`` is the input's, for who passed it."""
    array = np.array(array, order="C")  # a copy: a module may write into its inputs
    carried = {np.dtype(name): (bits, word) for word, (bits, name) in _BITS.items()}.get(array.dtype)
    if carried is not None:
        tensor = torch.from_numpy(array.view(carried[0])).view(getattr(torch, carried[1]))
    else:
        tensor = torch.from_numpy(array)
    tensor = torch.view_as_complex(tensor) if like.is_complex() else tensor
    if tensor.dtype != like.dtype:
        wanted = str(like.dtype).removeprefix("torch.")
        raise InvalidInput(
            f"has dtype {array.dtype}, the module takes {wanted}",
            where=f"input {name!r}",
            remedy=f"cast it: array.astype({wanted!r})",
        )
    return tensor


@contextmanager
def inference(module: Any) -> Iterator[None]:
    """The module as it is used, not trained: without gradients, in evaluation mode, all put back afterwards.

    A module in training mode is switched by its own ``eval``. One in evaluation mode stays as it was given, with the
    parts that it keeps in training mode: normalizations among these use the statistics of their input and, within
    this, leave the running ones as they are.
    """
    parts = list(module.modules()) if hasattr(module, "modules") else []
    with kept_attributes(module):
        kept = [(part, part.training) for part in parts]
        try:
            if parts and module.training:
                _switch(module, parts)
            for part in parts:
                if part.training and isinstance(part, torch.nn.modules.batchnorm._NormBase):
                    part.track_running_stats = False
                    part.running_mean = part.running_var = None
            with torch.no_grad(), torch_warnings_hidden(), without_triton():
                yield
        finally:
            for part, training in kept:
                part.training = training


def _switch(module: Any, parts: Sequence[Any]) -> None:
    try:
        module.eval()
    except NotImplementedError:  # the module of an exported program: its graph holds what it was exported with
        for part in parts:
            part.training = False


@contextmanager
def uncompiled() -> Iterator[None]:
    """Within it torch.cond and while_loop call what they are given: a compiler would not see the modes around it."""
    module = importlib.import_module(_PLACE)
    kept = getattr(module, _NAME, None)
    if kept is None:  # an older PyTorch, which has no such place
        yield
        return
    setattr(module, _NAME, _called)
    try:
        yield
    finally:
        setattr(module, _NAME, kept)


def _called(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> Any:
    return function(*args, **(kwargs or {}))
