"""Every operator that can be read has a float64 reference, which agrees with ONNX's suite or with ONNX Runtime."""

from __future__ import annotations

import functools
import importlib.util
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest

from tests.conformance.single_nodes import SINGLE_NODES
from tests.conformance.suite import cases, data_of, model_of
from tests.grid.contrib import with_outputs_like
from tests.grid.harness import make_model, run_ort
from tests.reference.microsoft_nodes import NODES
from trueport.errors import NoOracle
from trueport.fidelity import Verdict
from trueport.frontends.onnx.load import load_onnx
from trueport.ir.schemas import canonical_schema, operators
from trueport.mapping.registry import RECORDS
from trueport.operators.table import OPERATORS
from trueport.reference.base import Truth
from trueport.reference.onnx.oracle import OnnxOracle
from trueport.verifying.judge.output import judge

MS, ML = "com.microsoft", "ai.onnx.ml"
WITHOUT = {
    ("", "ImageDecoder"): "ONNX's reference decodes with Pillow, which is not required",
    ("ai.onnx.preview.training", "Gradient"): "the derivative of other nodes, which one node by itself does not know",
}
"""Operators without a reference, and why."""
CALLED_BY_ANOTHER_NAME = {"SimplifiedLayerNormalization", "LayerNormalization"}
"""ONNX Runtime has these in ONNX's domain."""


def every_operator() -> list[tuple[str, str]]:
    standard = {key for key in operators() if (schema := canonical_schema(key[1], key[0])) and not schema.deprecated}
    return sorted(standard | {key for key in OPERATORS if key[0] == MS})


@functools.cache
def suite_cases() -> Mapping[tuple[str, str], list[str]]:
    """Names of small cases by each operator in them, smallest models first."""
    found: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for name, case in cases().items():
        if case.kind in ("node", "simple"):
            nodes = model_of(case).graph.node
            for node in nodes:
                found.setdefault((node.domain, node.op_type), []).append((len(nodes), name))
    return {key: [name for _, name in sorted(listed)] for key, listed in found.items()}


def instances(domain: str, op: str) -> Iterator[tuple[onnx.ModelProto, list[Any]]]:
    for name in suite_cases().get((domain, op), [])[:4]:
        model = model_of(cases()[name])
        yield model, next(iter(data_of(cases()[name], model)))[0]
    if example := SINGLE_NODES.get(f"{domain}::{op}" if domain else op):
        made = example()
        yield made.model, made.inputs
    if op == "SequenceEmpty":
        text = "g () => (int64 n) { s = SequenceEmpty () n = SequenceLength (s) }"
        yield onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 22]> {text}'), []


def reference(model: onnx.ModelProto, inputs: list[Any]) -> Truth:
    oracle = OnnxOracle(load_onnx(model), RECORDS)
    held = {tensor.name for tensor in model.graph.initializer}
    names = [value.name for value in model.graph.input if value.name not in held]
    return oracle.run(dict(zip(names, inputs, strict=False)))


def has_reference(domain: str, op: str) -> bool:
    for model, inputs in instances(domain, op):
        try:
            reference(model, inputs)
        except NoOracle:
            continue
        return True
    return False


@pytest.mark.parametrize(("domain", "op"), [key for key in every_operator() if key[0] != MS])
def test_every_operator_of_onnx_has_a_reference(domain: str, op: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if (domain, op) in WITHOUT:
            if op == "ImageDecoder" and importlib.util.find_spec("PIL"):
                pytest.skip("Pillow is installed")
            assert not has_reference(domain, op), "it has one by now: take it off the list"
        else:
            assert has_reference(domain, op)


def contrib_model(op: str) -> tuple[onnx.ModelProto, dict[str, Any], list[np.ndarray]]:
    node = NODES[op]
    own = op in CALLED_BY_ANOTHER_NAME
    model = make_model(
        op, [node.inputs], node.outputs, domain="" if own else MS, opset=16 if own else None, constants=node.constants
    )
    names = [f"y{index}" for index in range(node.outputs)]
    model.graph.node[0].output[:] = names
    del model.graph.output[:]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    model.graph.node[0].attribute.extend(oh.make_attribute(name, value) for name, value in node.attributes.items())
    fed = [index for index, array in enumerate(node.inputs) if array is not None and index not in node.constants]
    feeds = {f"x{index}": node.inputs[index] for index in fed}
    want = run_ort(model, feeds)
    return with_outputs_like(model, want), feeds, want


def test_the_table_has_every_operator_of_onnx_runtimes_own() -> None:
    assert {op for domain, op in every_operator() if domain == MS} == set(NODES)


@pytest.mark.parametrize("op", NODES)
def test_every_operator_of_onnx_runtimes_own_agrees_with_it(op: str) -> None:
    model, feeds, want = contrib_model(op)
    truth, noisy = OnnxOracle(load_onnx(model), RECORDS).run(feeds)
    for name, have in zip(truth, want, strict=True):
        exact = np.asarray(truth[name])
        if have.dtype.kind in "iub":
            np.testing.assert_array_equal(exact, have)
        else:
            found = judge(name, [exact.astype(have.dtype)], have, exact, [run[name] for run in noisy])
            assert found.verdict == Verdict.FAITHFUL, found


def ml_model(text: str) -> onnx.ModelProto:
    head = '<ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 3]> g '
    return onnx.parser.parse_model(head + text)


def test_integers_are_scaled_as_floats() -> None:
    """ONNX's reference computes in the input's type, and cuts off."""
    model = ml_model(
        "(int64[N,2] x) => (float[N,2] y) { y = ai.onnx.ml.Scaler <offset=[0.3,-2.0], scale=[1.7,3.0]>(x) }"
    )
    x = np.array([[1, 2], [-3, 0]])
    truth, _ = reference(model, [x])
    np.testing.assert_allclose(truth["y"], run_ort(model, {"x": x})[0], rtol=1e-6)


def test_of_equal_keys_the_first_counts() -> None:
    model = ml_model(
        """(int64[N] x) => (int64[N] y)
        { y = ai.onnx.ml.LabelEncoder <keys_int64s=[3,5,3], values_int64s=[7,8,9], default_int64=-1>(x) }"""
    )
    x = np.array([3, 5, 4])
    truth, _ = reference(model, [x])
    np.testing.assert_array_equal(truth["y"], run_ort(model, {"x": x})[0])


def test_a_signal_of_rank_2_is_transformed() -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["" : 21]> g (float[2,20] x) => (float[a,b,c,d] y)
        <int64 step = {3}, int64 length = {8}> { y = STFT (x, step, , length) }"""
    )
    x = np.random.default_rng(0).normal(size=(2, 20)).astype(np.float32)
    truth, _ = reference(model, [x])
    np.testing.assert_allclose(truth["y"], run_ort(model, {"x": x})[0], atol=1e-5)


def test_erf_is_not_rounded_to_float32() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (float[N] y) { y = Erf (x) }'
    )
    truth, _ = reference(model, [np.linspace(-3, 3, 50).astype(np.float32)])
    assert np.any(truth["y"] != truth["y"].astype(np.float32))


def test_bits_are_those_of_the_declared_type() -> None:
    model = model_of(cases()["test_bitcast_float32_to_int32"])
    x = np.array([1.5, -2.0, 3.25], np.float32)
    truth, _ = reference(model, [x])
    np.testing.assert_array_equal(next(iter(truth.values())), x.view(np.int32))
