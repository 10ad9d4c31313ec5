"""TensorFlow functions and single operators that are converted to ONNX: a case in a line or two."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

import trueport
from tests.errors.case import Case

__all__ = ["BOOL", "DOUBLE", "FLOAT", "HALF", "INT", "LONG", "STRING", "converted", "operator", "spec"]


def converted(name: str, function: Callable[..., Any], *specs: Any, **options: Any) -> Case:
    """A function over tensors that these specs describe."""

    def provoke() -> None:
        source = tf.function(function, input_signature=specs, autograph=False)
        trueport.convert(source, to="onnx", verify=False, **options)

    return Case(f"tf-{name}", provoke)


def operator(name: str, op: str, inputs: Mapping[str, Any], **fixed: Any) -> Case:
    """One operator: specs of the inputs that are fed, and all else that it is called with."""

    def call(*tensors: Any) -> Any:
        return getattr(tf.raw_ops, op)(**dict(zip(inputs, tensors, strict=True)), **fixed)

    return converted(name, call, *inputs.values())


def spec(dtype: Any) -> Callable[..., Any]:
    """Tensors of one type by their dims, None for an open one."""
    return lambda *dims: tf.TensorSpec(dims, dtype)


BOOL, DOUBLE, FLOAT, HALF = spec(tf.bool), spec(tf.float64), spec(tf.float32), spec(tf.float16)
INT, LONG, STRING = spec(tf.int32), spec(tf.int64), spec(tf.string)
