"""An ExportedProgram as ONNX, by PyTorch's own exporter: under our names, with open dims named, each node with the
line of code that it comes from."""

from __future__ import annotations

import importlib
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.errors import ConversionError, Unsupported
from trueport.fidelity import EXACT, UNSUPPORTED, Loss
from trueport.frontends.torch._torch import torch
from trueport.frontends.torch.exporter.faults import exact_numbers, exporter_mended
from trueport.frontends.torch.exporter.scopes import exporting
from trueport.frontends.torch.registry import TORCH_COMPLEX
from trueport.frontends.torch.source.agreement import refuse_disagreement
from trueport.frontends.torch.source.capture import TorchCaptured
from trueport.frontends.torch.source.quantized_operators import known_quantized_operators
from trueport.frontends.torch.source.user_lines import line_of
from trueport.frontends.torch.translate.scalars import spell_out_vectors
from trueport.frontends.torch.translate.torchscript import translate_script
from trueport.ir.dtypes import numpy_dtype
from trueport.ir.marks import mark_trained
from trueport.ir.provenance import LOCATION, ORIGIN
from trueport.mapping.registry import Finding, Reason, Registry
from trueport.quoting import one_line
from trueport.versions.torch import lacks, own_translations_first

__all__ = ["Translated", "translate"]

_OPSET = 18
"""The opset that the exporter's translations are written for; ours begin at the canonical one, above it."""
_TORCH = "torch"
_MAX_REFUSED = 64
_OF_NUMBERS = ("_operator", "math", "torch")
"""Modules of functions that programs call on numbers computed of sizes."""
_REGISTRATION = "torch.onnx._internal.exporter._registration"
_DISPATCHING = "torch.onnx._internal.exporter._dispatching"
_STACK = "pkg.torch.onnx.stack_trace"
_SCOPES = "pkg.torch.onnx.name_scopes"
_MISSING = re.compile(
    r"No (?:ONNX function|decompositions) (?:found|registered) for <OpOverload\(op='([\w:.]+)', overload='(\w+)'\)>"
)


@dataclass(frozen=True)
class Translated:
    """The ONNX model, and the program that it is the image of, value by value."""

    model: ir.Model
    program: Any
    """the ExportedProgram after the exporter's decompositions: its values have the names of the ONNX ones"""
    findings: tuple[Finding, ...]
    losses: tuple[Loss, ...]


def translate(captured: TorchCaptured, registry: Registry) -> Translated:
    """All operators that can't be translated come in one error."""
    if captured.program is None:
        return Translated(translate_script(captured), None, (), ())
    known_quantized_operators()
    table, complex_table = (
        {
            _operator(mapping.op): mapping.handler
            for mapping in registry
            if mapping.domain == domain and not lacks(torch, mapping.op)
        }
        for domain in (_TORCH, TORCH_COMPLEX)
    )
    source = spell_out_vectors(captured.program)
    refused: dict[Any, Finding] = {}
    for _ in range(_MAX_REFUSED):
        try:
            with _complex_operands({**complex_table, **dict.fromkeys(refused, _stand_in)}):
                program = _export(source, {**table, **dict.fromkeys(refused, _stand_in)})
            break
        except Exception as error:  # the exporter wraps whatever a translation raises
            operator = _untranslated(error)
            if operator is None or operator in refused:
                raise _failed(error, captured.program) from error
            refused[operator] = _refusal(captured.program, operator, _failing_node(error))
    if refused:
        raise Unsupported(list(refused.values()))
    # A module that writes into what it keeps was refused when it was run on its example.
    assert not program.exported_program.graph_signature.buffers_to_mutate
    if captured.conditions:
        # An operator of PyTorch that holds for all sizes may be made of steps that hold for the example's alone.
        args = captured.module, captured.call, program.exported_program, captured.dims, captured.conditions
        refuse_disagreement(*args)
    model = program.model
    exact_numbers(model)
    for graph in (model.graph, *(function.graph for function in model.functions.values())):
        for node in graph.all_nodes():
            _mark(node)
    _own_weights(model)
    _constant_parameters(model)
    mark_trained(model, [name for name, weight in captured.module.named_parameters() if weight.requires_grad])
    _name_border(model, captured)
    _name_dims(model, captured)
    findings = tuple(_finding(node, registry) for node in _calls(captured.program))
    return Translated(model, program.exported_program, findings, tuple(_input_mutations(program.exported_program)))


def _export(program: Any, table: Mapping[Any, Callable[..., Any]]) -> Any:
    own_first = own_translations_first(importlib.import_module(_DISPATCHING))
    with exporting(), exporter_mended(), own_first, torch.no_grad():
        return torch.onnx.export(
            program,
            dynamo=True,
            optimize=False,
            opset_version=_OPSET,
            custom_translation_table=dict(table) or None,
            verbose=False,
        )


