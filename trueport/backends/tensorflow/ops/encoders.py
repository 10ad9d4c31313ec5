"""Encoders: labels, categories and maps into tensors and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, MapRows, Tensor
from trueport.backends.tensorflow.build.weights import as_numpy
from trueport.backends.tensorflow.kernels.lookup import index_of, translated
from trueport.fidelity import BITWISE
from trueport.mapping.declare import maps

__all__: list[str] = []

_ML = "ai.onnx.ml"


@maps("LabelEncoder", domain=_ML, fidelity=BITWISE, audited=4)
def label_encoder(
    t: Emission,
    X: Tensor,
    *,
    default_float: float,
    default_int64: int,
    default_string: str,
    default_tensor: ir.TensorProtocol | None,
    keys_floats: list[float] | None,
    keys_int64s: list[int] | None,
    keys_strings: list[str] | None,
    keys_tensor: ir.TensorProtocol | None,
    values_floats: list[float] | None,
    values_int64s: list[int] | None,
    values_strings: list[str] | None,
    values_tensor: ir.TensorProtocol | None,
) -> Tensor:
    keys = _first_given((keys_strings, object), (keys_int64s, np.int64), (keys_floats, np.float32), (keys_tensor, None))
    values = _first_given(
        (values_strings, object), (values_int64s, np.int64), (values_floats, np.float32), (values_tensor, None)
    )
    dtype = t.output_dtype()
    if default_tensor is not None:
        default = as_numpy(default_tensor).reshape(-1)[0]
    elif dtype == tf.string:
        default = default_string
    else:
        default = default_int64 if dtype.is_integer else default_float
    return translated(X, keys, values, default, dtype)


def _first_given(*tables: tuple[Any, Any]) -> np.ndarray:
    table, dtype = next((table, dtype) for table, dtype in tables if table is not None)
    return as_numpy(table).reshape(-1) if dtype is None else np.array(table, dtype)


@maps("CategoryMapper", domain=_ML, fidelity=BITWISE, audited=1)
def category_mapper(
    t: Emission,
    X: Tensor,
    *,
    cats_int64s: list[int],
    cats_strings: list[str],
    default_int64: int,
    default_string: str,
) -> Tensor:
    # Of equal keys the last one counts.
    if X.dtype == tf.string:
        table: dict[Any, Any] = dict(zip(cats_strings, cats_int64s, strict=True))
        return translated(X, np.array(list(table), object), list(table.values()), default_int64, tf.int64)
    table = dict(zip(cats_int64s, cats_strings, strict=True))
    return translated(X, np.array(list(table)), list(table.values()), default_string, tf.string)


@maps("OneHotEncoder", domain=_ML, fidelity=BITWISE, audited=1)
def one_hot_encoder(
    t: Emission, X: Tensor, *, cats_int64s: list[int] | None, cats_strings: list[str] | None, zeros: int
) -> Tensor:
    categories = cats_strings if X.dtype == tf.string else cats_int64s
    assert categories is not None
    places = {category: place for place, category in enumerate(categories)}
    x = X if X.dtype == tf.string else tf.cast(X, tf.int64)
    found = translated(
        x, np.array(list(places), object if x.dtype == tf.string else np.int64), list(places.values()), -1, tf.int32
    )
    if zeros:
        return tf.one_hot(found, len(categories))
    known = tf.debugging.Assert(tf.reduce_all(found >= 0), ["unknown category, and zeros = 0"])
    with tf.control_dependencies([known]):
        return tf.one_hot(found, len(categories))


@maps("FeatureVectorizer", domain=_ML, audited=1)
def feature_vectorizer(t: Emission, *X: Tensor, inputdimensions: list[int] | None) -> Tensor:
    columns = [_columns(x) for x in X]
    if inputdimensions is not None:
        columns = [
            tf.pad(x, [[0, 0], [0, tf.maximum(width - tf.shape(x)[1], 0)]])[:, :width]
            for x, width in zip(columns, inputdimensions, strict=True)
        ]
    return tf.concat(columns, 1)


def _columns(x: Tensor) -> Tensor:
    """One row per sample, whatever the rank; a vector is one row."""
    rows = 1 if x.shape.rank == 1 else tf.shape(x)[0]
    width = tf.reduce_prod(tf.shape(x)) if x.shape.rank == 1 else tf.reduce_prod(tf.shape(x)[1:])
    return tf.cast(tf.reshape(x, [rows, width]), tf.float32)


@maps("ArrayFeatureExtractor", domain=_ML, fidelity=BITWISE, audited=1)
def array_feature_extractor(t: Emission, X: Tensor, Y: Tensor) -> Tensor:
    rows = X[tf.newaxis] if X.shape.rank == 1 else X
    return tf.gather(rows, tf.reshape(Y, [-1]), axis=-1)


@maps("DictVectorizer", domain=_ML, fidelity=BITWISE, audited=1)
def dict_vectorizer(
    t: Emission, X: MapRows, *, int64_vocabulary: list[int] | None, string_vocabulary: list[str] | None
) -> Tensor:
    vocabulary = np.array(string_vocabulary, object) if string_vocabulary else np.array(int64_vocabulary, np.int64)
    return _spread(index_of(X.keys, vocabulary), X.values, len(vocabulary), _zero(X.values.dtype))


@maps("CastMap", domain=_ML, audited=1)
def cast_map(t: Emission, X: MapRows, *, cast_to: str, map_form: str, max_map: int) -> Tensor:
    dtype = {"TO_FLOAT": tf.float32, "TO_INT64": tf.int64, "TO_STRING": tf.string}[cast_to]
    values = _converted(X.values, dtype)
    if map_form == "DENSE":
        return tf.gather(values, tf.argsort(X.keys))[tf.newaxis]
    places = tf.cast(tf.minimum(X.keys, max_map), tf.int32)
    return _spread(places, values, max_map, "0.f" if dtype == tf.string else _zero(dtype))


def _converted(values: Tensor, dtype: Any) -> Tensor:
    if values.dtype == dtype:
        return values
    if values.dtype == tf.string:
        return tf.strings.to_number(values, dtype)
    return tf.strings.as_string(values) if dtype == tf.string else tf.cast(values, dtype)


def _zero(dtype: Any) -> Any:
    return "" if dtype == tf.string else 0


def _spread(places: Tensor, values: Tensor, width: int, filler: Any) -> Tensor:
    """One row with the values at their places; a place of ``width`` is left out."""
    row = tf.fill([width + 1], tf.constant(filler, values.dtype))
    return tf.tensor_scatter_nd_update(row, places[:, tf.newaxis], values)[tf.newaxis, :width]


@maps("ZipMap", domain=_ML, fidelity=BITWISE, audited=1)
def zip_map(
    t: Emission, X: Tensor, *, classlabels_int64s: list[int] | None, classlabels_strings: list[str] | None
) -> MapRows:
    keys = tf.constant(classlabels_strings) if classlabels_strings else tf.constant(classlabels_int64s, tf.int64)
    return MapRows(keys, X[tf.newaxis] if X.shape.rank == 1 else X)
