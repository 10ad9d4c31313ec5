"""A captured program's nodes evaluated in float64, one at a time, by PyTorch's kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueport.errors import NoOracle
from trueport.frontends.torch._torch import torch
from trueport.frontends.torch.source.call import as_array
from trueport.frontends.torch.source.run import held_tensors
from trueport.quoting import one_line
from trueport.reference.noise import RoundingNoise
from trueport.reference.torch.wide import widened, widening

__all__ = ["NodeStepper"]


class NodeStepper:
    """Runs nodes on values that are given by name; weights are the program's own. With a seed results also err."""

    def __init__(self, program: Any, unit: float, seed: int | None = None) -> None:
        self._program = program
        self._unit = unit
        self._noise = None if seed is None else RoundingNoise(seed)
        self._weights = {name: widened(tensor.detach()) for name, tensor in held_tensors(program).items()}

    def run(self, node: Any, held: Mapping[str, Any]) -> Any:
        """What the node makes: an array, a number, or a tuple of those."""

        def value(given: Any) -> Any:
            return _tensor(held[given.name]) if given.name in held else self._constant(given)

        args, kwargs = torch.fx.map_arg((node.args, node.kwargs), value)
        try:
            with torch.no_grad(), widening(self._unit, self._noise):
                made = node.target(*args, **kwargs)
        except (RuntimeError, TypeError, NotImplementedError) as error:
            raise NoOracle(
                f"PyTorch can't run it in float64: {one_line(error, 200)}",
                where=node.name,
                remedy="trueport verify compares whole models",
            ) from error
        return torch.utils._pytree.tree_map(_array, made)

    def weight(self, node: Any) -> np.ndarray | None:
        """The array that a placeholder of a weight stands for."""
        held = self._weights.get(node.name)
        return None if held is None else as_array(held)

    def _constant(self, node: Any) -> Any:
        if node.op == "get_attr":
            return getattr(self._program.graph_module, node.target)
        if node.name in self._weights:
            return self._weights[node.name]
        # What hangs on no input is computed where it is asked for.
        return torch.utils._pytree.tree_map(_tensor, self.run(node, {}))


def _tensor(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_tensor(item) for item in value)
    return torch.from_numpy(np.array(value)) if isinstance(value, (np.ndarray, np.generic)) else value


def _array(value: Any) -> Any:
    return as_array(value) if isinstance(value, torch.Tensor) else value
