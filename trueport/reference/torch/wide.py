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
from trueport.fidelity import Against, ulps
from trueport.frontends.torch._torch import torch
from trueport.frontends.torch.source.call import Call, as_array, as_tensor, inference
from trueport.frontends.torch.source.eager_attention import eager_paths
from trueport.frontends.torch.source.exporter_output import torch_warnings_hidden
from trueport.frontends.torch.source.higher_order import run_control_flow_in
from trueport.frontends.torch.source.operator_steps import steps_of
from trueport.quoting import one_line
from trueport.reference.noise import Rounding, RoundingNoise
from trueport.reference.torch.rounding import bound_of, makes_numbers, sums_of, takes_samples

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

    def run(self, feeds: Mapping[str, Any], noise: RoundingNoise | None = None) -> dict[str, Any]:
        """Results by name; with ``noise`` errors of rounding are put in."""
        given = [
            widened(as_tensor(feeds[name], like, name))
            for name, like in zip(self._call.names, self._call.tensors, strict=True)
        ]
        mode = _Mode(self.unit, noise)
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


def weights_of(module: Any) -> list[np.ndarray]:
    """Return a module's parameters and buffers."""
    return [as_array(tensor) for tensor in _state(module)]


def widening(unit: float, noise: RoundingNoise | None) -> Any:
    """Return a context in which all that PyTorch dispatches is widened; with ``noise`` it errs by ``unit``."""
    return _dispatch_mode(_Mode(unit, noise))


class _Mode:
    """What is done around each operator."""

    def __init__(self, unit: float, noise: RoundingNoise | None) -> None:
        self._unit = unit
        self._noise = noise
        self._narrow = unit != _ROUNDOFF["float64"]

    def step(self, operator: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        writes = operator._schema.is_mutable
        given = {name: _wide_type(value) for name, value in kwargs.items()}
        # What an operator writes into must stay the tensor that it is.
        wide = _each(lambda value: _wide_type(value if writes else widened(value)), list(args))

        def run(operands: Sequence[Any]) -> Any:
            if takes_samples(operator):
                return taken(operator, operands, given, self._narrow)
            made = operator(*operands, **given)
            return made if writes else _each(widened, made)

        if self._noise is None or not makes_numbers(operator):
            return run(wide)
        if not writes:
            return self._with_errors(self._noise, operator, wide, run)
        made = run(wide)
        for value in torch.utils._pytree.tree_leaves(made):
            if _is_wide(value):
                (off,) = self._noise(Rounding(self._unit, ulps(1), ()), (), functools.partial(_itself, value))
                value.copy_(torch.from_numpy(off))
        return made

    def _with_errors(self, noise: RoundingNoise, operator: Any, args: Sequence[Any], run: Any) -> Any:
        """Return what ``run(args)`` gives, with errors of rounding, in the structure in which it gives them."""
        leaves, structure = torch.utils._pytree.tree_flatten(args)
        structures: list[Any] = []

        def run_leaves(arrays: Sequence[Any]) -> list[Any]:
            made = run(torch.utils._pytree.tree_unflatten(list(map(_tensor, arrays)), structure))
            results, of_results = torch.utils._pytree.tree_flatten(made)
            structures.append(of_results)
            return list(map(_array, results))

        # Other inputs than those of cancelling sums come from operators that erred already.
        bound = bound_of(operator)
        blurred = [bound.against == Against.DATA] * len(leaves)
        rounding = Rounding(self._unit, bound, blurred, sums_of(operator))
        results = noise(rounding, list(map(_array, leaves)), run_leaves)
        return torch.utils._pytree.tree_unflatten(list(map(_tensor, results)), structures[0])


def _itself(value: Any, inputs: Sequence[Any]) -> list[Any]:
    return [_array(value)]


def _array(value: Any) -> Any:
    """Return a float of the reference's precision as an array, anything else as it is."""
    is_wide = isinstance(value, torch.Tensor) and value.dtype in (torch.float64, torch.complex128)
    return value.detach().resolve_conj().resolve_neg().numpy() if is_wide else value


def _tensor(value: Any) -> Any:
    return torch.from_numpy(value) if isinstance(value, np.ndarray) else value


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
