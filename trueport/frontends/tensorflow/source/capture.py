"""From any TensorFlow object to one flat traced function: tensors in, a dict of tensors out, weights captured."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

from trueport.errors import ConversionError, InvalidModel, TrueportError, UsageError
from trueport.frontends.tensorflow._tf import tf
from trueport.frontends.tensorflow.source.dtypes import COMPLEX_PARTS, is_tensor_type, onnx_type
from trueport.ir.ports import Port, identifier
from trueport.quoting import one_line

__all__ = ["Border", "Captured", "Spec", "capture", "named_leaves", "named_specs", "tracing"]

_COMPONENTS = {
    "SparseTensorSpec": ("indices", "values", "dense_shape"),
    "RaggedTensorSpec": ("values", "row_splits"),
}


@dataclass(frozen=True)
class Spec:
    """One input as the source declares it: a TensorSpec, or that of a ragged or sparse tensor, and its name."""

    name: str
    spec: Any
    dims: tuple[str | None, ...] = ()
    """names for open dims, where the source gives them"""


@dataclass(frozen=True)
class Border:
    """What the user wants of the inputs and outputs, by their names."""

    shapes: Mapping[str, Sequence[int | None]] = field(default_factory=dict)
    """dims of the source's inputs, narrower than it declares them"""
    inputs_as_nchw: Sequence[str] = ()
    """channel-last in the source, to be fed channel-first"""
    outputs_as_nchw: Sequence[str] = ()


@dataclass(frozen=True)
class Captured:
    """A traced function with flat inputs and outputs, and their names in the source."""

    function: Any
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    held: Any = field(repr=False, default=None)
    """what must live as long as the function: the model whose variables it uses"""

    @property
    def graph(self) -> Any:
        return self.function.graph


def capture(
    call: Callable[..., Any],
    specs: Sequence[Spec],
    *,
    border: Border | None = None,
    output_names: Sequence[str] | None = None,
    held: Any = None,
) -> Captured:
    """Trace ``call``, which takes the inputs by position as ``specs`` describe them.

    ``output_names`` is used where the result's structure gives no names.
    """
    wanted = border or Border()
    flat = _narrowed([part for spec in specs for part in _parts(spec)], wanted.shapes)
    turned = _turned_names("inputs_as_nchw", wanted.inputs_as_nchw, [part.name for part in flat])
    flat = [_turned_spec(part) if part.name in turned else part for part in flat]
    names: list[str] = []

    def traced(*tensors: Any) -> dict[str, Any]:
        given = [_to_channel_last(x) if part.name in turned else x for part, x in zip(flat, tensors, strict=True)]
        remaining = iter(given)
        made = call(*(_packed(spec.spec, remaining) for spec in specs))
        leaves = named_leaves(made, output_names)
        for name in _turned_names("outputs_as_nchw", wanted.outputs_as_nchw, list(leaves)):
            leaves[name] = _to_channel_first(leaves[name], name)
        # An ONNX value has one name: an output can't have an input's.
        taken = {part.name for part in flat}
        names[:] = [f"{name}.output" if name in taken else name for name in leaves]
        return {f"output_{index}": tf.identity(tensor) for index, tensor in enumerate(leaves.values())}

    parameters = [identifier(part.name) for part in flat]
    if len(set(parameters)) < len(parameters):
        parameters = [f"{name}_{index}" for index, name in enumerate(parameters)]
    traced.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in parameters]
    )
    signature = [tf.TensorSpec(p.spec.shape, p.spec.dtype, name=n) for p, n in zip(flat, parameters, strict=True)]
    with tracing():
        function = tf.function(traced, input_signature=signature, autograph=False).get_concrete_function()
    made = [function.structured_outputs[f"output_{index}"] for index in range(len(names))]
    inputs = [_port(part.name, part.spec, name, part.dims) for part, name in zip(flat, parameters, strict=True)]
    outputs = [
        _port(name, tensor, f"output_{index}") for index, (name, tensor) in enumerate(zip(names, made, strict=True))
    ]
    return Captured(function, tuple(inputs), tuple(outputs), held)


@contextmanager
def tracing() -> Iterator[None]:
    """Around what runs the model's own code, which raises what it likes."""
    try:
        yield
    except TrueportError:
        raise
    except Exception as error:
        raise InvalidModel(
            f"TensorFlow can't trace it: {type(error).__name__}: {one_line(error, 300)}",
            remedy="call the model itself with inputs of these shapes and types to see where it fails",
        ) from error


def _parts(spec: Spec) -> list[Spec]:
    """A plain tensor is itself; a ragged or sparse one is its component tensors."""
    parts = tf.nest.flatten(spec.spec, expand_composites=True)
    if len(parts) == 1:
        return [Spec(spec.name, parts[0], spec.dims)]
    kinds = _COMPONENTS.get(type(spec.spec).__name__, ())
    suffixes = kinds if len(kinds) == len(parts) else [f"part{index}" for index in range(len(parts))]
    return [Spec(f"{spec.name}__{suffix}", part) for suffix, part in zip(suffixes, parts, strict=True)]


def _packed(spec: Any, remaining: Iterator[Any]) -> Any:
    count = len(tf.nest.flatten(spec, expand_composites=True))
    return tf.nest.pack_sequence_as(spec, [next(remaining) for _ in range(count)], expand_composites=True)


