"""One case of every operator as users get it: saved, and run by plain TensorFlow in a fresh process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import tensorflow as tf
from tensorflow.core.framework.tensor_pb2 import TensorProto

from tests.conformance import suite
from tests.conformance.known import CANNOT_PASS, RANDOM
from trueport.ir.ports import Port, pack, unpack
from trueport.ir.schemas import operators
from trueport.pipeline import convert

CHUNKS = 12
RUNNER = Path(__file__).with_name("plain_runner.py")


def one_case_per_operator() -> dict[str, str]:
    """The operator's case whose model is smallest."""
    found: dict[str, tuple[int, str]] = {}
    for name, case in suite.cases().items():
        if name in CANNOT_PASS or case.kind == "real":
            continue
        model = suite.model_of(case)
        size = len(model.graph.node) * 100_000 + len(name)
        for operator in suite.operators(model):
            found[operator] = min(found.get(operator, (size, name)), (size, name))
    return {operator: name for operator, (_, name) in sorted(found.items())}


CASES = one_case_per_operator()
NAMES = sorted(set(CASES.values()))


WITHOUT_A_CASE = """
    GlobalLpPool MaxRoiPool Multinomial Optional RandomNormal RandomNormalLike RandomUniform
    ai.onnx.ml::CastMap ai.onnx.ml::CategoryMapper ai.onnx.ml::DictVectorizer ai.onnx.ml::FeatureVectorizer
    ai.onnx.ml::Imputer ai.onnx.ml::LinearClassifier ai.onnx.ml::LinearRegressor ai.onnx.ml::Normalizer
    ai.onnx.ml::OneHotEncoder ai.onnx.ml::SVMClassifier ai.onnx.ml::SVMRegressor ai.onnx.ml::Scaler
    ai.onnx.ml::TreeEnsembleClassifier ai.onnx.ml::TreeEnsembleRegressor ai.onnx.ml::ZipMap
"""
"""Operators for which the suite has no test; the grid tests them against ONNX Runtime."""


def test_every_operator_of_the_suite_is_covered() -> None:
    named = {f"{domain}::{op}" if domain else op for domain, op in operators()}
    assert named - set(CASES) == set(WITHOUT_A_CASE.split())


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_saved_and_run_in_a_fresh_process(chunk: int, tmp_path: Path) -> None:
    names = NAMES[chunk::CHUNKS]
    expected = {name: _save(name, tmp_path / name) for name in names}
    done = subprocess.run(
        [sys.executable, str(RUNNER), str(tmp_path)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": ""},
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for name, (outputs, wanted) in expected.items():
        got = [_read(port, tmp_path / name) for port in outputs]
        if name in RANDOM:
            assert [(g.shape, g.dtype) for g in got] == [(w.shape, w.dtype) for w in wanted]
        else:
            suite.compare(suite.cases()[name], wanted, got)


def _save(name: str, folder: Path) -> tuple[tuple[Port, ...], list[Any]]:
    case = suite.cases()[name]
    model = suite.model_of(case)
    inputs, expected = next(iter(suite.data_of(case, model)))
    conversion = convert(model, verify=False)
    folder.mkdir()
    conversion.save(folder / "model")
    for port, value in zip(conversion.built.inputs, inputs, strict=True):
        for part, array in pack(port, value).items():
            tensor = tf.constant(array, tf.string if array.dtype == object else None)
            folder.joinpath(f"in.{quote(part, safe='')}").write_bytes(tf.io.serialize_tensor(tensor).numpy())
    return conversion.built.outputs, expected


def _read(port: Port, folder: Path) -> Any:
    parts = {}
    for part in port.parts:
        content = folder.joinpath(f"out.{quote(part, safe='')}").read_bytes()
        dtype = tf.as_dtype(TensorProto.FromString(content).dtype)
        parts[part] = tf.io.parse_tensor(content, dtype).numpy()
    return unpack(port, parts)
