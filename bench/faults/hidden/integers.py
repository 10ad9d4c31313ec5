"""Faults that only large or negative integers show."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from bench.faults.hidden.fault import HiddenFault
from bench.faults.pairs.graph import Graph, Two, Value, make_two

__all__ = ["INTEGER_FAULTS"]

INT32, INT64, FLOAT, INT8 = 6, 7, 1, 3


def _product_int32(folder: Path) -> tuple[Any, Any]:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    spec = [tf.TensorSpec((None, 2), tf.int64, name="x")]

    def right(x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_prod(x, axis=1)

    def wrong(x: tf.Tensor) -> tf.Tensor:
        return tf.cast(tf.reduce_prod(tf.cast(x, tf.int32), axis=1), tf.int64)

    return tf.function(right, input_signature=spec), tf.function(wrong, input_signature=spec)


def _seconds_float32(folder: Path) -> Two:
    def before(g: Graph, t: str) -> Value:
        return g.Div(g.Cast(g.Mod(t, np.int64(86400)), to=FLOAT), 86400.0)

    def after(g: Graph, t: str) -> Value:
        seconds = g.Cast(t, to=FLOAT)
        days = g.Floor(g.Div(seconds, 86400.0))
        return g.Div(g.Sub(seconds, g.Mul(days, 86400.0)), 86400.0)

    return make_two({"t": ["N"]}, before, after, dtypes={"t": np.int64})


def _saturation(folder: Path) -> Two:
    def before(g: Graph, x: str) -> Value:
        return g.Cast(g.Clip(x, np.int32(-128), np.int32(127)), to=INT8)

    return make_two({"x": ["N", 4]}, before, lambda g, x: g.Cast(x, to=INT8), dtypes={"x": np.int32})


def _running_total(folder: Path) -> Two:
    def after(g: Graph, x: str) -> Value:
        return g.Cast(g.CumSum(g.Cast(x, to=INT32), np.int64(1)), to=INT64)

    return make_two({"x": ["N", 4]}, lambda g, x: g.CumSum(x, np.int64(1)), after, dtypes={"x": np.int64})


def _hour_before_epoch(folder: Path) -> Two:
    def write(g: Graph, t: str, fmod: int) -> Value:
        return g.Div(g.Mod(t, np.int64(86400), fmod=fmod), np.int64(3600))

    return make_two({"t": ["N"]}, lambda g, t: write(g, t, 0), lambda g, t: write(g, t, 1), dtypes={"t": np.int64})


INTEGER_FAULTS = (
    HiddenFault(
        "integers",
        "product_int32",
        "a product of int64 is computed in int32: results from 2^31 on wrap around",
        _product_int32,
        lambda: {"x": np.array([[1 << 20, 1 << 20]])},
        lambda: {"x": np.array([[3, 5], [-2, 7]])},
    ),
    HiddenFault(
        "integers",
        "seconds_float32",
        "the time of day is computed from seconds in float32: wrong by minutes for dates of today",
        _seconds_float32,
        lambda: {"t": np.array([1_767_225_661])},
        lambda: {"t": np.array([5, 90_000])},
    ),
    HiddenFault(
        "integers",
        "saturation",
        "a cast to int8 wraps around in place of saturating at -128 and 127",
        _saturation,
        lambda: {"x": np.array([[200, 127, -129, 0]], np.int32)},
        lambda: {"x": np.array([[1, -3, 40, 0]], np.int32)},
    ),
    HiddenFault(
        "integers",
        "running_total",
        "a cumulative sum of int64 is computed in int32",
        _running_total,
        lambda: {"x": np.array([[1_500_000_000, 1_500_000_000, 1, 2]])},
        lambda: {"x": np.array([[1, 2, 3, 4]])},
    ),
    HiddenFault(
        "integers",
        "hour_before_epoch",
        "the hour of times before 1970 is negative: Mod follows the sign of the dividend",
        _hour_before_epoch,
        lambda: {"t": np.array([-5, -7200])},
        lambda: {"t": np.array([0, 4000])},
    ),
)
