"""State that a module keeps outside of its tensors, and chance from outside of PyTorch: a capture would freeze both."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from trueport.errors import ConversionError, UsageError
from trueport.frontends.torch._torch import torch
from trueport.frontends.torch.call import Call, as_array, inference
from trueport.frontends.torch.failures import place_of
from trueport.quoting import one_line

__all__ = ["refuse_hidden_state"]

_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def refuse_hidden_state(module: Any, call: Call) -> None:
    """Run the module three times on the same inputs and look at what changed."""
    before, held = _python_state(module), _tensor_state(module)
    first = _run(module, call, seed=0)
    changed = sorted(path for path, value in _python_state(module).items() if before.get(path, value) != value)
    if changed:
        raise ConversionError(
            f"forward changes {changed[0]!r}, which is no tensor: the captured model would keep today's value",
            where=changed[0],
            remedy="hand the value in as an input and give the new one back as an output",
        )
    written = sorted(path for path, value in _tensor_state(module).items() if held.get(path) != value)
    if written:
        raise ConversionError(
            f"forward changes the tensor {written[0]!r} that the module keeps: a converted model has no state",
            where=written[0],
            remedy="hand the state in as an input and give the new one back as an output",
        )
    again = _run(module, call, seed=0)
    if not _equal(first, again):
        raise ConversionError(
            "gives another result each time, though PyTorch's own generator was set the same",
            where="the module",
            remedy="chance and clocks of Python are baked in by a capture: draw with torch.rand…, or hand them in",
        )


def _run(module: Any, call: Call, seed: int) -> dict[str, np.ndarray]:
    kept = torch.random.get_rng_state(), random.getstate()
    torch.manual_seed(seed)
    try:
        with inference(module):
            made = call.run(module, [tensor.clone() for tensor in call.tensors])
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
    return {path: (id(tensor), tensor._version) for path, tensor in _tensors(module)}


def _tensors(module: Any) -> Iterator[tuple[str, Any]]:
    for name, part in module.named_modules():
        held = {**vars(part), **part._parameters, **part._buffers}
        for attribute, value in held.items():
            if isinstance(value, torch.Tensor):
                yield (f"{name}.{attribute}" if name else attribute), value
