"""Whatever a user calls a TensorFlow model, as one captured function: files, folders, and objects in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from trueport.errors import InvalidModel, UsageError
from trueport.frontends.tensorflow._tf import tf
from trueport.frontends.tensorflow.capture import Captured, Spec, capture, named_specs
from trueport.frontends.tensorflow.graphs import cut_function, graph_function, read_graph_def
from trueport.frontends.tensorflow.keras_models import capture_keras, is_keras_model, load_keras
from trueport.ir.artifact import ArtifactMap
from trueport.ir.ports import Port

__all__ = ["Options", "capture_source", "is_tensorflow"]


@dataclass(frozen=True)
class Options:
    """How a source is to be taken."""

    signature: str | None = None
    inputs: Sequence[str] | None = None
    """tensor names to cut the graph at, or None for the model's own"""
    outputs: Sequence[str] | None = None
    shapes: Mapping[str, Sequence[int | None]] = field(default_factory=dict)
    trust: bool = False
    """run code that a Keras file carries (Lambda layers)"""
    extensions: bool = False
    """allow operators of onnxruntime-extensions where ONNX has none"""


def is_tensorflow(source: Any) -> bool:
    """Whether a source is TensorFlow's, by its form or the package of its class; loads no framework."""
    if isinstance(source, (str, Path)):
        path = Path(source)
        return (path / "saved_model.pb").is_file() or path.suffix in (".keras", ".h5", ".hdf5", ".pb")
    roots = {kind.__module__.split(".")[0] for kind in type(source).__mro__}
    return bool(roots & {"tensorflow", "keras", "tf_keras"})


def capture_source(source: Any, options: Options) -> Captured:
    """The source's function, traced."""
    if isinstance(source, (str, Path)):
        return _from_path(Path(source), options)
    if is_keras_model(source):
        return capture_keras(source, options.shapes)
    if type(source).__name__ == "GraphDef":
        return _from_graph_def(source, options)
    if hasattr(source, "get_concrete_function"):
        return _from_function(_concrete(source), options)
    if hasattr(source, "structured_input_signature"):
        return _from_function(source, options)
    if isinstance(source, tf.Module) or hasattr(source, "signatures"):
        return _from_module(source, options)
    raise UsageError(
        f"{type(source).__name__} is no model that can be taken",
        remedy="pass a keras.Model, tf.Module, tf.function with a signature, ConcreteFunction, GraphDef, or a path",
    )


def _from_path(path: Path, options: Options) -> Captured:
    if not path.exists():
        raise InvalidModel("there is no such file or folder", where=str(path))
    if path.suffix in (".keras", ".h5", ".hdf5"):
        return capture_keras(load_keras(path, trust=options.trust), options.shapes)
    if path.suffix == ".pb" and path.is_file():
        return _from_graph_def(read_graph_def(path), options)
    try:
        loaded = tf.saved_model.load(str(path))
    except (OSError, tf.errors.OpError, AssertionError, KeyError, ValueError) as error:
        raise InvalidModel(
            f"TensorFlow can't load it: {' '.join(str(error).split())[:200]}", where=str(path)
        ) from error
    border = ArtifactMap.read(path)
    if border is not None and options == replace(options, signature=None, inputs=None, outputs=None):
        return _from_converted(loaded, border, options)
    return _from_module(loaded, options, where=str(path))


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

    captured = capture(call, specs, shapes=options.shapes, held=loaded)
    dims = {name: port.shape for port in border.outputs for name in _part_names(port)}
    return replace(captured, outputs=tuple(_with_dims(port, dims[port.name]) for port in captured.outputs))


def _part_names(port: Port) -> tuple[str, ...]:
    """A tensor comes back under its ONNX name; the parts of what is no tensor keep theirs."""
    return (port.name,) if port.kind == "tensor" else port.parts


def _dim_names(port: Port) -> tuple[str | None, ...]:
    return tuple(dim if isinstance(dim, str) else None for dim in port.shape or ())


def _with_dims(port: Port, stored: tuple[int | str | None, ...] | None) -> Port:
    if stored is None or port.shape is None or len(stored) != len(port.shape):
        return port
    return replace(port, shape=tuple(s if p is None else p for p, s in zip(port.shape, stored, strict=True)))


def _from_module(module: Any, options: Options, where: str = "the module") -> Captured:
    signatures = getattr(module, "signatures", None) or {}
    wanted = options.signature or ("serving_default" if "serving_default" in signatures else None)
    if wanted in signatures:
        return _from_function(signatures[wanted], options, held=module)
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
    return function.get_concrete_function()


def _from_function(function: Any, options: Options, held: Any = None) -> Captured:
    if options.inputs or options.outputs:
        return cut_function(function, options.inputs, options.outputs, options.shapes, held or function)
    positional, named = function.structured_input_signature
    specs = [*_named_specs(function, positional), *(Spec(name, spec) for name, spec in named.items())]
    if all(isinstance(spec.spec, tf.TypeSpec) for spec in specs):
        names = list(named)

        def call(*inputs: Any) -> Any:
            split = len(inputs) - len(names)
            return function(*inputs[:split], **dict(zip(names, inputs[split:], strict=True)))

        return capture(call, specs, shapes=options.shapes, held=held or function)
    return _from_structured(function, options, held)


def _named_specs(function: Any, positional: Sequence[Any]) -> list[Spec]:
    """Positional arguments under their parameters' names."""
    kind = getattr(function, "function_type", None)
    known = [name for name in kind.parameters if name != "self"] if kind is not None else []
    return [
        Spec(known[index] if index < len(known) else f"input_{index}", spec) for index, spec in enumerate(positional)
    ]


def _from_structured(function: Any, options: Options, held: Any) -> Captured:
    """Nested inputs: every tensor in them becomes an input, named by its path."""
    structure = function.structured_input_signature
    specs = named_specs(_named_specs(function, structure[0]), structure[1])

    def call(*inputs: Any) -> Any:
        positional, named = tf.nest.pack_sequence_as(structure, list(inputs), expand_composites=False)
        return function(*positional, **named)

    return capture(call, specs, shapes=options.shapes, held=held or function)


def _from_graph_def(graph_def: Any, options: Options) -> Captured:
    if not options.outputs:
        raise UsageError(
            "a GraphDef does not say which tensors are its outputs",
            remedy="name them: --inputs x:0 --outputs y:0",
        )
    return graph_function(graph_def, options.inputs, options.outputs, options.shapes)
