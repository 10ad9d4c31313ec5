"""Whatever a user calls a TensorFlow model, as one captured function: files, folders, and objects in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from trueport.consent.keras_files import KerasFile
from trueport.consent.tensorflow_files import check_graph_def, check_saved_model
from trueport.errors import InvalidModel, UsageError
from trueport.frontends.tensorflow._tf import tf
from trueport.frontends.tensorflow.source.capture import Border, Captured, Spec, capture, named_specs, tracing
from trueport.frontends.tensorflow.source.checkpoints import frozen_meta_graph
from trueport.frontends.tensorflow.source.graphs import (
    cut_function,
    flat_function,
    graph_function,
    holds_state,
    read_graph_def,
    replayed,
)
from trueport.frontends.tensorflow.source.keras_models import capture_keras, is_keras_model, load_keras
from trueport.ir.artifact import ArtifactMap
from trueport.ir.files import check_regular_below
from trueport.ir.ports import Port, natural_order
from trueport.quoting import one_line

__all__ = [
    "Options",
    "capture_graph_file",
    "capture_keras_file",
    "capture_meta_graph",
    "capture_object",
    "capture_saved_model",
]


@dataclass(frozen=True)
class Options:
    """How a source is to be taken."""

    signature: str | None = None
    inputs: Sequence[str] | None = None
    """tensor names to cut the graph at, or None for the model's own"""
    outputs: Sequence[str] | None = None
    shapes: Mapping[str, Sequence[int | None]] = field(default_factory=dict)
    inputs_as_nchw: Sequence[str] = ()
    """channel-last inputs that are to be fed channel-first"""
    outputs_as_nchw: Sequence[str] = ()
    trust: bool = False
    """run code that a file carries (Lambda layers), and operators that touch files"""
    extensions: bool = False
    """allow operators of onnxruntime-extensions where ONNX has none"""
    custom_domain: str | None = None
    """keep operations that have no mapping as nodes of this domain"""

    @property
    def border(self) -> Border:
        return Border(self.shapes, self.inputs_as_nchw, self.outputs_as_nchw)


def capture_object(source: Any, options: Options) -> Captured:
    """The function of a model in memory, traced."""
    _refuse(options, "trust", "it is about code in files")
    if is_keras_model(source):
        return _from_keras(source, options)
    if isinstance(source, tf.Graph):
        return _from_graph_def(source.as_graph_def(), options)
    if isinstance(source, tf.compat.v1.GraphDef):
        return _from_graph_def(source, options)
    if hasattr(source, "get_concrete_function") or hasattr(source, "structured_input_signature"):
        _refuse(options, "signature", "a function has one already")
    if hasattr(source, "get_concrete_function"):
        return _from_function(_concrete(source), options)
    if hasattr(source, "structured_input_signature"):
        return _from_function(source, options)
    if isinstance(source, tf.Module) or hasattr(source, "signatures"):
        return _from_module(source, options)
    raise UsageError(
        f"{type(source).__name__} is no model that can be taken",
        remedy="pass a keras.Model, tf.Module, tf.function with a signature, ConcreteFunction, GraphDef, tf.Graph, "
        "or a path",
    )


def capture_keras_file(file: KerasFile, options: Options) -> Captured:
    """The function of a file of Keras, traced."""
    captured = _from_keras(load_keras(file, trust=options.trust), options)
    if not options.trust:
        check_graph_def(captured.graph.as_graph_def(), None, file.path)
    return captured


def capture_meta_graph(path: Path, options: Options) -> Captured:
    """The function of a .meta file and the checkpoint beside it, traced."""
    return _from_graph_def(frozen_meta_graph(path, options.outputs, trust=options.trust), options)


def capture_graph_file(path: Path, options: Options) -> Captured:
    """The function of a frozen graph, traced."""
    graph_def = read_graph_def(path)
    if not options.trust:
        check_graph_def(graph_def, options.outputs, path)
    return _from_graph_def(graph_def, options)


