"""Sparse tensors whose indices come in any order, each once; rows without a value; no value at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tests.cells import grid
from tests.frontends.harness import agree
from tests.frontends.test_sparse import sparse

_OPERATORS: Mapping[str, Callable[[Any], Any]] = {
    "softmax": tf.sparse.softmax,
    "reorder": tf.sparse.reorder,
    "transpose": tf.sparse.transpose,
    "concat": lambda x: tf.sparse.concat(0, [x, x]),
    "sum": lambda x: tf.sparse.reduce_sum(x, -1),
    "sparse sum": lambda x: tf.sparse.reduce_sum(x, 0, output_is_sparse=True),
    "max": lambda x: tf.sparse.reduce_max(x, 0),
    "sparse max": lambda x: tf.sparse.reduce_max(x, -1, output_is_sparse=True),
}
_SHAPES = {"matrices": ((2, 7), (3, 5), (11, 4)), "three axes": ((2, 3, 5), (5, 2, 3), (3, 4, 7))}
_COUNTS = (0, 1, 7, 12)


def _parts(shape: tuple[int, ...], count: int, order: str) -> list[Any]:
    drawn = np.random.default_rng([*shape, count])
    chosen = drawn.choice(int(np.prod(shape)), size=count, replace=False)
    chosen = {"ascending": np.sort(chosen), "descending": np.sort(chosen)[::-1], "drawn": chosen}[order]
    indices = np.stack(np.unravel_index(chosen, shape), axis=-1).astype(np.int64)
    return [indices, drawn.normal(size=count).astype(np.float32) * 3, np.array(shape, np.int64)]


@grid(
    {
        f"{name}, {rank}, {order}": (name, rank, order)
        for name in _OPERATORS
        for rank in _SHAPES
        for order in ("ascending", "descending", "drawn")
    },
    quick=4,
)
def test_indices_in_any_order(cell: tuple[str, str, str]) -> None:
    name, rank, order = cell
    agree(sparse(_OPERATORS[name]), *(_parts(shape, n, order) for n in _COUNTS for shape in _SHAPES[rank]))
