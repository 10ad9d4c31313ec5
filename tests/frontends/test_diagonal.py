"""Diagonals taken out of matrices, and put in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree, op_types
from tests.frontends.test_shape import DTYPES, TWO, ramp

linalg = tf.linalg
ALIGNED = ["RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"]
BANDS = [(-1, 2), (-1, 0), (0, 1), (1, 2), (-2, -1)]
SHAPES = [[ramp(2, 3, 4)], [ramp(5, 6, 3)], [ramp(0, 3, 4)]]


def test_short_graphs_where_sizes_are_known() -> None:
    assert op_types(agree(lambda x: linalg.diag_part(x), *TWO)) == ["Reshape", "Gather"]
    assert op_types(agree(lambda x: linalg.diag(x), [ramp(2, 3)], [ramp(5, 3)])) == ["Unsqueeze", "Where"]
    assert op_types(agree(lambda x: linalg.band_part(x, -1, 0), *TWO)) == ["Trilu"]


@pytest.mark.parametrize("k", [0, 1, -2])
def test_one_diagonal(k: int) -> None:
    agree(lambda x: linalg.diag_part(x, k=k), *TWO)
    agree(lambda x: linalg.diag_part(x, k=k), *SHAPES)
    agree(lambda x: (linalg.diag(x, k=k), linalg.diag(x, k=k, padding_value=7.0)), [ramp(2, 3)], [ramp(4, 5)])
    agree(lambda x: linalg.diag(x, k=k), [ramp(2, 3)], [ramp(4, 3)])
    for shapes in [[(2, 4, 5), (3, 4, 5)], [(2, 4, 5), (3, 7, 6)]]:
        filled = [np.full(shape, np.nan, np.float32) for shape in shapes]
        agree(
            lambda x, d: linalg.set_diag(x, d, k=k),
            *([x, ramp(*linalg.diag_part(x, k=k).shape)] for x in filled),
        )


@pytest.mark.parametrize("align", ALIGNED)
def test_bands(align: str) -> None:
    agree(lambda x: [linalg.diag_part(x, k=k, align=align, padding_value=9.0) for k in BANDS], *TWO)
    agree(lambda x: [linalg.diag_part(x, k=k, align=align) for k in BANDS], *SHAPES)
    agree(
        lambda x: [linalg.diag(x, k=k, align=align, padding_value=9.0) for k in BANDS[1:]],
        [ramp(2, 2, 4)],
        [ramp(3, 2, 6)],
    )
    agree(lambda x: linalg.diag(x, k=BANDS[0], align=align), [ramp(2, 4, 4)], [ramp(3, 4, 4)])
    matrix = np.full((2, 4, 5), -1, np.float32)
    bands = [ramp(*linalg.diag_part(matrix, k=k).shape) for k in BANDS]
    agree(
        lambda x, *d: [linalg.set_diag(x, v, k=k, align=align) for k, v in zip(BANDS, d, strict=True)],
        *[[matrix, *bands]] * 2,
    )


def test_sizes_that_are_given() -> None:
    agree(lambda x: linalg.diag(x, k=-1, num_rows=4, num_cols=5), [ramp(2, 3)], [ramp(4, 3)])
    agree(lambda x: linalg.diag(x, k=(-1, 1), num_rows=4), [ramp(2, 3, 4)], [ramp(4, 3, 4)])
    agree(
        lambda x, n: tf.raw_ops.MatrixDiagV3(diagonal=x, k=0, num_rows=n, num_cols=-1, padding_value=0.0),
        [ramp(2, 3), np.int32(4)],
        [ramp(2, 3), np.int32(3)],
    )


def test_older_versions() -> None:
    agree(
        lambda x: (
            tf.raw_ops.MatrixDiagPart(input=x),
            tf.raw_ops.MatrixDiagPartV2(input=x, k=[0, 1], padding_value=0.0),
        ),
        *TWO,
    )
    agree(
        lambda x: (
            tf.raw_ops.MatrixDiag(diagonal=x),
            tf.raw_ops.MatrixDiagV2(diagonal=x, k=1, num_rows=-1, num_cols=-1, padding_value=2.0),
        ),
        [ramp(2, 3)],
        [ramp(4, 3)],
    )
    agree(
        lambda x, d: (
            tf.raw_ops.MatrixSetDiag(input=x, diagonal=d),
            tf.raw_ops.MatrixSetDiagV2(input=x, diagonal=d, k=0),
        ),
        [ramp(2, 3, 4), -ramp(2, 3)],
        [ramp(1, 3, 4), -ramp(1, 3)],
    )


def test_tensor_diagonals() -> None:
    agree(lambda x: linalg.tensor_diag(x), [ramp(3)], [ramp(5)])
    agree(lambda x: linalg.tensor_diag(x), [ramp(3, 2)], [ramp(5, 2)])
    agree(lambda x: linalg.tensor_diag_part(x), [ramp(3, 3)], [ramp(5, 5)])
    agree(lambda x: linalg.tensor_diag_part(x), [ramp(3, 2, 3, 2)], [ramp(5, 2, 5, 2)])


def test_band_part() -> None:
    bands = [(0, -1), (-1, 0), (1, 2), (-1, -1), (0, 0), (3, 1)]
    values = [np.where(ramp(n, 3, 4) % 2, np.nan, np.inf).astype(np.float32) for n in (1, 3)]
    agree(lambda x: [linalg.band_part(x, *band) for band in bands], *([v] for v in values))
    agree(
        lambda x, low, high: linalg.band_part(x, low, high),
        [ramp(3, 4), np.int32(-1), np.int32(1)],
        [ramp(5, 4), np.int32(2), np.int32(-2)],
    )


def test_eyes() -> None:
    agree(lambda x: (tf.eye(tf.shape(x)[0]), tf.eye(tf.shape(x)[0], 3, batch_shape=[2])), *TWO)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type(dtype: Any) -> None:
    samples = [[ramp(n, 3, 3, dtype=dtype)] for n in (2, 4)]
    agree(lambda x: (linalg.diag_part(x), linalg.diag(x), linalg.set_diag(x, x[:, 1])), *samples)
    if dtype not in (np.int8, np.uint8):
        agree(lambda x: linalg.band_part(x, 1, 0), *samples)
