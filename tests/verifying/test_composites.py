"""Ragged, sparse and listed inputs whose parts fit each other: TensorFlow itself is asked whether they do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trueport
from trueport.fidelity import Verdict
from trueport.ir.ports import Port
from trueport.verifying.inputs.plan import make_inputs

tf: Any = pytest.importorskip("tensorflow")


def ports(**shapes: tuple[str, tuple[int | None, ...]]) -> list[Port]:
    return [Port(name, "tensor", dtype, shape, (name,)) for name, (dtype, shape) in shapes.items()]


def test_ragged_parts_fit() -> None:
    made = make_inputs(ports(x__values=("FLOAT", (None, 4)), x__row_splits=("INT64", (None,))))
    for feeds in made:
        ragged = tf.RaggedTensor.from_row_splits(feeds["x__values"], feeds["x__row_splits"], validate=True)
        assert ragged.shape[-1] == 4
    assert len({len(feeds["x__row_splits"]) for feeds in made}) == 3
    assert len({feeds["x__values"].shape[0] for feeds in made}) > 2


def test_nested_ragged_parts_fit() -> None:
    parts = ports(x__part0=("INT64", (None,)), x__part1=("INT64", (None,)), x__part2=("INT64", (None,)))
    for feeds in make_inputs(parts):
        splits = [feeds["x__part1"], feeds["x__part2"]]
        assert tf.RaggedTensor.from_nested_row_splits(feeds["x__part0"], splits, validate=True).ragged_rank == 2


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_sparse_parts_fit(rank: int) -> None:
    parts = ports(x__indices=("INT64", (None, rank)), x__values=("FLOAT", (None,)), x__dense_shape=("INT64", (rank,)))
    for feeds in make_inputs(parts):
        sparse = tf.SparseTensor(feeds["x__indices"], feeds["x__values"], feeds["x__dense_shape"])
        ordered = tf.sparse.reorder(sparse)
        np.testing.assert_array_equal(ordered.indices, sparse.indices)
        assert tf.sparse.to_dense(sparse, validate_indices=True).shape.rank == rank


def test_the_batch_of_other_inputs_is_theirs_too() -> None:
    parts = ports(y=("FLOAT", (None, 2)), x__values=("FLOAT", (None,)), x__row_splits=("INT64", (None,)))
    for feeds in make_inputs(parts, accepts=lambda _: True):
        assert len(feeds["x__row_splits"]) == feeds["y"].shape[0] + 1


@pytest.fixture(scope="module")
def functions() -> dict[str, Any]:
    table = tf.constant(np.random.default_rng(0).normal(size=(10, 3)).astype(np.float32))

    @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.int64)])
    def tokens(x: Any) -> dict[str, Any]:
        return {"y": tf.reduce_sum(tf.gather(table, x), axis=1)}

    @tf.function(input_signature=[tf.SparseTensorSpec([None, 10], tf.float32)])
    def product(x: Any) -> dict[str, Any]:
        return {"y": tf.sparse.sparse_dense_matmul(x, table)}

    return {"ragged tokens": tokens, "sparse product": product}


@pytest.mark.parametrize("name", ["ragged tokens", "sparse product"])
def test_functions_of_such_inputs_are_verified(name: str, functions: dict[str, Any], tmp_path: Path) -> None:
    found = trueport.convert(functions[name], "onnx")
    assert found.report.verdict == Verdict.FAITHFUL
    assert found.report.comparison is not None
    # One more for rows of the table that the three did not reach.
    assert found.report.comparison.samples == (4 if name == "ragged tokens" else 3)
    found.save(tmp_path / "m.onnx")
    again = trueport.verify(functions[name], tmp_path / "m.onnx")
    assert (again.verdict, again.rejected) == (Verdict.FAITHFUL, 0)
    assert again.samples >= 12
