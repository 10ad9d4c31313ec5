"""Programs over PyTorch's functions."""

from __future__ import annotations

import linecache
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from tests.fuzz.program import SHAPES, Program, Rejected, of_float32_literals, templates_of
from tests.torch.speed import one_registry, one_translation

__all__ = ["TorchPrograms"]


class TorchPrograms:
    name = "torch"
    not_valid: tuple[type[Exception], ...] = ()
    targets = ("onnx", "tensorflow")
    templates = templates_of(name)

    def evaluate(self, line: str, out: str, values: Mapping[str, Any]) -> Any:
        try:
            with torch.no_grad():
                result = eval(
                    line, {"torch": torch, "F": F, **{name: torch.as_tensor(v) for name, v in values.items()}}
                )
        except (RuntimeError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise Rejected(str(error)) from error
        if not isinstance(result, torch.Tensor) or result.dtype.is_complex:
            raise Rejected("expected one real tensor")
        return result.contiguous().numpy()

    def exact(self, line: str, out: str, values: Mapping[str, Any]) -> Any:
        """With weights of float64 too: a convolution takes data and weights of one dtype."""
        torch.set_default_dtype(torch.float64)
        try:
            return self.evaluate(of_float32_literals(line), out, values)
        finally:
            torch.set_default_dtype(torch.float32)

    def assemble(self, programs: Sequence[Program]) -> Any:
        body = []
        for program in programs:
            body.append(f"def {program.prefix}call({', '.join(name for name, _ in program.inputs)}):")
            body += [f"    {out} = {line}" for out, line in program.lines]
            body.append(f"    return {', '.join(program.outputs)},")
        names = [program.prefix + name for program in programs for name, _ in program.inputs]
        calls = [
            f"    {program.prefix} = {program.prefix}call({', '.join(program.prefix + n for n, _ in program.inputs)})"
            for program in programs
        ]
        keys = [f"'{p.prefix}{out}': {p.prefix}[{i}]" for p in programs for i, out in enumerate(p.outputs)]
        text = "\n".join(
            [*body, f"def forward(self, {', '.join(names)}):", *calls, f"    return {{{', '.join(keys)}}}"]
        )
        module = type("Programs", (torch.nn.Module,), {"forward": _defined(text)["forward"]})()
        module.input_names = names
        module.dims = ",".join(
            f"{p.prefix}{name}.{axis}={p.prefix}{dim}"
            for p in programs
            for name, kind in p.inputs
            for axis, dim in enumerate(SHAPES[kind][1])
            if isinstance(dim, str)
        )
        return module.eval()

    def run(self, source: Any, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        with torch.no_grad():
            results = source(*(torch.from_numpy(feeds[name]) for name in source.input_names))
        return {name: result.numpy() for name, result in results.items()}

    def defined(self, source: Any, samples: Sequence[Mapping[str, np.ndarray]]) -> None:
        """The framework is its own definition."""

    @contextmanager
    def sharing(self) -> Iterator[None]:
        with one_registry(), one_translation():
            yield

    def options(self, source: Any, samples: Sequence[Mapping[str, np.ndarray]]) -> dict[str, Any]:
        example = tuple(torch.from_numpy(samples[0][name]) for name in source.input_names)
        return {"example_inputs": example, "dynamic_shapes": source.dims or None}


def _defined(text: str) -> dict[str, Any]:
    """Return what a text defines; its lines can be looked up, as those of a file."""
    place = f"<programs {hash(text)}>"
    linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
    scope: dict[str, Any] = {"torch": torch, "F": F}
    exec(compile(text, place, "exec"), scope)
    return scope
