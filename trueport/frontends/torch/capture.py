"""A module as an ExportedProgram that holds all of it: nothing that hangs on data is baked in.

PyTorch's exporter refuses a branch that hangs on data, and tells when a dim that should stay open gets fixed. What it
does not see is looked for here: state that Python keeps from call to call, chance that comes from outside of PyTorch,
buffers that a call changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trueport.fidelity import EXACT, Loss
from trueport.frontends.torch._torch import torch
from trueport.frontends.torch.call import Call, inference, make_call, port_of
from trueport.frontends.torch.dims import OpenDim, open_dims, refined, torch_shapes, widened_example
from trueport.frontends.torch.exporting import exporting
from trueport.frontends.torch.failures import DECIDED, explain
from trueport.frontends.torch.guards import heard_guards
from trueport.frontends.torch.probe import settled_bounds
from trueport.frontends.torch.rewrite import rewritten
from trueport.frontends.torch.sources import Opened, TorchOptions, open_source
from trueport.frontends.torch.state import refuse_hidden_state
from trueport.ir.ports import Port
from trueport.versions.python import add_note

__all__ = ["TorchCaptured", "capture_torch"]

_MAX_REFINEMENTS = 16
"""Each one narrows at least one bound; more than a few means that PyTorch goes in circles."""


@dataclass(frozen=True)
class TorchCaptured:
    """A module, how it is called, and the graph that was captured of it."""

    module: Any
    call: Call
    program: Any
    """an ExportedProgram; None for a scripted module, which only the older exporter takes"""
    dims: tuple[OpenDim, ...]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    strategy: str
    """how it was captured, for the report"""
    losses: tuple[Loss, ...] = ()


def capture_torch(source: Any, options: TorchOptions) -> TorchCaptured:
    """Open a source and capture all of it, or say at which line that can't be done."""
    opened = open_source(source, options)
    call = make_call(opened.module, opened.example)
    losses = [*_switched(opened.module), *_fixed(call)]
    refuse_hidden_state(opened.module, call)
    if opened.program is not None:
        dims = _dims_of(opened.program, call)
        program, strategy = opened.program, "torch.export, before it came here"
    elif opened.scripted:
        dims = open_dims(call, options.dynamic_shapes)
        program, strategy = None, "PyTorch's older exporter, from TorchScript"
    else:
        program, dims, strategy = _export(opened, call, open_dims(call, options.dynamic_shapes), losses)
    inputs = tuple(
        port_of(name, tensor, {d.axis: d.name for d in dims if d.input == name})
        for name, tensor in zip(call.names, call.tensors, strict=True)
    )
    with inference(opened.module):
        made = call.run(opened.module, [tensor.clone() for tensor in call.tensors])
    outputs = tuple(port_of(name, tensor, {}) for name, tensor in made.items())
    return TorchCaptured(opened.module, call, program, dims, inputs, outputs, strategy, tuple(losses))


def _export(
    opened: Opened, call: Call, dims: tuple[OpenDim, ...], losses: list[Loss]
) -> tuple[Any, tuple[OpenDim, ...], str]:
    """PyTorch's ways to capture, the lightest first: each takes some things that the others refuse."""
    failures: list[Exception] = []
    for strategy in _STRATEGIES:
        try:
            program, settled, notes = strategy.attempt(opened.module, call, dims)
        except Exception as error:  # the exporter raises whatever the module's own code raises, too
            failures.append(error)
            continue
        losses += [*_narrowed(dims, settled), *notes]
        return program, settled, strategy.name
    raise explain(failures, dims) from failures[0]


