"""Programs over TensorFlow's functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import tensorflow as tf

from tests.fuzz.program import SHAPES, Program, Rejected, of_float32_literals, templates_of

__all__ = ["TensorflowPrograms"]


class TensorflowPrograms:
    name = "tensorflow"
    not_valid: tuple[type[Exception], ...] = (TypeError, ValueError)
    targets = ("onnx",)
    templates = templates_of(name)

    def evaluate(self, line: str, out: str, values: Mapping[str, Any], module: Any = tf) -> Any:
        try:
            result = eval(line, {"tf": module, **{name: tf.convert_to_tensor(value) for name, value in values.items()}})
        except (tf.errors.OpError, TypeError, ValueError, IndexError) as error:
            raise Rejected(str(error)) from error
        if not tf.is_tensor(result) or result.dtype.is_complex:
            raise Rejected("expected one real tensor")
        return result.numpy()

    def exact(self, line: str, out: str, values: Mapping[str, Any]) -> Any:
        return self.evaluate(of_float32_literals(line), out, values, _OfFloat64())

    def assemble(self, programs: Sequence[Program]) -> Any:
        specs, compiled = {}, {}
        for program in programs:
            for name, kind in program.inputs:
                dtype, dims = SHAPES[kind]
                shape = [None if isinstance(dim, str) else dim for dim in dims]
                specs[program.prefix + name] = tf.TensorSpec(shape, dtype, program.prefix + name)
            compiled[program] = [(out, compile(line, "<program>", "eval")) for out, line in program.lines]

        def call(**inputs: Any) -> dict[str, Any]:
            results = {}
            for program, lines in compiled.items():
                values = {"tf": tf, **{name: inputs[program.prefix + name] for name, _ in program.inputs}}
                for out, line in lines:
                    values[out] = eval(line, values)
                results.update({program.prefix + out: values[out] for out in program.outputs})
            return results

        return tf.function(call, autograph=False).get_concrete_function(**specs)

    def run(self, source: Any, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: value.numpy() for name, value in source(**{k: tf.constant(v) for k, v in feeds.items()}).items()}

    def defined(self, source: Any, samples: Sequence[Mapping[str, np.ndarray]]) -> None:
        """The framework is its own definition."""

    def sharing(self) -> AbstractContextManager[None]:
        return nullcontext()

    def options(self, source: Any, samples: Sequence[Mapping[str, np.ndarray]]) -> dict[str, Any]:
        return {}


class _OfFloat64:
    """TensorFlow with weights of float64: a convolution takes data and weights of one dtype."""

    def __getattr__(self, name: str) -> Any:
        return getattr(tf, name)

    def ones(self, shape: Sequence[Any]) -> Any:
        return tf.ones(shape, tf.float64)
