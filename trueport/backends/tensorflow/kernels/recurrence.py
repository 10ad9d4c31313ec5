"""Recurrence over time: what RNN, GRU and LSTM share.

A cell is given the part of its gates that comes from the input, made for all steps by one product, and
the state before the step. Directions differ in the order in which steps are visited, nothing is reversed:
a sample whose sequence is shorter keeps its state through the steps that it does not have.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Tensor
from trueport.backends.tensorflow.kernels.shapes import of_rank
from trueport.backends.tensorflow.kernels.sizes import size_of
from trueport.errors import ConversionError
from trueport.fidelity import UNSUPPORTED, Limit
from trueport.mapping.examples import example

__all__ = ["Activation", "Cell", "Layer", "activation_limit", "activations_of", "linear", "loop", "recur", "same_batch"]

Activation = Callable[[Tensor], Tensor]
State = tuple[Tensor, ...]
Cell = Callable[[Tensor, State], State]
"""(input's part of the gates [B, G·H], state before) → state after; its first member is the output"""

UNROLLED_STEPS = 4
"""Up to this many steps, when their number is known, a loop costs more than it saves."""


@dataclass(frozen=True)
class Layer:
    """The inputs and attributes that all three operators have."""

    X: Tensor
    W: Tensor
    R: Tensor
    B: Tensor | None
    sequence_lens: Tensor | None
    initial: tuple[Tensor | None, ...]
    direction: str
    layout: int

    @property
    def directions(self) -> int:
        return 2 if self.direction == "bidirectional" else 1

    def biases(self, number: int) -> tuple[Tensor, Tensor] | None:
        """The input's and the recurrence's bias of one direction."""
        return None if self.B is None else tuple(tf.split(self.B[number], 2))


def activations_of(
    names: Sequence[str] | None,
    defaults: Sequence[str],
    alphas: Sequence[float] | None,
    betas: Sequence[float] | None,
    directions: int,
) -> list[list[Activation]]:
    """The functions of each direction; parameters go, in order, to those functions that have them."""
    known = {name.lower(): entry for name, entry in _ACTIVATIONS.items()}
    names = list(names or [*defaults] * directions)[: len(defaults) * directions]
    left_alphas, left_betas = list(alphas or ()), list(betas or ())
    made: list[Activation] = []
    for name in names:
        function, alpha, beta = known[name.lower()]
        if alpha is not None and left_alphas:
            alpha = left_alphas.pop(0)
        if beta is not None and left_betas:
            beta = left_betas.pop(0)
        parameters = [p for p in (alpha, beta) if p is not None]
        made.append(_with(function, parameters))
    size = len(defaults)
    return [made[i * size : (i + 1) * size] for i in range(directions)]


def activation_limit(each: int, shown: str) -> Limit:
    """What the schemas can't say: how many activations each direction has, and of which names; ``shown`` by a graph."""

    def unusable(node: ir.Node) -> bool:
        given = [name.lower() for name in node.attributes.get_strings("activations", ())]
        wanted = each * (2 if node.attributes.get_string("direction", "") == "bidirectional" else 1)
        known = {name.lower() for name in _ACTIVATIONS}
        return bool(given) and (len(given) < wanted or not known.issuperset(given[:wanted]))

    return Limit(
        "recurrent-activations",
        unusable,
        UNSUPPORTED,
        f"its activations are fewer than it needs, or none of {', '.join(_ACTIVATIONS)}",
        example=example(shown),
    )


def _with(function: Callable[..., Tensor], parameters: Sequence[float]) -> Activation:
    return lambda x: function(x, *parameters)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x · weightᵀ + bias over the last axis of x [B, I] or [T, B, I], as one matrix product."""
    flat = x if x.shape.rank == 2 else tf.reshape(x, [-1, size_of(weight, 1)])
    made = tf.matmul(flat, weight, transpose_b=True)
    made = made if bias is None else tf.nn.bias_add(made, bias)
    return made if x.shape.rank == 2 else tf.reshape(made, [size_of(x, 0), size_of(x, 1), size_of(weight, 0)])


def recur(layer: Layer, make_cell: Callable[[int, Layer], tuple[Cell, Tensor | None]]) -> list[Tensor]:
    """Y and the final states, in the operator's layout.

    ``make_cell(number, layer)`` gives a direction's cell and the bias that goes with the input's product.
    Half precision is computed in float32: a recurrence feeds its rounding back.
    """
    dtype = layer.X.dtype
    layer = _widened(_ranked(layer))
    X = tf.transpose(layer.X, [1, 0, 2]) if layer.layout else layer.X
    results = []
    for number in range(layer.directions):
        cell, bias = make_cell(number, layer)
        states = tuple(_initial_state(layer, X, state, number) for state in layer.initial)
        backward = layer.direction == "reverse" or number == 1
        results.append(_run(cell, linear(X, layer.W[number], bias), states, layer.sequence_lens, backward))
    axis_y, axis_state = (2, 1) if layer.layout else (1, 0)
    outputs = [y if not layer.layout else tf.transpose(y, [1, 0, 2]) for y, _ in results]
    stacked = [tf.stack(outputs, axis_y)]
    stacked += [tf.stack(finals, axis_state) for finals in zip(*(states for _, states in results), strict=True)]
    return [tf.cast(item, dtype) for item in stacked]


def _ranked(layer: Layer) -> Layer:
    """All of known rank, which what comes out of a branch may not be, and of the batch size that any of them knows."""
    X, W, R = (of_rank(x, 3) for x in (layer.X, layer.W, layer.R))
    B = None if layer.B is None else of_rank(layer.B, 2)
    initial = [None if x is None else of_rank(x, 3) for x in layer.initial]
    lengths = None if layer.sequence_lens is None else of_rank(layer.sequence_lens, 1)
    axis = 0 if layer.layout else 1
    X, *initial, lengths = same_batch([(X, axis), *((state, axis) for state in initial), (lengths, 0)])
    return dataclasses.replace(layer, X=X, W=W, R=R, B=B, initial=tuple(initial), sequence_lens=lengths)


def same_batch(tensors: Sequence[tuple[Tensor | None, int]]) -> list[Tensor | None]:
    """Return tensors, each given with its batch axis, with the batch size that any of them knows.

    A loop may not carry a state of known size next to inputs of unknown size. A tensor that turns out to have another
    size is an error at run time, as it is in ONNX Runtime, and is not broadcast.
    """
    known = {x.shape[axis] for x, axis in tensors if x is not None} - {None}
    if len(known) > 1:
        raise ConversionError(
            f"its inputs have different batch sizes: {', '.join(map(str, sorted(known)))}",
            remedy="give X, sequence_lens and the initial states the same batch size",
        )
    (size,) = known or (None,)
    return [None if x is None else _with_dim(x, axis, size) for x, axis in tensors]


def _with_dim(x: Tensor, axis: int, size: int | None) -> Tensor:
    if size is None or x.shape[axis] is not None:
        return x
    return tf.ensure_shape(x, [size if place == axis else None for place in range(x.shape.rank)])


def _widened(layer: Layer) -> Layer:
    if layer.X.dtype not in (tf.float16, tf.bfloat16):
        return layer
    X, W, R, B = (None if x is None else tf.cast(x, tf.float32) for x in (layer.X, layer.W, layer.R, layer.B))
    initial = tuple(None if x is None else tf.cast(x, tf.float32) for x in layer.initial)
    return dataclasses.replace(layer, X=X, W=W, R=R, B=B, initial=initial)


def _initial_state(layer: Layer, X: Tensor, given: Tensor | None, number: int) -> Tensor:
    if given is not None:
        return given[:, number] if layer.layout else given[number]
    return tf.zeros([size_of(X, 1), size_of(layer.R, 2)], X.dtype)


def _run(cell: Cell, gates: Tensor, states: State, lengths: Tensor | None, backward: bool) -> tuple[Tensor, State]:
    """One direction: outputs [T, B, H], and the states after each sample's last step."""

    def step(time: Tensor, x: Tensor, states: State) -> tuple[Tensor, State]:
        after = cell(x, states)
        if lengths is None:
            return after[0], after
        present = tf.expand_dims(time < lengths, 1)
        after = tuple(tf.where(present, new, old) for new, old in zip(after, states, strict=True))
        return tf.where(present, after[0], tf.zeros([], x.dtype)), after

    steps = gates.shape[0]
    if steps is not None and 0 < steps <= UNROLLED_STEPS:
        outputs: dict[int, Tensor] = {}
        for time in reversed(range(steps)) if backward else range(steps):
            outputs[time], states = step(time, gates[time], states)
        return tf.stack([outputs[time] for time in range(steps)]), _none_for_empty(states, lengths)
    shape = [size_of(states[0], 0), size_of(states[0], 1)]
    outputs_made, states = loop(lambda time, x, states: step(time, x[0], states), (gates,), states, shape, backward)
    return outputs_made, _none_for_empty(states, lengths)


def loop(
    step: Callable[[Tensor, tuple[Tensor, ...], State], tuple[Tensor, State]],
    inputs: tuple[Tensor, ...],
    states: State,
    output_shape: Sequence[Any],
    backward: bool = False,
) -> tuple[Tensor, State]:
    """``output, states = step(time, inputs at time, states)`` for each time of the inputs' first axis.

    TensorLists, not tf.TensorArray: stacking no steps at all needs an element shape that is known at run time.
    """
    steps, dtype = tf.shape(inputs[0])[0], states[0].dtype
    lists = [tf.raw_ops.TensorListFromTensor(tensor=x, element_shape=tf.shape(x)[1:]) for x in inputs]
    element = tf.stack(output_shape)
    outputs = tf.raw_ops.TensorListReserve(element_shape=element, num_elements=steps, element_dtype=dtype)

    def at(time: Tensor, handle: Tensor, whole: Tensor) -> Tensor:
        # An open dim stays open here: the elements are all there, and nothing is computed in each step.
        shape = tf.constant([-1 if size is None else size for size in whole.shape[1:]], tf.int32)
        made = tf.raw_ops.TensorListGetItem(
            input_handle=handle, index=time, element_shape=shape, element_dtype=whole.dtype
        )
        made.set_shape(whole.shape[1:])
        return made

    def body(count: Tensor, outputs: Tensor, states: State) -> tuple[Tensor, Tensor, State]:
        time = steps - 1 - count if backward else count
        now = tuple(at(time, handle, whole) for handle, whole in zip(lists, inputs, strict=True))
        output, after = step(time, now, states)
        for new, old in zip(after, states, strict=True):
            new.set_shape(old.shape)  # no step changes the shape of a state
        return count + 1, tf.raw_ops.TensorListSetItem(input_handle=outputs, index=time, item=output), after

    _, outputs, states = tf.while_loop(
        lambda count, *_: count < steps, body, (tf.constant(0), outputs, states), maximum_iterations=steps
    )
    made = tf.raw_ops.TensorListStack(input_handle=outputs, element_shape=element, element_dtype=dtype)
    made.set_shape([inputs[0].shape[0], *(d if isinstance(d, int) else None for d in output_shape)])
    return made, states


def _none_for_empty(states: State, lengths: Tensor | None) -> State:
    """A sample without steps has no last output: zero, as ONNX Runtime gives."""
    if lengths is None:
        return states
    some = tf.expand_dims(lengths > 0, 1)
    return tuple(tf.where(some, state, tf.zeros([], state.dtype)) for state in states)


def _leaky_relu(x: Tensor, alpha: float) -> Tensor:
    return tf.where(x >= 0, x, alpha * x)


def _hard_sigmoid(x: Tensor, alpha: float, beta: float) -> Tensor:
    return tf.clip_by_value(alpha * x + beta, 0, 1)


def _elu(x: Tensor, alpha: float) -> Tensor:
    return tf.where(x >= 0, x, alpha * tf.math.expm1(tf.minimum(x, 0)))


_ACTIVATIONS: dict[str, tuple[Callable[..., Tensor], float | None, float | None]] = {
    "Relu": (lambda x: tf.nn.relu(x), None, None),
    "Tanh": (lambda x: tf.tanh(x), None, None),
    "Sigmoid": (lambda x: tf.sigmoid(x), None, None),
    "Affine": (lambda x, alpha, beta: alpha * x + beta, 1.0, 0.0),
    "LeakyRelu": (_leaky_relu, 0.01, None),
    "ThresholdedRelu": (lambda x, alpha: tf.where(x >= alpha, x, tf.zeros([], x.dtype)), 1.0, None),
    "ScaledTanh": (lambda x, alpha, beta: alpha * tf.tanh(beta * x), 1.0, 1.0),
    "HardSigmoid": (_hard_sigmoid, 0.2, 0.5),
    "Elu": (_elu, 1.0, None),
    "Softsign": (lambda x: tf.nn.softsign(x), None, None),
    "Softplus": (lambda x: tf.nn.softplus(x), None, None),
}
"""Each activation with the defaults of its alpha and beta: those of the ONNX operator of that name."""
