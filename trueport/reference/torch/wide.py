"""A module evaluated in float64 while it runs as it is: every operator that PyTorch dispatches is widened on its way.

The module's own Python code runs, with its own branches and loops, so that this is the truth about the module and not
about what was captured of it. With ``noise`` each operator also errs as a float of the module's own type may.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from trueport.errors import NoOracle
from trueport.fidelity import Against
from trueport.frontends.torch._torch import torch
from trueport.frontends.torch.source.call import Call, as_array, as_tensor, inference
from trueport.frontends.torch.source.eager_attention import eager_paths
from trueport.frontends.torch.source.exporter_output import torch_warnings_hidden
from trueport.frontends.torch.source.higher_order import run_control_flow_in
from trueport.frontends.torch.source.operator_steps import steps_of
from trueport.ir.rounding import LEAST_BLUR, place_sizes
from trueport.quoting import one_line
from trueport.reference.torch.rounding import bound_of, makes_numbers, takes_samples

__all__ = ["WideModule", "coarsest_unit", "widened", "widening"]

_NARROW = ("float32", "float16", "bfloat16")
_ROUNDOFF = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8, "float64": 2.0**-53}


class WideModule:
    """A module that is run with its weights in float64.

    They take the places of the module's own while it runs. A copy would not do: hooks and bound methods that it holds
    go on working on the module that they were made for.
    """

    def __init__(self, module: Any, call: Call) -> None:
        self._call = call
        self._module = module
        self._wide: list[tuple[Any, str, Any]] = []
        if isinstance(module, torch.jit.ScriptModule):
            with torch_warnings_hidden():
                self._module = copy.deepcopy(module).double()
        else:
            self._wide = _wide_state(module)
        self.unit = coarsest_unit(module, call)

    def run(self, feeds: Mapping[str, Any], seed: int | None = None) -> dict[str, Any]:
        """Results by name; with a ``seed`` errors of rounding are put in."""
        given = [
            widened(as_tensor(feeds[name], like, name))
            for name, like in zip(self._call.names, self._call.tensors, strict=True)
        ]
        mode = _Mode(self.unit, None if seed is None else np.random.default_rng(seed))
        try:
            with inference(self._module), eager_paths(), _dispatch_mode(mode):
                for part, name, value in self._wide:
                    setattr(part, name, value)
                results = self._call.run(self._module, given)
        except Exception as error:  # whatever the module's own code raises when it is given another type
            raise NoOracle(
                f"PyTorch can't run it in float64: {one_line(error, 200)}",
                where="the module",
                remedy="let it take doubles; until then results are compared with PyTorch's own alone",
            ) from error
        return {name: as_array(value) for name, value in results.items()}


def _wide_state(module: Any) -> list[tuple[Any, str, Any]]:
    """Each parameter and buffer in float64, with the part and the attribute that hold it; tied weights stay tied."""
    made: dict[int, Any] = {}
    found = []
    for part in module.modules() if hasattr(module, "modules") else ():
        for name, tensor in (*part._parameters.items(), *part._buffers.items()):
            if tensor is None:
                continue
            wide = made.setdefault(id(tensor), widened(tensor.detach()))
            if isinstance(tensor, torch.nn.Parameter) and not isinstance(wide, torch.nn.Parameter):
                wide = made[id(tensor)] = torch.nn.Parameter(wide, requires_grad=False)
            found.append((part, name, wide))
    return found


def coarsest_unit(module: Any, call: Call) -> float:
    """The roundoff of the coarsest type that a module holds: what a finer part of it rounds is less than that."""
    floats = [tensor.dtype for tensor in (*_state(module), *call.tensors) if tensor.is_floating_point()]
    return max((_ROUNDOFF.get(_word(dtype), 0.0) for dtype in floats), default=2.0**-24)


def widening(unit: float, generator: np.random.Generator | None) -> Any:
    """A context in which all that PyTorch dispatches is widened; with a generator it errs by ``unit``."""
    return _dispatch_mode(_Mode(unit, generator))


class _Mode:
    """What is done around each operator."""

    def __init__(self, unit: float = 0.0, generator: np.random.Generator | None = None) -> None:
        self._unit = unit
        self._generator = generator
        self._narrow = unit != _ROUNDOFF["float64"]

    def step(self, operator: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        writes = operator._schema.is_mutable
        given = {name: _wide_type(value) for name, value in kwargs.items()}
        # What an operator writes into must stay the tensor that it is.
        wide = _each(lambda value: _wide_type(value if writes else widened(value)), list(args))
        rounds, bound = self._generator is not None and makes_numbers(operator), bound_of(operator)
        if rounds and bound.against == Against.DATA:
            wide = _each(lambda value: self._err(value, value, max(bound.ulps, LEAST_BLUR)), wide)
        made = taken(operator, wide, given, self._narrow) if takes_samples(operator) else operator(*wide, **given)
        made = made if writes else _each(widened, made)
        if not rounds:
            return made
        if writes:
            _each(lambda value: _is_wide(value) and value.copy_(self._err(value, value)), made)
            return made
        sizes = _sizes(bound.against, operator, wide, given, made)
        return torch.utils._pytree.tree_map(lambda value, size: self._err(value, size, bound.ulps), made, sizes)

    def _err(self, value: Any, size: Any, ulps: float = 1.0) -> Any:
        if self._generator is None:
            return value
        if isinstance(value, torch.Tensor) and value.dtype == torch.complex128:
            # Both parts err by what the whole number is large.
            parts = torch.view_as_real(value.resolve_conj())
            return torch.view_as_complex(self._err(parts, size.abs().unsqueeze(-1).expand_as(parts), ulps))
        if not _is_wide(value):
            return value
        drawn = torch.from_numpy(np.asarray(self._generator.uniform(-1, 1, size=tuple(value.shape))))
        scale = torch.where(torch.isfinite(size), size.abs(), torch.zeros_like(size))
        return value + 2 * self._unit * ulps * scale * drawn


def _dispatch_mode(mode: _Mode) -> Any:
    return _mode_class()(mode)


@functools.cache
def _mode_class() -> Any:
    """PyTorch's hook; the class is made here because its base is PyTorch's."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Widening(TorchDispatchMode):  # type: ignore[misc, no-untyped-call, unused-ignore]
        def __init__(self, mode: _Mode) -> None:
            super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
            self._mode = mode

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            # PyTorch takes apart what it defines by other operators, but not for a call that is made in here.
            with self:
                made = (steps_of(func) or _composition(func))(*args, **(kwargs or {}))
            return self._mode.step(func, args, kwargs or {}) if made is NotImplemented else made

    run_control_flow_in(Widening)
    return Widening


