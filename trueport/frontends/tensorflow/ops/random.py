"""Random numbers: of the same distributions, drawn by the runtime's own generators.

A generator without state, whose seed and shape are known, is not random: TensorFlow computes its numbers beforehand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.fidelity import EXACT
from trueport.formulas.random_numbers import (
    full_integers,
    integers_between,
    normal,
    shuffled,
    truncated_normal,
    uniform,
)
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.frontends.tensorflow.translate.values import Translated
from trueport.mapping.declare import maps

__all__: list[str] = []


def _seed(seed: int, seed2: int) -> float | None:
    """ONNX's one seed; none where TensorFlow seeds itself."""
    return float(seed2 or seed) if seed or seed2 else None


@maps("RandomUniform", domain=TF, random=True)
def random_uniform(t: Translation, shape: ir.Value, *, seed: int, seed2: int) -> ir.Value:
    return uniform(t, shape, t.output_type(), _seed(seed, seed2))


@maps("RandomStandardNormal", domain=TF, random=True)
def random_standard_normal(t: Translation, shape: ir.Value, *, seed: int, seed2: int) -> ir.Value:
    return normal(t, shape, t.output_type(), _seed(seed, seed2))


@maps("TruncatedNormal", domain=TF, random=True)
def random_truncated_normal(t: Translation, shape: ir.Value, *, seed: int, seed2: int) -> ir.Value:
    return truncated_normal(t, shape, t.output_type(), _seed(seed, seed2))


@maps("RandomUniformInt", domain=TF, random=True)
def random_uniform_int(
    t: Translation, shape: ir.Value, minval: ir.Value, maxval: ir.Value, *, seed: int, seed2: int
) -> ir.Value:
    return integers_between(t, shape, minval, maxval, _seed(seed, seed2))


@maps("RandomShuffle", domain=TF, random=True)
def random_shuffle(t: Translation, value: ir.Value, *, seed: int, seed2: int) -> ir.Value:
    return shuffled(t, value, _seed(seed, seed2))


@maps("Multinomial", domain=TF, random=True)
def multinomial(t: Translation, logits: ir.Value, num_samples: ir.Value, *, seed: int, seed2: int) -> ir.Value:
    return _chosen(t, logits, num_samples, _seed(seed, seed2))


@maps("StatelessMultinomial", domain=TF, random=True)
def stateless_multinomial(t: Translation, logits: ir.Value, num_samples: ir.Value, seed: Translated) -> ir.Value:
    return _chosen(t, logits, num_samples, None)


def _chosen(t: Translation, logits: ir.Value, num_samples: ir.Value, seed: float | None) -> ir.Value:
    count = int(t.need(num_samples, "num_samples"))
    return t.op.Multinomial(t.cast(logits, ir.DataType.FLOAT), sample_size=count, dtype=t.output_type(), seed=seed)


@maps("StatelessRandomUniform", domain=TF, random=True)
def stateless_uniform(t: Translation, shape: ir.Value, seed: Translated) -> ir.Value:
    return uniform(t, shape, t.output_type())


@maps("StatelessRandomUniformV2", domain=TF, random=True)
def stateless_uniform_v2(
    t: Translation, shape: ir.Value, key: Translated, counter: Translated, alg: Translated
) -> ir.Value:
    return uniform(t, shape, t.output_type())


@maps("StatelessRandomNormal", domain=TF, random=True)
def stateless_normal(t: Translation, shape: ir.Value, seed: Translated) -> ir.Value:
    return normal(t, shape, t.output_type())


@maps("StatelessRandomNormalV2", domain=TF, random=True)
def stateless_normal_v2(
    t: Translation, shape: ir.Value, key: Translated, counter: Translated, alg: Translated
) -> ir.Value:
    return normal(t, shape, t.output_type())


@maps("StatelessTruncatedNormal", domain=TF, random=True)
def stateless_truncated_normal(t: Translation, shape: ir.Value, seed: Translated) -> ir.Value:
    return truncated_normal(t, shape, t.output_type())


@maps("StatelessTruncatedNormalV2", domain=TF, random=True)
def stateless_truncated_normal_v2(
    t: Translation, shape: ir.Value, key: Translated, counter: Translated, alg: Translated
) -> ir.Value:
    return truncated_normal(t, shape, t.output_type())


