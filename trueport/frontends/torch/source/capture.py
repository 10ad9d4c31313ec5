"""A module as an ExportedProgram that holds all of it: nothing that hangs on data is baked in.

PyTorch's exporter refuses a branch that hangs on data, and tells when a dim that should stay open gets fixed. What it
does not see is looked for here: state that Python keeps from call to call, chance that comes from outside of PyTorch,
buffers that a call changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from typing import Any

from trueport.errors import ConversionError
from trueport.fidelity import EXACT, Loss
from trueport.frontends.torch._torch import torch
from trueport.frontends.torch.control.rewrite import rewritten
from trueport.frontends.torch.exporter.kept_axes import open_pools
from trueport.frontends.torch.exporter.scopes import exporting
from trueport.frontends.torch.source.agreement import refuse_disagreement, refuse_layout_dependence, size_conditions
from trueport.frontends.torch.source.call import Call, inference, make_call, port_of
from trueport.frontends.torch.source.dims import OpenDim, fixed_dims, open_dims, refined, torch_shapes, widened_example
from trueport.frontends.torch.source.eager_attention import eager_flags, eager_paths
from trueport.frontends.torch.source.failures import DECIDED, DimFixed, explain, fixes_dim
from trueport.frontends.torch.source.kept_attributes import without_traces
from trueport.frontends.torch.source.narrowed_dims import settled_bounds
from trueport.frontends.torch.source.resolve import TorchOptions, open_source
from trueport.frontends.torch.source.results import as_tensors_only, is_exportable, left_out, named_results
from trueport.frontends.torch.source.state import refuse_hidden_state
from trueport.frontends.torch.source.user_lines import heard_guards
from trueport.ir.ports import Port
from trueport.versions.python import add_note
from trueport.versions.torch import defers_conditions

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
    conditions: tuple[Mapping[str, int], ...] = ()
    """sizes at which something that PyTorch took for granted does not hold"""


def capture_torch(source: Any, options: TorchOptions) -> TorchCaptured:
    """Open a source and capture all of it, or say at which line that can't be done."""
    opened = open_source(source, options)
    call = make_call(opened.module, opened.example)
    left = refuse_hidden_state(opened.module, call)
    refuse_layout_dependence(opened.module, call)
    with inference(opened.module):
        result = call.result(opened.module, [tensor.clone() for tensor in call.tensors])
    made = named_results(result, call.names)
    _refuse_nothing(made)
    losses = [*_switched(opened.module), *_fixed(call), *left, *left_out(result)]
    wrappers = [without_traces] * bool(left) + [as_tensors_only] * (not is_exportable(result))
    conditions: tuple[Mapping[str, int], ...] = ()
    if opened.program is not None:
        dims = _dims_of(opened.program, call)
        program, strategy = opened.program, "torch.export, before it came here"
    elif opened.scripted:
        dims = open_dims(call, options.dynamic_shapes)
        program, strategy = None, "PyTorch's older exporter, from TorchScript"
    else:
        exporter = _Exporter(opened.module, call, wrappers)
        attempt, strategy = _export(exporter, open_dims(call, options.dynamic_shapes))
        program, dims, conditions = attempt.program, attempt.dims, attempt.conditions
        losses += attempt.losses
    inputs = tuple(
        port_of(name, tensor, {d.axis: d.name for d in dims if d.input == name})
        for name, tensor in zip(call.names, call.tensors, strict=True)
    )
    outputs = tuple(port_of(name, tensor, {}) for name, tensor in made.items())
    return TorchCaptured(opened.module, call, program, dims, inputs, outputs, strategy, tuple(losses), conditions)


def _refuse_nothing(made: Mapping[str, Any]) -> None:
    if not made:
        raise ConversionError(
            "gives back neither tensors nor numbers: there is nothing to convert",
            where="the module",
            remedy="return the tensors that the converted model should give",
        )


def _export(exporter: _Exporter, dims: tuple[OpenDim, ...]) -> tuple[_Attempt, str]:
    """PyTorch's ways to capture, the lightest first: each takes some things that the others refuse."""
    failures: list[Exception] = []
    for larger in (False, True):
        if larger and not any(fixes_dim(failure) for failure in failures):
            break
        for strategy in _STRATEGIES:
            try:
                return strategy.attempt(replace(exporter, larger=larger), dims), strategy.name
            except _SameAgain:
                continue
            except Exception as error:  # the exporter raises whatever the module's own code raises, too
                failures.append(error)
    raise explain(failures, dims) from failures[0]


class _SameAgain(Exception):
    """A way that does nothing differently for this module."""


@dataclass(frozen=True)
class _Attempt:
    """What a way to capture gave."""

    program: Any
    dims: tuple[OpenDim, ...]
    conditions: tuple[Mapping[str, int], ...]
    losses: list[Loss]


