"""State that a module keeps outside of its tensors, and chance from outside of PyTorch: a capture would freeze both."""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import numpy as np

from trueport.errors import ConversionError, UsageError
from trueport.fidelity import EXACT, Loss
from trueport.frontends.torch._torch import torch
from trueport.frontends.torch.source.call import Call, as_array, inference
from trueport.frontends.torch.source.failures import place_of
from trueport.frontends.torch.source.writes import kept_tensors, memory_of, watched_writes
from trueport.quoting import one_line

__all__ = ["refuse_hidden_state"]

_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def refuse_hidden_state(module: Any, call: Call) -> list[Loss]:
    """Run the module several times and look at what changed; return what it leaves behind and never reads again."""
    watcher, written = watched_writes(module)
    with inference(module):
        memory = memory_of(module)
        _run(module, call, watcher=watcher)
        moved = [path for path, place in memory_of(module).items() if memory.get(path, place) != place]
    _refuse_writes({**dict.fromkeys(moved, ""), **written})
    with inference(module):
        before, held = _python_state(module), _tensor_state(module)
        first = _run(module, call)
        changed = _changed(before, _python_state(module))
        assigned = _changed(held, _tensor_state(module))
        again = _run(module, call)
    if (changed or assigned) and not (_equal(first, again) and _forgets(module, call)):
        raise _keeps(changed, assigned)
    if not _equal(first, again):
        raise ConversionError(
            "gives another result each time, though PyTorch's own generator was set the same",
            where="the module",
            remedy="chance and clocks of Python are baked in by a capture: draw with torch.rand…, or hand them in",
        )
    return [
        Loss(path, "assigned in forward", "the converted model gives back its outputs and keeps nothing", EXACT)
        for path in (*changed, *assigned)
    ]


def _refuse_writes(written: Mapping[str, str]) -> None:
    if written:
        path, place = next(iter(written.items()))
        raise ConversionError(
            f"forward changes the tensor {path!r} that the module keeps, in place: a converted model has no state",
            where=place or path,
            remedy="compute a new tensor and use that (w = self.weight / norm; F.linear(x, w)), or hand the state in "
            "as an input and give the new one back as an output",
        )


def _keeps(changed: list[str], assigned: list[str]) -> ConversionError:
    if changed:
        return ConversionError(
            f"forward changes {changed[0]!r}, which is no tensor: the captured model would keep today's value",
            where=changed[0],
            remedy="hand the value in as an input and give the new one back as an output",
        )
    return ConversionError(
        f"forward changes the tensor {assigned[0]!r} that the module keeps: a converted model has no state",
        where=assigned[0],
        remedy="hand the state in as an input and give the new one back as an output",
    )


def _forgets(module: Any, call: Call) -> bool:
    """True if what a call left behind changes nothing in the next one, on other inputs."""
    other = [_varied(tensor) for tensor in call.tensors]
    if all(torch.equal(a, b) for a, b in zip(call.tensors, other, strict=True)):
        return False
    try:
        with inference(module):
            fresh = _run(module, call, other)
        with inference(module):
            _run(module, call)
            return _equal(fresh, _run(module, call, other))
    except UsageError:  # the module does not take the other inputs
        return False


def _varied(tensor: Any) -> Any:
    """Other values: of integers and booleans those that are there, in another order."""
    turned = tensor.flip(list(range(tensor.dim())))
    return turned * 2 - 1 if tensor.is_floating_point() else turned


def _run(module: Any, call: Call, tensors: list[Any] | None = None, watcher: Any = None) -> dict[str, np.ndarray]:
    kept = torch.random.get_rng_state(), random.getstate()
    torch.manual_seed(0)
    try:
        with watcher or nullcontext():
            made = call.run(module, [tensor.clone() for tensor in tensors or call.tensors])
        return {name: as_array(value) for name, value in made.items()}
    except Exception as error:  # whatever the module's own code raises
        raise UsageError(
            f"fails on the example: {type(error).__name__}: {one_line(error, 300)}",
            where=place_of(error),
            remedy="pass example inputs that module(…) takes",
        ) from error
    finally:
        torch.random.set_rng_state(kept[0])
        random.setstate(kept[1])
        random.random()  # the next run starts elsewhere, so that chance from Python shows


def _equal(first: Mapping[str, np.ndarray], second: Mapping[str, np.ndarray]) -> bool:
    return first.keys() == second.keys() and all(
        first[name].shape == second[name].shape and first[name].tobytes() == second[name].tobytes() for name in first
    )


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return sorted(path for path, value in after.items() if path not in before or before[path] != value)


def _python_state(module: Any) -> dict[str, str]:
    """Plain values in the module's attributes, by their path; containers by what they hold."""
    return {
        f"{name}.{attribute}" if name else attribute: repr(value)
        for name, part in module.named_modules()
        for attribute, value in {**_of_class(type(part)), **vars(part)}.items()
        if not attribute.startswith("_") and attribute != "training" and _is_plain(value)
    }


def _of_class(kind: type) -> dict[str, Any]:
    """What a module has from its class: the value from before the first ``self.count += 1``, for one."""
    return {name: value for base in reversed(kind.__mro__) for name, value in vars(base).items()}


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple, set)):
        return all(_is_plain(item) for item in value)
    if isinstance(value, dict):
        return all(_is_plain(item) for item in value.values())
    return isinstance(value, _PLAIN)


def _tensor_state(module: Any) -> dict[str, Any]:
    return {path: (id(tensor), tensor._version) for path, tensor in kept_tensors(module)}