def _composition(operator: Any) -> Callable[..., Any]:
    """Return the operators that PyTorch's own kernel calls, as a function; it gives NotImplemented where none are.

    PyTorch also has compositions in Python, which programs are taken apart by. They are formulas of their own: those of
    interpolation choose other samples than the kernels do.
    """
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    if key not in operator.py_kernels:
        return operator.decompose  # type: ignore[no-any-return]
    if not torch._C._dispatch_has_kernel_for_dispatch_key(operator.name(), "CompositeImplicitAutograd"):
        return lambda *args, **kwargs: NotImplemented
    return functools.partial(operator._op_dk, key)


def _state(module: Any) -> list[Any]:
    return [*module.parameters(), *module.buffers()] if hasattr(module, "parameters") else []


def _word(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def _wide_type(value: Any) -> Any:
    if isinstance(value, torch.dtype):
        return torch.float64 if _word(value) in _NARROW else torch.complex128 if value.is_complex else value
    return value


def widened(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    if value.is_complex():
        return value.to(torch.complex128)
    return value.to(torch.float64) if _word(value.dtype) in _NARROW else value


def _is_wide(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype == torch.float64


def _sizes(against: Against, operator: Any, args: Sequence[Any], kwargs: Mapping[str, Any], made: Any) -> Any:
    """What the errors of an operator's results are relative to."""
    if against == Against.TERMS:
        return operator(*_each(_magnitude, args), **kwargs)
    if against == Against.PLACES:
        return operator(torch.from_numpy(place_sizes(args[0].numpy())), *args[1:], **kwargs)
    if against == Against.ONE:
        return _each(lambda value: value.abs().clamp(min=1.0) if _is_wide(value) else value, made)
    if against == Against.INPUT:
        return _each(lambda value: torch.maximum(value.abs(), args[0].abs()) if _is_wide(value) else value, made)
    return made


def _magnitude(value: Any) -> Any:
    return value.abs() if _is_wide(value) else value


def _each(change: Callable[[Any], Any], tree: Any) -> Any:
    return torch.utils._pytree.tree_map(change, tree)


def taken(operator: Any, args: Sequence[Any], kwargs: Mapping[str, Any], narrow: bool) -> Any:
    """The samples of ``args[0]``, ``[N, C, …]``, that ``operator`` takes; ``narrow``: of data of at most float32."""
    data, rest = args[0], args[1:]
    if not narrow or not data.is_floating_point() or not data.numel():
        return operator(*args, **kwargs)
    for axis in range(2, data.dim()):
        # Along one axis after the other: positions of whole images are more than float32 tells apart.
        line = torch.arange(data.shape[axis], dtype=torch.float32)
        shape = [1, 1, *(-1 if other == axis else 1 for other in range(2, data.dim()))]
        positions = line.reshape(shape).expand(1, 1, *args[0].shape[2:]).contiguous()
        chosen = operator(positions, *rest, **kwargs)
        first = [0, 0, *(slice(None) if other == axis else 0 for other in range(2, data.dim()))]
        data = data.index_select(axis, chosen[tuple(first)].long())
    return data