@contextmanager
def _complex_operands(table: Mapping[Any, Callable[..., Any]]) -> Iterator[None]:
    """Translations for complex operands: the exporter has such, but takes none from others."""
    registry = importlib.import_module(_REGISTRATION).ONNXRegistry
    plain = vars(registry)["from_torchlib"]
    read = registry.from_torchlib

    def extended(*args: Any, **options: Any) -> Any:
        found = read(*args, **options)
        for operator, handler in table.items():
            found.register_op(operator, handler, is_complex=True)
        return found

    registry.from_torchlib = staticmethod(extended)
    try:
        yield
    finally:
        registry.from_torchlib = plain


def _operator(name: str) -> Any:
    """``aten::special_entr`` or ``acme::my_op.overload`` as PyTorch's object; ``math::floor`` as Python's own."""
    space, _, rest = name.partition("::")
    if space in _OF_NUMBERS:
        return getattr(importlib.import_module(space), rest)
    packet, _, overload = rest.partition(".")
    try:
        return getattr(getattr(getattr(torch.ops, space), packet), overload or "default")
    except AttributeError as error:
        raise ConversionError(
            f"PyTorch has no operator {name!r}", where=name, remedy="import the module that registers it"
        ) from error


def _stand_in(*inputs: Any, **attributes: Any) -> Any:
    from onnxscript import opset18 as op

    return op.Identity(inputs[0])


def _untranslated(error: BaseException) -> Any:
    """The operator that the exporter has no translation for."""
    seen: BaseException | None = error
    while seen is not None:
        found = _MISSING.search(str(seen))
        if found:
            return _operator(f"{found[1].replace('.', '::', 1)}.{found[2]}")
        seen = seen.__cause__ or seen.__context__
    return None


def _failed(error: Exception, program: Any) -> ConversionError:
    seen: BaseException = error
    while seen.__cause__ is not None:
        seen = seen.__cause__
    node = _failing_node(error)
    line = line_of(node.meta.get("stack_trace") or "") if node is not None else ""
    if isinstance(seen, ConversionError):  # a translation of ours refuses what it was given
        return ConversionError(seen.why, where=f"{line}: {seen.where}" if line else seen.where, remedy=seen.remedy)
    loops = [node for node in _calls(program) if node.target is torch.ops.higher_order.while_loop]
    if loops and "__subgraph__" in str(seen):
        return ConversionError(
            "a branch inside of a loop, where both hang on data, is more than PyTorch's exporter takes",
            where=line_of(loops[0].meta.get("stack_trace") or "") or "the module",
            remedy="write the inner choice as torch.where(condition, then, otherwise)",
        )
    return ConversionError(
        f"PyTorch's exporter fails: {type(seen).__name__}: {one_line(seen, 300)}",
        where=line or "the module",
        remedy='-v shows its own message; declare the operator with @maps_torch("aten::…") to translate it yourself',
    )


def _failing_node(error: BaseException) -> Any:
    """The node that the exporter was at: it names it, and keeps its line to itself."""
    seen: BaseException | None = error
    found = None
    while seen is not None:
        for frame, _ in traceback.walk_tb(seen.__traceback__):
            node = frame.f_locals.get("node")
            found = node if isinstance(node, torch.fx.Node) else found
        seen = seen.__cause__
    return found


def _refusal(program: Any, operator: Any, failing: Any) -> Finding:
    """``failing``: the node that the exporter was at, which its decompositions may have made; None if unknown."""
    nodes = [node for node in _calls(program) if node.target == operator] or [failing] * (failing is not None)
    where = line_of(nodes[0].meta.get("stack_trace") or "") if nodes else str(operator)
    name = str(operator.name())
    what, remedy = f"{name} has no translation to ONNX", f'declare it: @maps_torch("{name}")'
    if any(_is_complex(value) for node in nodes for value in (node, *node.all_input_nodes)):
        what = f"{name} of complex numbers has no translation to ONNX"
        remedy = (
            "compute it from z.real and z.imag, or z.abs() and z.angle(); "
            f'or declare it: @maps_torch("{name}", complex_operands=True)'
        )
    return Finding(where or name, name, UNSUPPORTED, None, (Reason("no-mapping", what, remedy),))


def _is_complex(node: Any) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.is_complex()


def _calls(program: Any) -> list[Any]:
    return [node for node in program.graph.nodes if node.op == "call_function"]