@dataclass(frozen=True)
class _Strategy:
    """One way to capture."""

    name: str
    strict: bool = False
    rewrite: bool = False
    deferred: bool = False
    """take conditions on sizes that PyTorch cannot prove; the comparison with eager mode decides whether they hold"""
    flags: bool = False
    """answer the module's questions whether it is being captured as in eager mode"""

    def attempt(self, exporter: _Exporter, dims: tuple[OpenDim, ...]) -> _Attempt:
        module, call = exporter.module, exporter.call
        if self.deferred and not defers_conditions(torch):
            raise _SameAgain
        with ExitStack() as stack:
            places = stack.enter_context(rewritten(module)) if self.rewrite else ()
            asked = stack.enter_context(eager_flags()) if self.flags else []
            program, narrowed = exporter.settled(dims, self)
        if self.flags and not asked:
            raise _SameAgain
        settled = settled_bounds(module, call, program, dims, narrowed)
        conditions = tuple(size_conditions(program, call, settled)) if self.deferred else ()
        refuse_disagreement(module, call, program, settled, conditions)
        flow = [str(node.target) for node in program.graph.nodes if node.target in _control_flow()]
        notes = [Loss(place, "rewritten", _REWRITTEN, EXACT) for place in places if flow]
        return _Attempt(program, settled, conditions, [*_narrowed(dims, settled), *notes])


_REWRITTEN = "what hangs on data here was made into real control flow"
_STRATEGIES = (
    _Strategy("torch.export, not strict"),
    _Strategy("torch.export, with is_compiling() and its like as in eager mode", flags=True),
    _Strategy("torch.export, strict", strict=True),
    _Strategy("torch.export, with branches and loops rewritten", rewrite=True),
    _Strategy("torch.export, with conditions on sizes tested", deferred=True),
    _Strategy("torch.export, with branches rewritten and conditions on sizes tested", rewrite=True, deferred=True),
)


def _control_flow() -> tuple[Any, ...]:
    return torch.ops.higher_order.cond, torch.ops.higher_order.while_loop


@dataclass(frozen=True)
class _Exporter:
    """A module, how it is called, and what is done around its forward while it is exported."""

    module: Any
    call: Call
    wrappers: Sequence[Callable[[Any], AbstractContextManager[None]]] = ()
    larger: bool = False
    """capture with more of whatever is open than the example has"""

    def settled(self, dims: tuple[OpenDim, ...], strategy: _Strategy) -> tuple[Any, tuple[OpenDim, ...]]:
        """The program, and the dims as the network bounds them."""
        for left in reversed(range(_MAX_REFINEMENTS)):
            try:
                return self._exported(dims, strategy), dims
            except (torch._dynamo.exc.UserError, AssertionError) as error:
                narrowed, frozen = refined(dims, str(error))
                if frozen or narrowed == dims or not left:
                    raise
                dims = narrowed
        raise AssertionError("the last refinement returns or raises")

    def _exported(self, dims: Sequence[OpenDim], strategy: _Strategy) -> Any:
        example = widened_example(self.call, dims, larger=self.larger)
        args, kwargs = self.call.filled([tensor.contiguous() for tensor in example])
        with ExitStack() as stack:
            stack.enter_context(inference(self.module))
            for prepared in (exporting, open_pools):
                stack.enter_context(prepared())
            if not strategy.strict:  # the strict way reads code, and cannot read what chooses the path
                stack.enter_context(eager_paths())
            for wrapper in self.wrappers:
                stack.enter_context(wrapper(self.module))
            decided = stack.enter_context(heard_guards())
            shapes = torch_shapes(self.module.forward, self.call, dims) if dims else None
            deferring = {"prefer_deferred_runtime_asserts_over_guards": True} if strategy.deferred else {}
            try:
                program = torch.export.export(
                    self.module, args, kwargs or None, dynamic_shapes=shapes, strict=strategy.strict, **deferring
                )
            except torch._dynamo.exc.UserError as error:
                for place in decided:
                    add_note(error, DECIDED + place)
                raise
        if fixed := fixed_dims(program, self.call, dims):
            raise DimFixed(fixed, (decided or [""])[-1])
        return program


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
    """Layers that were given in training mode, and those that the module keeps in it."""
    telling = (torch.nn.modules.dropout._DropoutNd, torch.nn.modules.batchnorm._NormBase)
    given = [name for name, part in module.named_modules() if part.training and isinstance(part, telling)]
    with inference(module):
        kept = [name for name, part in module.named_modules() if part.training and isinstance(part, telling)]
    switched = [name for name in given if name not in kept]
    found = []
    if switched:
        why = "converted as used for inference: call .eval() on the module to get the same from it"
        found.append(Loss(_listed(switched), "training mode", why, EXACT))
    if kept:
        why = (
            "in training mode though the module is in evaluation mode: converted so, without updates of its statistics"
        )
        found.append(Loss(_listed(kept), "kept in training mode", why, EXACT))
    return found


def _listed(names: Sequence[str]) -> str:
    return ", ".join(name or "the module" for name in names[:5]) + (" …" if len(names) > 5 else "")


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
