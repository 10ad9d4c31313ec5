"""ONNX's own backend suite as data: each case with its model, inputs and expected outputs."""

from __future__ import annotations

import functools
import glob
import os
import pathlib
import pickle
import tempfile
import warnings
import zlib
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

from trueport.backends.tensorflow.registry import registry
from trueport.fidelity import Verdict
from trueport.frontends.onnx.load import load_onnx
from trueport.reference.base import Truth
from trueport.reference.onnx.oracle import OnnxOracle
from trueport.verifying.judge.output import judge

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "real")
_ONNX_ROOT = os.path.dirname(os.path.dirname(onnx.__file__))


@functools.cache
def cases() -> dict[str, TestCase]:
    """All cases by name, unique over the kinds.

    ONNX builds the node cases anew at each import, which takes seconds: they are kept in a file per installation.
    """
    place = zlib.crc32(_ONNX_ROOT.encode())
    versions = f"{onnx.__version__}-{np.__version__}-{place:x}"
    kept = pathlib.Path(tempfile.gettempdir()) / f"onnx-backend-suite-{versions}-{os.getuid()}.pickle"
    if not kept.exists():
        fresh = kept.with_suffix(f".{os.getpid()}")
        fresh.write_bytes(pickle.dumps(_collect()))
        fresh.replace(kept)
    return pickle.loads(kept.read_bytes())


def _collect() -> dict[str, TestCase]:
    found: dict[str, TestCase] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in KINDS:
            for case in load_model_tests(kind=kind):
                name = case.name if case.name not in found else f"{case.name}[{kind}]"
                found[name] = case
    return found


def model_of(case: TestCase) -> onnx.ModelProto:
    """The case's model, from memory or from its file."""
    if case.model is not None:
        return case.model
    if case.url and case.url.startswith("onnx/backend"):
        return onnx.load(os.path.join(_ONNX_ROOT, case.url))
    return onnx.load(os.path.join(case.model_dir, "model.onnx"))


def data_of(case: TestCase, model: onnx.ModelProto) -> Iterator[tuple[list[Any], list[Any]]]:
    """Pairs of inputs and expected outputs."""
    if case.data_sets is not None:
        for inputs, outputs in case.data_sets:
            yield [_array(item) for item in inputs], [_array(item) for item in outputs]
    elif case.model_dir is None:
        yield _light_data(case, model)
    else:
        for folder in sorted(glob.glob(os.path.join(case.model_dir, "test_data_set*"))):
            yield _read(folder, "input", model.graph.input), _read(folder, "output", model.graph.output)


def _array(item: Any) -> Any:
    return numpy_helper.to_array(item) if isinstance(item, onnx.TensorProto) else item


def _light_data(case: TestCase, model: onnx.ModelProto) -> tuple[list[Any], list[Any]]:
    initializers = {i.name for i in model.graph.initializer}
    inputs = [Runner.generate_dummy_data(i) for i in model.graph.input if i.name not in initializers]
    stem = os.path.splitext(os.path.join(_ONNX_ROOT, case.url))[0]
    outputs = []
    for index in range(len(model.graph.output)):
        with open(f"{stem}_output_{index}.pb", "rb") as file:
            outputs.append(numpy_helper.to_array(onnx.TensorProto.FromString(file.read())))
    return inputs, outputs


def _read(folder: str, stem: str, declared: Any) -> list[Any]:
    values = []
    for index in range(len(glob.glob(os.path.join(folder, f"{stem}_*.pb")))):
        with open(os.path.join(folder, f"{stem}_{index}.pb"), "rb") as file:
            content = file.read()
        kind = declared[index].type.WhichOneof("value")
        if kind == "sequence_type":
            values.append(numpy_helper.to_list(onnx.SequenceProto.FromString(content)))
        elif kind == "optional_type":
            values.append(numpy_helper.to_optional(onnx.OptionalProto.FromString(content)))
        else:
            values.append(numpy_helper.to_array(onnx.TensorProto.FromString(content)))
    return values


def compare(case: TestCase, expected: list[Any], got: list[Any]) -> None:
    """As the suite's own runner compares; lists element by element, for it trips over scalars in them."""
    for want, have in zip(expected, got, strict=True):
        if isinstance(want, list):
            assert isinstance(have, list), f"a list was expected, not {type(have)}"
            compare(case, want, have)
        else:
            _assert_similar(case, want, have)


def _assert_similar(case: TestCase, want: Any, have: Any) -> None:
    try:
        Runner.assert_similar_outputs([want], [have], rtol=case.rtol, atol=case.atol)
    except TypeError:
        # NumPy 1.26 cannot promote the types of ml_dtypes, and onnx 1.22 does not cast them; float32 holds them all.
        assert have.dtype == want.dtype
        rtol = max(case.rtol, 2**-6) if want.dtype == ml_dtypes.bfloat16 else case.rtol
        wide = (array.astype(np.float32) for array in (have, want))
        np.testing.assert_allclose(*wide, rtol=rtol, atol=case.atol)


def check(case: TestCase, model: onnx.ModelProto, inputs: list[Any], expected: list[Any], got: list[Any]) -> None:
    """Compare as the suite does, or, where rounding alone exceeds the suite's tolerance, with the float64 reference."""
    try:
        compare(case, expected, got)
    except AssertionError:
        truth, noisy = _reference(model, inputs)
        if not any(_exceeds(case, expected, run) for run in noisy):
            raise
        for name, have, want in zip(truth, got, expected, strict=True):
            found = judge(
                name, [np.asarray(truth[name]).astype(want.dtype)], have, truth[name], [r[name] for r in noisy]
            )
            assert found.verdict == Verdict.FAITHFUL, found


def _reference(model: onnx.ModelProto, inputs: list[Any]) -> Truth:
    held = {tensor.name for tensor in model.graph.initializer}
    names = [value.name for value in model.graph.input if value.name not in held]
    return OnnxOracle(load_onnx(model), registry()).run(dict(zip(names, inputs, strict=True)))


def _exceeds(case: TestCase, expected: list[Any], run: dict[str, Any]) -> bool:
    """True if a run of the reference with rounding errors misses the suite's tolerance."""
    try:
        compare(case, expected, [np.asarray(v).astype(w.dtype) for v, w in zip(run.values(), expected, strict=True)])
    except AssertionError:
        return True
    return False


def operators(model: onnx.ModelProto) -> set[str]:
    """The operators a model's top-level graph uses."""
    return {f"{n.domain}::{n.op_type}" if n.domain else n.op_type for n in model.graph.node}


__all__ = ["KINDS", "cases", "check", "compare", "data_of", "model_of", "operators"]
