"""Inputs: the same bytes for the same seed, inside tables, at ties and bounds, at several sizes."""

from __future__ import annotations

import numpy as np

from bench.faults.zoo import ZOO
from trueport.frontends.onnx.load import load_onnx
from trueport.verifying.inputs import hints_of, make_inputs


def test_the_same_seed_gives_the_same_bytes() -> None:
    model = load_onnx(ZOO["masked_attention"]())
    once, again, other = (make_inputs(model, seed=seed) for seed in (4, 4, 5))
    assert all(np.array_equal(a[name], b[name]) for a, b in zip(once, again, strict=True) for name in a)
    assert not all(np.array_equal(a["x"], b["x"]) for a, b in zip(once, other, strict=True))


def test_open_dims_take_several_sizes_and_bounds_are_honoured() -> None:
    model = load_onnx(ZOO["cnn"]())
    assert len({feeds["x"].shape[0] for feeds in make_inputs(model)}) >= 3
    assert {feeds["x"].shape[0] for feeds in make_inputs(model, dims={"N": [2, 4]})} == {2, 4}


def test_indices_stay_inside_their_table() -> None:
    model = load_onnx(ZOO["text"]())
    tokens = np.concatenate([feeds["tokens"].ravel() for feeds in make_inputs(model)])
    assert tokens.min() >= 0
    assert 2 < tokens.max() < 10


def test_a_quantized_input_comes_at_its_ties() -> None:
    model = load_onnx(ZOO["quantized_cnn"]())
    hints = hints_of(model.graph.inputs[0])
    assert np.allclose(np.array(hints.boundaries) / 0.03 % 1, 0.5)
    values = np.concatenate([feeds["x"].ravel() for feeds in make_inputs(model)])
    assert np.isin(np.float32(hints.boundaries[0]), values)