def _finding(node: Any, registry: Registry) -> Finding:
    name = node.target.name() if hasattr(node.target, "name") and callable(node.target.name) else str(node.target)
    line = line_of(node.meta.get("stack_trace") or "")
    mapping = registry.find(name, _TORCH)
    fidelity = mapping.fidelity if mapping else EXACT
    because = mapping.because if mapping else ""
    reasons = (Reason(fidelity.name.lower(), because, effect=fidelity),) if because else ()
    return Finding(f"{node.name} ({line})" if line else node.name, name, fidelity, mapping, reasons, node.name, line)


def _mark(node: ir.Node) -> None:
    """The captured graph's node that it translates, and ``net.py:12 in forward (encoder.layers.0)``."""
    scopes = re.findall(r"'([^']*)'", node.metadata_props.get(_SCOPES, ""))
    line = line_of(node.metadata_props.get(_STACK, ""))
    path = scopes[-2] if len(scopes) > 1 else ""
    node.metadata_props[ORIGIN] = scopes[-1] if scopes else node.name or ""
    node.metadata_props[LOCATION] = f"{line} ({path})" if line and path else line or path


def _input_mutations(program: Any) -> Iterator[Loss]:
    for name in program.graph_signature.user_inputs_to_mutate.values():
        yield Loss(f"input {name!r}", "written into", "the converted model leaves its inputs as they are", EXACT)


def _own_weights(model: ir.Model) -> None:
    """Copies: the exporter's tensors are the module's own memory, which goes on being trained."""
    for name, value in model.graph.initializers.items():
        if value.const_value is not None:
            array = value.const_value.numpy().copy()
            value.const_value = ir.Tensor(array, dtype=value.const_value.dtype, name=name)


def _constant_parameters(model: ir.Model) -> None:
    """Scales and zero points as constants where the module holds them in another type: runtimes look for that."""
    for node in list(model.graph.all_nodes()):
        if node.op_type not in ("QuantizeLinear", "DequantizeLinear"):
            continue
        for index, value in enumerate(node.inputs[1:], 1):
            array = None if value is None or value.const_value is not None else _known(value)
            if value is not None and array is not None:
                tensor = ir.tensor(array, value.dtype)
                shape, kind = ir.Shape(array.shape), ir.TensorType(tensor.dtype)
                held = ir.Value(name=f"{value.name}.held", shape=shape, type=kind, const_value=tensor)
                model.graph.initializers.setdefault(held.name or "", held)
                node.replace_input_with(index, model.graph.initializers[held.name or ""])


def _known(value: ir.Value) -> np.ndarray | None:
    """A constant that was cast, or freed of an axis of one."""
    if value.const_value is not None:
        return value.const_value.numpy()
    maker = value.producer()
    if maker is None or maker.op_type not in ("Cast", "Squeeze") or maker.inputs[0] is None:
        return None
    array = _known(maker.inputs[0])
    if array is None or maker.op_type == "Squeeze":
        return array if array is None else array.reshape(())
    return array.astype(numpy_dtype(ir.DataType(maker.attributes["to"].as_int())))


def _name_border(model: ir.Model, captured: TorchCaptured) -> None:
    graph = model.graph
    for value, port in zip(graph.inputs, captured.inputs, strict=True):
        value.name = port.name
    taken: set[ir.Value] = set(graph.inputs)
    for index, port in enumerate(captured.outputs):
        value = graph.outputs[index]
        if value in taken or value.is_initializer():
            node = ir.Node("", "Identity", [value], name=f"{port.name}_copy")
            node.outputs[0].type, node.outputs[0].shape = value.type, value.shape
            graph.append(node)
            value = graph.outputs[index] = node.outputs[0]
        taken.add(value)
        value.name = port.name


def _name_dims(model: ir.Model, captured: TorchCaptured) -> None:
    """PyTorch's s77 under the name that the dim was given, everywhere."""
    names: dict[str, str] = {}
    places = {(dim.input, dim.axis): dim.name for dim in captured.dims}
    for value in model.graph.inputs:
        for axis, size in enumerate(value.shape or ()):
            if isinstance(size, ir.SymbolicDim) and (value.name, axis) in places:
                names[str(size.value)] = places[value.name or "", axis]
    for graph in model.graphs():
        for value in (*graph.inputs, *graph.outputs, *(v for node in graph for v in node.outputs)):
            if value.shape is not None:
                value.shape = ir.Shape([_renamed(size, names) for size in value.shape])


def _renamed(size: Any, names: Mapping[str, str]) -> int | str | None:
    if isinstance(size, int):
        return size
    if size.value is None:
        return None
    return re.sub(r"[A-Za-z_]\w*", lambda match: names.get(match[0], match[0]), str(size.value))