def capture_saved_model(path: Path, options: Options) -> Captured:
    """The function of a SavedModel's signature, traced."""
    check_regular_below(path)
    if not options.trust:
        check_saved_model(path)
    try:
        loaded = tf.saved_model.load(str(path))
    except (OSError, tf.errors.OpError, AssertionError, KeyError, ValueError) as error:
        raise InvalidModel(f"TensorFlow can't load it: {one_line(error, 200)}", where=str(path)) from error
    border = ArtifactMap.read(path)
    if border is not None and options == replace(options, signature=None, inputs=None, outputs=None):
        return _from_converted(loaded, border, options)
    return _from_module(loaded, options, where=str(path))


def _refuse(options: Options, name: str, why: str) -> None:
    if getattr(options, name):
        raise UsageError(f"{name!r} means nothing for this source: {why}")


def _from_keras(model: Any, options: Options) -> Captured:
    _refuse(options, "signature", "a Keras model is called, it has no signatures")
    if not (options.inputs or options.outputs):
        return capture_keras(model, options.border)
    whole = capture_keras(model, Border())
    return cut_function(whole.function, options.inputs, options.outputs, options.border, model)


def _from_converted(loaded: Any, border: ArtifactMap, options: Options) -> Captured:
    """A SavedModel that was converted from ONNX: its border is what the stored map says it was."""
    function = loaded.signatures["serving_default"]
    known = function.structured_input_signature[1]
    parts = [part for port in border.inputs for part in port.parts]
    specs = [
        Spec(name, known[part], _dim_names(port))
        for port in border.inputs
        for name, part in zip(_part_names(port), port.parts, strict=True)
    ]

    def call(*inputs: Any) -> dict[str, Any]:
        made = function(**dict(zip(parts, inputs, strict=True)))
        named = [item for port in border.outputs for item in zip(_part_names(port), port.parts, strict=True)]
        return {name: made[part] for name, part in named}

    captured = capture(call, specs, border=options.border, held=loaded)
    dims = {name: port.shape for port in border.outputs for name in _part_names(port)}
    return replace(captured, outputs=tuple(_with_dims(port, dims[port.name]) for port in captured.outputs))


def _part_names(port: Port) -> tuple[str, ...]:
    """A tensor comes back under its ONNX name; the parts of what is no tensor keep theirs."""
    return (port.name,) if port.kind == "tensor" else port.parts


def _dim_names(port: Port) -> tuple[str | None, ...]:
    return tuple(dim if isinstance(dim, str) else None for dim in port.shape or ())


def _with_dims(port: Port, stored: tuple[int | str | None, ...] | None) -> Port:
    if stored is None or (port.shape is not None and len(stored) != len(port.shape)):
        return port
    if port.shape is None:
        return replace(port, shape=stored)
    return replace(port, shape=tuple(s if p is None else p for p, s in zip(port.shape, stored, strict=True)))


def _from_module(module: Any, options: Options, where: str = "the module") -> Captured:
    signatures = getattr(module, "signatures", None) or {}
    wanted = options.signature or ("serving_default" if "serving_default" in signatures else None)
    if wanted in signatures:
        return _from_function(signatures[wanted], options, held=module, order=_declared_order(module))
    call = module.__call__ if callable(module) else None
    if options.signature is None and hasattr(call, "get_concrete_function"):
        return _from_function(_concrete(call), options, held=module)
    if options.signature is not None and hasattr(getattr(module, options.signature, None), "get_concrete_function"):
        return _from_function(_concrete(getattr(module, options.signature)), options, held=module)
    listed = ", ".join(signatures) or "none"
    raise InvalidModel(
        f"has no signature {options.signature!r}" if options.signature else "has no signature that could be converted",
        where=where,
        remedy=f"signatures: {listed}; name one with --signature, or save the model with signatures=…",
    )


def _concrete(function: Any) -> Any:
    """The one trace of a tf.function: by its signature, or the only one it was called with."""
    if getattr(function, "input_signature", None) is None:
        listed = getattr(function, "_list_all_concrete_functions", list)
        traces: list[Any] = getattr(function, "concrete_functions", None) or listed()
        if len(traces) == 1:
            return traces[0]
        raise InvalidModel(
            "the function has no input signature" + (f" and {len(traces)} traces" if traces else ""),
            where=str(getattr(function, "__name__", "tf.function")),
            remedy="declare tf.function(input_signature=[tf.TensorSpec(…)]) or pass f.get_concrete_function(…)",
        )
    with tracing():
        return function.get_concrete_function()