@dataclass(frozen=True)
class _Strategy:
    """One way to capture."""

    name: str
    strict: bool
    rewrite: bool = False

    def attempt(
        self, module: Any, call: Call, dims: tuple[OpenDim, ...]
    ) -> tuple[Any, tuple[OpenDim, ...], list[Loss]]:
        if not self.rewrite:
            program, narrowed = _settled(module, call, dims, self.strict)
            return program, settled_bounds(module, call, program, dims, narrowed), []
        with rewritten(module) as places:
            program, narrowed = _settled(module, call, dims, self.strict)
        settled = settled_bounds(module, call, program, dims, narrowed)
        flow = [str(node.target) for node in program.graph.nodes if node.target in _control_flow()]
        return program, settled, [Loss(place, "rewritten", _REWRITTEN, EXACT) for place in places if flow]


_REWRITTEN = "what hangs on data here was made into real control flow"
_STRATEGIES = (
    _Strategy("torch.export, not strict", strict=False),
    _Strategy("torch.export, strict", strict=True),
    _Strategy("torch.export, with branches and loops rewritten", strict=False, rewrite=True),
)


def _control_flow() -> tuple[Any, ...]:
    return torch.ops.higher_order.cond, torch.ops.higher_order.while_loop


def _settled(module: Any, call: Call, dims: tuple[OpenDim, ...], strict: bool) -> tuple[Any, tuple[OpenDim, ...]]:
    """The program, and the dims as the network bounds them."""
    for left in reversed(range(_MAX_REFINEMENTS)):
        try:
            return _exported(module, call, dims, strict), dims
        except torch._dynamo.exc.UserError as error:
            narrowed, frozen = refined(dims, str(error))
            if frozen or narrowed == dims or not left:
                raise
            dims = narrowed
    raise AssertionError("the last refinement returns or raises")


def _exported(module: Any, call: Call, dims: Sequence[OpenDim], strict: bool) -> Any:
    args, kwargs = call.filled(widened_example(call, dims))
    shapes = torch_shapes(module.forward, call, dims) if dims else None
    with inference(module), exporting(), heard_guards() as decided:
        try:
            return torch.export.export(module, args, kwargs or None, dynamic_shapes=shapes, strict=strict)
        except torch._dynamo.exc.UserError as error:
            for place in decided:
                add_note(error, DECIDED + place)
            raise


def _dims_of(program: Any, call: Call) -> tuple[OpenDim, ...]:
    """The open dims of a program that was exported elsewhere; PyTorch keeps no names, the place gives one."""
    names: dict[str, str] = {}
    found = []
    nodes = {node.name: node for node in program.graph.nodes}
    for given, name in zip(program.graph_signature.user_inputs, call.names, strict=True):
        for axis, size in enumerate(nodes[given].meta["val"].shape):
            if not isinstance(size, int):
                known = names.setdefault(str(size), f"{name}_{axis}")
                found.append(OpenDim(name, axis, known))
    return tuple(found)


def _switched(module: Any) -> list[Loss]:
    """Layers that were left in training: they are carried over as they are used."""
    telling = (torch.nn.modules.dropout._DropoutNd, torch.nn.modules.batchnorm._NormBase)
    left = [name for name, part in module.named_modules() if part.training and isinstance(part, telling)]
    if not left:
        return []
    return [
        Loss(
            ", ".join(left[:5]) + (" …" if len(left) > 5 else ""),
            "training mode",
            "converted as used for inference: call .eval() on the module to get the same from it",
            EXACT,
        )
    ]


def _fixed(call: Call) -> list[Loss]:
    return [
        Loss(f"argument {name!r}", f"fixed to {value!r}", "only tensors can be inputs of the converted model", EXACT)
        for name, value in call.fixed.items()
    ]


def _narrowed(asked: Sequence[OpenDim], settled: Sequence[OpenDim]) -> list[Loss]:
    found = {}
    for old, new in zip(asked, settled, strict=True):
        if old != new and new.name not in found:
            high = "" if new.high is None else new.high
            found[new.name] = Loss(
                f"dim {new.name!r}", f"{new.low}..{high}", "the network, as PyTorch sees it, takes no other size", EXACT
            )
    return list(found.values())
