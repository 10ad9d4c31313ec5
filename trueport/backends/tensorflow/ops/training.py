"""Training as a graph: gradients, and one step of an optimizer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.mapping.declare import maps

__all__: list[str] = []

_DOMAIN = "ai.onnx.preview.training"


@maps("Gradient", domain=_DOMAIN, audited=1)
def gradient(t: Emission, *Inputs: Tensor, xs: list[str], y: str, zs: list[str] | None) -> list[Tensor]:
    names = [*xs, *(zs or [])]
    if len(names) != len(Inputs):
        raise t.fail(f"has {len(Inputs)} inputs and {len(names)} names in xs and zs", "name each input in xs or zs")
    target, given = t.recompute(y, dict(zip(names, Inputs, strict=True)))
    return list(tf.gradients(target, given[: len(xs)], unconnected_gradients="zero"))


@maps("Adagrad", domain=_DOMAIN, audited=1)
def adagrad(
    t: Emission, R: Tensor, T: Tensor, *inputs: Tensor, decay_factor: float, epsilon: float, norm_coefficient: float
) -> list[Tensor]:
    def step(x: Tensor, g: Tensor, h: Tensor) -> tuple[Tensor, ...]:
        rate = tf.cast(R, x.dtype) / (1 + tf.cast(T, x.dtype) * decay_factor)
        g = norm_coefficient * x + g
        h = h + g * g
        return x - rate * g / (tf.sqrt(h) + epsilon), h

    return _each(step, inputs, 3)


@maps("Adam", domain=_DOMAIN, audited=1)
def adam(
    t: Emission,
    R: Tensor,
    T: Tensor,
    *inputs: Tensor,
    alpha: float,
    beta: float,
    epsilon: float,
    norm_coefficient: float,
    norm_coefficient_post: float,
) -> list[Tensor]:
    def step(x: Tensor, g: Tensor, v: Tensor, h: Tensor) -> tuple[Tensor, ...]:
        rate, count = tf.cast(R, x.dtype), tf.cast(T, x.dtype)
        g = norm_coefficient * x + g
        v = alpha * v + (1 - alpha) * g
        h = beta * h + (1 - beta) * (g * g)
        # One step at least, so that what is not chosen at none is finite, and so its gradient.
        passed = tf.maximum(count, 1)
        corrected = rate * tf.sqrt(1 - tf.pow(tf.cast(beta, x.dtype), passed))
        corrected = corrected / (1 - tf.pow(tf.cast(alpha, x.dtype), passed))
        x = x - tf.where(T > 0, corrected, rate) * (v / (tf.sqrt(h) + epsilon))
        return (1 - norm_coefficient_post) * x, v, h

    return _each(step, inputs, 4)


@maps("Momentum", domain=_DOMAIN, audited=1)
def momentum(
    t: Emission,
    R: Tensor,
    T: Tensor,
    *inputs: Tensor,
    alpha: float,
    beta: float,
    mode: str,
    norm_coefficient: float,
) -> list[Tensor]:
    def step(x: Tensor, g: Tensor, v: Tensor) -> tuple[Tensor, ...]:
        rate = tf.cast(R, x.dtype)
        g = norm_coefficient * x + g
        v = alpha * v + tf.where(T > 0, tf.cast(beta, x.dtype), tf.ones([], x.dtype)) * g
        return x - rate * (g + alpha * v if mode == "nesterov" else v), v

    return _each(step, inputs, 3)


def _each(step: Callable[..., tuple[Tensor, ...]], inputs: Sequence[Tensor], kinds: int) -> list[Tensor]:
    """The inputs come by kind (all values, all gradients, …), and so do the outputs."""
    count = len(inputs) // kinds
    results = [step(*inputs[i::count]) for i in range(count)]
    return [part for kind in zip(*results, strict=True) for part in kind]