def _declared_order(module: Any) -> list[str]:
    """Names of inputs as the module's own functions take them: a stored signature has lost their order."""
    functions = [value for value in vars(module).values() if hasattr(value, "concrete_functions")]
    traces = [trace for function in functions for trace in function.concrete_functions]
    specs = [spec for trace in traces for spec in tf.nest.flatten(trace.structured_input_signature)]
    return [str(spec.name) for spec in specs if isinstance(spec, tf.TypeSpec) and hasattr(spec, "name")]


def _from_function(function: Any, options: Options, held: Any = None, order: Sequence[str] = ()) -> Captured:
    if options.inputs or options.outputs:
        return cut_function(function, options.inputs, options.outputs, options.border, held or function)
    owner = held if hasattr(held, "prune") else function
    if function.structured_input_signature is None or (holds_state(function) and hasattr(owner, "prune")):
        return flat_function(function, owner, options.border)
    positional, named = function.structured_input_signature
    stored = _is_stored(function, held)
    names = sorted(named, key=lambda name: (order.index(name) if name in order else len(order), natural_order(name)))
    names = names if stored else list(named)
    specs = [*_named_specs(function, positional), *(Spec(name, named[name]) for name in names)]
    called = replayed(function)
    if all(isinstance(spec.spec, tf.TypeSpec) for spec in specs):

        def call(*inputs: Any) -> Any:
            split = len(inputs) - len(names)
            made = called(*inputs[:split], **dict(zip(names, inputs[split:], strict=True)))
            return _in_natural_order(made) if stored else made

        return capture(call, specs, border=options.border, held=held or function)
    return _from_structured(function, options, held)


def _is_stored(function: Any, held: Any) -> bool:
    """True if it comes from a SavedModel, which keeps dicts in no order: TensorFlow gives another in each process."""
    of_file = hasattr(held, "signatures") or hasattr(function, "_self_saveable_object_factories")
    return of_file or function.graph.name == "restored_function_body"


def _in_natural_order(made: Any) -> Any:
    if isinstance(made, Mapping):
        return {name: _in_natural_order(made[name]) for name in sorted(made, key=natural_order)}
    if isinstance(made, (list, tuple)) and not hasattr(made, "_fields"):
        return [_in_natural_order(item) for item in made]
    return made


def _named_specs(function: Any, positional: Sequence[Any]) -> list[Spec]:
    """Positional arguments under the names that their specs declare, else their parameters'."""
    kind = getattr(function, "function_type", None)
    known = [name for name in kind.parameters if name != "self"] if kind is not None else []
    given = [getattr(spec, "name", None) for spec in positional]
    given = given if len(set(given)) == len(given) else [None] * len(given)
    return [
        Spec(name or (known[index] if index < len(known) else f"input_{index}"), spec)
        for index, (name, spec) in enumerate(zip(given, positional, strict=True))
    ]


def _from_structured(function: Any, options: Options, held: Any) -> Captured:
    """Nested inputs: every tensor in them becomes an input, named by its path; plain values stay what they are."""
    structure = function.structured_input_signature
    leaves = named_specs(_named_specs(function, structure[0]), structure[1])
    specs = [leaf for leaf in leaves if isinstance(leaf.spec, tf.TypeSpec)]
    called = replayed(function)

    def call(*inputs: Any) -> Any:
        remaining = iter(inputs)
        values = [next(remaining) if isinstance(leaf.spec, tf.TypeSpec) else leaf.spec for leaf in leaves]
        positional, named = tf.nest.pack_sequence_as(structure, values, expand_composites=False)
        made = called(*positional, **named)
        return _in_natural_order(made) if _is_stored(function, held) else made

    return capture(call, specs, border=options.border, held=held or function)


def _from_graph_def(graph_def: Any, options: Options) -> Captured:
    _refuse(options, "signature", "a GraphDef has none; --inputs and --outputs name its tensors")
    return graph_function(graph_def, options.inputs, options.outputs, options.border)
