"""A captured module run by PyTorch: as its users call it, or along its captured graph, value by value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trueport.errors import InvalidInput
from trueport.frontends.torch._torch import torch
from trueport.frontends.torch.source.call import Call, as_array, as_tensor, inference
from trueport.frontends.torch.source.user_lines import line_of

__all__ = ["RankChanges", "held_tensors", "replay", "run_eager", "run_inner"]


def run_eager(module: Any, call: Call, feeds: Mapping[str, Any]) -> dict[str, Any]:
    """The module's own Python code."""
    with inference(module):
        made = call.run(module, _tensors(call, feeds))
        return {name: as_array(value) for name, value in made.items()}


def run_inner(program: Any, call: Call, feeds: Mapping[str, Any], fetch: Sequence[str]) -> dict[str, Any]:
    """Values of the captured graph by name, as the graph calls them."""
    wanted = set(fetch)
    known = {node.name for node in program.graph.nodes}
    if missing := sorted(wanted - known):
        raise InvalidInput(
            f"the captured graph has no value {missing[0]!r}",
            where="the module",
            remedy="values have the names of the nodes of torch.export's graph",
        )
    found: dict[str, Any] = {}

    class Recording(torch.fx.Interpreter):  # type: ignore[misc]
        def run_node(self, n: Any) -> Any:
            value = super().run_node(n)
            if n.name in wanted and isinstance(value, torch.Tensor):
                found[n.name] = as_array(value)
            return value

    with torch.no_grad():
        Recording(program.graph_module).run(*_placeholders(program, _tensors(call, feeds)))
    return found


class RankChanges(Exception):
    """A value has another rank than was captured: no converted model gives that."""

    def __init__(self, rank: int, captured: int, line: str) -> None:
        self.why = f"a value has {rank} axes instead of {captured}"
        super().__init__(self.why)
        self.line = line


def replay(program: Any, tensors: Sequence[Any]) -> list[Any]:
    """The captured graph's results, whatever sizes it was promised: nothing is asserted on the way."""

    class Unguarded(torch.fx.Interpreter):  # type: ignore[misc]
        def run_node(self, n: Any) -> Any:
            if n.op == "call_function" and "_assert" in str(n.target):
                return None
            value = super().run_node(n)
            _check_rank(n, value)
            return value

    with torch.no_grad():
        made = Unguarded(program.graph_module).run(*_placeholders(program, [tensor.clone() for tensor in tensors]))
    return [value for value in made if isinstance(value, torch.Tensor)]


def _check_rank(node: Any, value: Any) -> None:
    captured = node.meta.get("val")
    if isinstance(value, torch.Tensor) and isinstance(captured, torch.Tensor) and value.dim() != captured.dim():
        raise RankChanges(value.dim(), captured.dim(), line_of(node.meta.get("stack_trace") or ""))


def _placeholders(program: Any, tensors: Sequence[Any]) -> list[Any]:
    """What each placeholder of the graph stands for: something that the program holds, or an input."""
    held = held_tensors(program)
    given = iter(tensors)
    fixed = {
        spec.arg.name: spec.arg.value
        for spec in program.graph_signature.input_specs
        if isinstance(spec.arg, torch.export.graph_signature.ConstantArgument)
    }
    known = {**held, **fixed}
    names = [node.name for node in program.graph.nodes if node.op == "placeholder"]
    return [known[name] if name in known else next(given) for name in names]


def held_tensors(program: Any) -> dict[str, Any]:
    """Weights, buffers and constants by the names of the placeholders that stand for them."""
    signature = program.graph_signature
    held = {**program.state_dict, **program.constants}
    targets = {
        **signature.inputs_to_parameters,
        **signature.inputs_to_buffers,
        **signature.inputs_to_lifted_tensor_constants,
    }
    return {name: held[target] for name, target in targets.items()}


def _tensors(call: Call, feeds: Mapping[str, Any]) -> list[Any]:
    return [as_tensor(feeds[name], like, name) for name, like in zip(call.names, call.tensors, strict=True)]