@maps("StatelessRandomUniformInt", domain=TF, random=True)
def stateless_uniform_int(
    t: Translation, shape: ir.Value, seed: Translated, minval: ir.Value, maxval: ir.Value
) -> ir.Value:
    return integers_between(t, shape, minval, maxval)


@maps("StatelessRandomUniformIntV2", domain=TF, random=True)
def stateless_uniform_int_v2(
    t: Translation,
    shape: ir.Value,
    key: Translated,
    counter: Translated,
    alg: Translated,
    minval: ir.Value,
    maxval: ir.Value,
) -> ir.Value:
    return integers_between(t, shape, minval, maxval)


@maps("StatelessRandomUniformFullInt", domain=TF, random=True)
def stateless_uniform_full_int(t: Translation, shape: ir.Value, seed: Translated) -> ir.Value:
    return full_integers(t, shape, t.output_type())


@maps("StatelessRandomUniformFullIntV2", domain=TF, random=True)
def stateless_uniform_full_int_v2(
    t: Translation, shape: ir.Value, key: Translated, counter: Translated, alg: Translated
) -> ir.Value:
    return full_integers(t, shape, t.output_type())


@maps("StatelessShuffle", domain=TF, random=True)
def stateless_shuffle(
    t: Translation, value: ir.Value, key: Translated, counter: Translated, alg: Translated
) -> ir.Value:
    return shuffled(t, value)


@maps("StatefulUniform", domain=TF, random=True)
def stateful_uniform(t: Translation, resource: Translated, algorithm: Any, shape: ir.Value) -> ir.Value:
    return uniform(t, shape, t.output_type())


@maps("StatefulStandardNormalV2", domain=TF, random=True)
def stateful_normal(t: Translation, resource: Translated, algorithm: Any, shape: ir.Value) -> ir.Value:
    return normal(t, shape, t.output_type())


@maps("StatefulTruncatedNormal", domain=TF, random=True)
def stateful_truncated_normal(t: Translation, resource: Translated, algorithm: Any, shape: ir.Value) -> ir.Value:
    return truncated_normal(t, shape, t.output_type())


@maps("StatefulUniformInt", domain=TF, random=True)
def stateful_uniform_int(
    t: Translation, resource: Translated, algorithm: Any, shape: ir.Value, minval: ir.Value, maxval: ir.Value
) -> ir.Value:
    return integers_between(t, shape, minval, maxval)


@maps("StatefulUniformFullInt", domain=TF, random=True)
def stateful_uniform_full_int(t: Translation, resource: Translated, algorithm: Any, shape: ir.Value) -> ir.Value:
    return full_integers(t, shape, t.output_type())


@maps("NonDeterministicInts", domain=TF, random=True)
def non_deterministic_ints(t: Translation, shape: ir.Value) -> ir.Value:
    return full_integers(t, shape, t.output_type())


@maps("RngReadAndSkip", domain=TF, random=True)
def rng_read_and_skip(t: Translation, resource: Translated, alg: Any, delta: Any) -> ir.Value:
    """The state a generator is in: ONNX's generators keep their own, so that any will do."""
    return full_integers(t, t.op.const(np.array([3], np.int64)), ir.DataType.INT64)


@maps("RngSkip", domain=TF, fidelity=EXACT, random=True)
def rng_skip(t: Translation, resource: Translated, algorithm: Any, delta: Any) -> None:
    """Moves a state that ONNX's generators do not have."""


@maps("StatelessRandomGetKeyCounter", domain=TF, random=True)
def get_key_counter(t: Translation, seed: Any) -> tuple[ir.Value, ir.Value]:
    """Made of a seed that is known only while the model runs; see ``rng_read_and_skip``."""
    key, counter = (full_integers(t, t.op.const(np.array([n], np.int64)), ir.DataType.UINT64) for n in (1, 2))
    return key, counter


@maps("StatelessRandomGetKeyCounterAlg", domain=TF, random=True)
def get_key_counter_alg(t: Translation, seed: Any) -> tuple[ir.Value, ir.Value, ir.Value]:
    return *get_key_counter(t, seed), get_alg(t)


@maps("StatelessRandomGetAlg", domain=TF, random=True)
def get_alg(t: Translation) -> ir.Value:
    return t.op.const(np.array(1, np.int32))