def _narrowed(parts: Sequence[Spec], shapes: Mapping[str, Sequence[int | None]]) -> list[Spec]:
    names = [part.name for part in parts]
    for name in shapes:
        if name not in names:
            raise UsageError(f"there is no input {name!r}", where="shapes", remedy=f"the model's inputs: {names}")
    found = []
    for part in parts:
        wanted = tf.TensorShape(shapes.get(part.name, part.spec.shape))
        if not part.spec.shape.is_compatible_with(wanted):
            raise UsageError(f"{wanted} does not fit the model's {part.spec.shape}", where=f"shape of {part.name!r}")
        found.append(replace(part, spec=tf.TensorSpec(part.spec.shape.merge_with(wanted), part.spec.dtype)))
    return found


def _turned_names(option: str, wanted: Sequence[str], names: Sequence[str]) -> frozenset[str]:
    for name in wanted:
        if name not in names:
            raise UsageError(f"there is no {name!r}", where=option, remedy=f"the model has: {', '.join(names)}")
    return frozenset(wanted)


def _turned_spec(part: Spec) -> Spec:
    """The spec of an input that is fed channel-first."""
    dims = part.spec.shape
    if dims.rank is None or dims.rank < 3:
        raise UsageError(
            f"its shape is {dims}: there are no channels to turn",
            where=f"inputs_as_nchw: input {part.name!r}",
            remedy="name images only: inputs of rank 3 or more",
        )
    order = [0, dims.rank - 1, *range(1, dims.rank - 1)]
    names = [*part.dims, *[None] * (dims.rank - len(part.dims))]
    turned = tf.TensorSpec([dims[axis] for axis in order], part.spec.dtype)
    return replace(part, spec=turned, dims=tuple(names[axis] for axis in order))


def _to_channel_last(tensor: Any) -> Any:
    rank = tensor.shape.rank
    return tf.transpose(tensor, [0, *range(2, rank), 1])


def _to_channel_first(tensor: Any, name: str) -> Any:
    rank = tensor.shape.rank
    if rank is None or rank < 3:
        raise UsageError(
            f"its shape is {tensor.shape}: there are no channels to turn",
            where=f"outputs_as_nchw: output {name!r}",
            remedy="name images only: outputs of rank 3 or more",
        )
    return tf.transpose(tensor, [0, rank - 1, *range(1, rank - 1)])


def named_leaves(structure: Any, names: Sequence[str] | None = None) -> dict[str, Any]:
    """Tensors of a result by name: a dict's keys, a tuple's fields, ``names`` or ``output_0`` and on for the rest."""
    leaves = list(_walk(structure, ""))
    if not leaves:
        raise InvalidModel("returns no tensor", remedy="a model must return at least one")
    given = iter(names or ())
    found: dict[str, Any] = {}
    for index, (path, tensor) in enumerate(leaves):
        name = path or next(given, f"output_{index}")
        while name in found:
            name += "_"
        found[name] = tensor
    return found


def _walk(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _walk(item, _join(path, str(key)))
    elif hasattr(value, "_fields"):
        for key in value._fields:
            yield from _walk(getattr(value, key), _join(path, key))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _walk(item, _join(path, str(index)) if path else "")
    elif value is not None:
        parts = tf.nest.flatten(value, expand_composites=True)
        suffixes = _COMPONENTS.get(type(value).__name__ + "Spec", ())
        for index, part in enumerate(parts):
            tail = suffixes[index] if len(suffixes) == len(parts) else f"part{index}"
            yield (path if len(parts) == 1 else f"{path or 'output'}__{tail}", tf.convert_to_tensor(part))


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _port(name: str, spec: Any, part: str, names: Sequence[str | None] = ()) -> Port:
    dims: tuple[int | str | None, ...] | None = None
    if spec.shape.rank is not None:
        known = spec.shape.as_list()
        dims = tuple(name if dim is None else dim for dim, name in zip_longest(known, names[: len(known)]))
    if not is_tensor_type(spec.dtype):
        raise ConversionError(
            f"ONNX has no element type for TensorFlow's {spec.dtype.name}",
            where=f"the model's {name!r}",
            remedy="take and return tensors of numbers, truth values or strings",
        )
    dtype = onnx_type(spec.dtype)
    if dtype in COMPLEX_PARTS:
        return Port(name, "pair", COMPLEX_PARTS[dtype].name, None if dims is None else (*dims, 2), (part,))
    return Port(name, "tensor", dtype.name, dims, (part,))


def named_specs(positional: Sequence[Spec], named: Mapping[str, Any], names: Sequence[str] = ()) -> list[Spec]:
    """Every tensor in nested arguments as an input of its own: ``names`` in their order, or the path to it."""
    paths = [item for spec in positional for item in _paths(spec.spec, spec.name)]
    paths += [item for name in sorted(named) for item in _paths(named[name], name)]
    return [Spec(names[i] if i < len(names) else path, leaf) for i, (path, leaf) in enumerate(paths)]


def _paths(structure: Any, path: str) -> Iterator[tuple[str, Any]]:
    """In the order of tf.nest: dicts by their sorted keys."""
    if isinstance(structure, Mapping):
        for key in sorted(structure):
            yield from _paths(structure[key], _join(path, str(key)))
    elif isinstance(structure, (list, tuple)):
        for index, item in enumerate(structure):
            yield from _paths(item, _join(path, str(index)))
    else:
        yield path, structure
