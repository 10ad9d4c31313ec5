"""Ways in which a TensorFlow operation could have been misread, each run by TensorFlow itself in float64."""

from __future__ import annotations

import functools
import importlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from trueport.frontends.tensorflow._tf import tf
from trueport.reference.indices import readings
from trueport.reference.tensorflow.resize_readings import resize_readings
from trueport.reference.walk import Hypothesis, Place

__all__ = ["Reading", "Rerun", "operation_hypotheses"]

Reading = Callable[[Callable[[Any, Sequence[Any]], Sequence[Any]], Sequence[Any]], Sequence[Any]]
"""What a place gives if it is read otherwise: of a function that runs operations, and of what goes into the place."""
Rerun = Callable[[Place, Reading], Any]
"""The value that departs, with a place read otherwise."""

_SIBLINGS: tuple[tuple[str, ...], ...] = (
    ("FloorDiv", "TruncateDiv", "RealDiv"),
    ("FloorMod", "TruncateMod"),
    ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea"),
    ("Round", "Rint", "Floor", "Ceil"),
    ("MaxPool", "AvgPool"),
    ("MirrorPad", "Pad"),
    ("Relu", "Relu6", "Elu", "Selu", "Softplus", "Tanh", "Sigmoid"),
    ("Sum", "Mean", "Max", "Min", "Prod"),
)
_NUMBERS: Mapping[str, Sequence[float]] = {
    "epsilon": (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 0.0),
    "alpha": (0.0, 0.01, 0.1, 0.2, 0.3, 1.0),
    "bias": (0.0, 1.0),
    "beta": (0.5, 0.75, 1.0),
}
_TRIES = 24


class _Altered:
    """An operation with other attributes, or of another type, as the evaluation sees it."""

    def __init__(self, operation: Any, kind: str, attributes: Mapping[str, Any]) -> None:
        self.type, self.name, self.graph = kind, operation.name, operation.graph
        self.inputs, self.outputs = operation.inputs, operation.outputs
        same = kind == operation.type
        registry = importlib.import_module("tensorflow.python.framework.op_def_registry")
        self.op_def = operation.op_def if same else registry.get(kind)
        own = {attr.name for attr in operation.op_def.attr}
        self._attributes = {
            attr.name: operation.get_attr(attr.name) if attr.name in own else _default(attr)
            for attr in self.op_def.attr
        } | dict(attributes)

    def get_attr(self, name: str) -> Any:
        return self._attributes[name]


def operation_hypotheses(places: Sequence[Place], rerun: Rerun) -> Iterator[tuple[Place, Hypothesis]]:
    """For every operation of a part: one attribute or index read otherwise, or another operation of its family."""
    for place in reversed(places):
        changes = itertools.islice(_changes(place.node), _TRIES)
        for what, kind, reading in itertools.chain(changes, _other_indices(place, rerun), _other_resizing(place.node)):
            yield place, Hypothesis(kind, what, functools.partial(rerun, place, reading))


def _changes(operation: Any) -> Iterator[tuple[str, str, Reading]]:
    for attr in operation.op_def.attr:
        now = _plain(operation.get_attr(attr.name))
        for other in _others(attr, now):
            words = f"it behaves as with {attr.name} = {other}, the source has {now}"
            changed = _Altered(operation, operation.type, {attr.name: _stored(other)})
            yield words, "attribute", _instead(changed)
    for kind in next((group for group in _SIBLINGS if operation.type in group), ()):
        if kind != operation.type:
            yield from _as_sibling(operation, kind)


def _instead(changed: Any) -> Reading:
    return lambda run, inputs: run(changed, inputs)


def _other_indices(place: Place, rerun: Rerun) -> Iterator[tuple[str, str, Reading]]:
    """Integers that lie beyond an axis, as other frameworks take them."""
    operation = place.node
    arguments = operation.op_def.input_arg
    whole = [index for index, tensor in enumerate(operation.inputs) if tensor.dtype.is_integer]
    if not whole or len(arguments) != len(operation.inputs):
        return
    inputs, results = _looked_at(place, rerun)
    sizes = {*np.shape(inputs[0]), *np.shape(results[0])}
    for index in whole:
        for words, moved in readings(arguments[index].name, np.asarray(inputs[index]), sizes):
            yield words, "indices", _with_input(operation, index, moved)


def _with_input(operation: Any, index: int, array: np.ndarray) -> Reading:
    given = tf.constant(array)
    return lambda run, inputs: run(operation, [*inputs[:index], given, *inputs[index + 1 :]])


def _looked_at(place: Place, rerun: Rerun) -> tuple[Sequence[Any], Sequence[Any]]:
    """What goes into a place, and what it makes."""
    seen: list[Sequence[Any]] = []

    def look(run: Callable[[Any, Sequence[Any]], Sequence[Any]], inputs: Sequence[Any]) -> Sequence[Any]:
        seen[:] = [inputs, run(place.node, inputs)]
        return seen[1]

    rerun(place, look)
    return seen[0], seen[1]


def _other_resizing(operation: Any) -> Iterator[tuple[str, str, Reading]]:
    for words, way in resize_readings(operation):
        yield words, "attribute", lambda run, inputs, way=way: [way(inputs)]  # type: ignore[misc]


def _as_sibling(operation: Any, kind: str) -> Iterator[tuple[str, str, Reading]]:
    registry = importlib.import_module("tensorflow.python.framework.op_def_registry")
    flags = [attr.name for attr in registry.get(kind).attr if attr.type == "bool"]
    for values in itertools.product((False, True), repeat=len(flags)):
        chosen = dict(zip(flags, values, strict=True))
        words = ", ".join(f"{name} = {value}" for name, value in chosen.items())
        what = f"it behaves as {kind}{f' with {words}' if words else ''}, the source has {operation.type}"
        yield what, "operator", _instead(_Altered(operation, kind, chosen))


def _others(attr: Any, now: Any) -> Sequence[Any]:
    if attr.type == "bool":
        return [not now]
    if attr.type == "string" and attr.HasField("allowed_values"):
        return [_plain(value) for value in attr.allowed_values.list.s if _plain(value) != now]
    return [value for value in _NUMBERS.get(attr.name, ()) if attr.type == "float" and value != now]


def _default(attr: Any) -> Any:
    kind = attr.default_value.WhichOneof("value")
    if kind is None:
        return None
    value = getattr(attr.default_value, kind)
    return tf.as_dtype(value) if kind == "type" else value


def _plain(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def _stored(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value
