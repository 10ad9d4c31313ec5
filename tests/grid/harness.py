"""One node, any inputs: converted as users get it, compared with a runtime that we did not write.

    check("LeakyRelu", [edge_values(np.float32)], alpha=0.1)

The model has dynamic dims only; the same converted model runs every input set given. Floats are judged by the
declared bound of the operator's mapping, everything else must be equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import ml_dtypes
import numpy as np
import onnx
import onnx.helper as oh
import onnxruntime as ort
import pytest
from onnx.reference import ReferenceEvaluator

from trueport.backend import prepare
from trueport.backends.tensorflow.registry import registry
from trueport.fidelity import BITWISE, ErrorBound, ulps
from trueport.ir.schemas import CANONICAL_OPSETS, history, schema_at
from trueport.runtimes.exact_sums import with_exact_sums
from trueport.versions.onnxruntime import newest_opset
from trueport.versions.opsets import knows_all

Versus = Literal["ort", "reference", "float64"]

ORT_OPSET = newest_opset(ort)
"""The newest opset that the installed ONNX Runtime reads; 26 for 1.31."""

__all__ = ["ORT_OPSET", "Versus", "assert_close", "check", "edge_values", "make_model", "run_ort", "run_reference"]


def edge_values(dtype: Any) -> np.ndarray:
    """The values that bite, for a dtype: signed zeros, ties, denormals, extremes, infinities, NaN."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        small = np.arange(max(info.min, -3), 4).astype(dtype)
        return np.concatenate([small, np.array([info.min, info.min + 1, info.max - 1, info.max], dtype)])
    info = ml_dtypes.finfo(dtype)
    plain = [0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -1.5, -2.5, 3, 0.1, -0.7, 10, -10, 100, 1e-3]
    limits = [float(info.max), float(info.min), float(info.tiny), float(info.smallest_subnormal)]
    return np.array([*plain, *limits, np.inf, -np.inf, np.nan]).astype(dtype)


def make_model(
    op: str,
    input_sets: Sequence[Sequence[np.ndarray | None]],
    outputs: int = 1,
    *,
    domain: str = "",
    opset: int | None = None,
    constants: Sequence[int] = (),
    fixed: Sequence[int] = (),
    **attributes: Any,
) -> onnx.ModelProto:
    """A one-node model; inputs in ``constants`` are initializers, dims of those in ``fixed`` known, others dynamic.

    Skips the test where the installed versions do not know the operator so.
    """
    _skip_unknown(op, domain, opset, attributes)
    first = input_sets[0]
    names = ["" if array is None else f"x{i}" for i, array in enumerate(first)]
    node = oh.make_node(op, names, [f"y{i}" for i in range(outputs)], name="node", domain=domain, **attributes)
    inputs = [
        oh.make_tensor_value_info(
            name,
            oh.np_dtype_to_tensor_dtype(array.dtype),
            array.shape if i in fixed else [f"{name}_d{k}" for k in range(array.ndim)],
        )
        for i, (name, array) in enumerate(zip(names, first, strict=True))
        if array is not None and i not in constants
    ]
    initializers = [onnx.numpy_helper.from_array(first[i], names[i]) for i in constants]
    declared = [onnx.ValueInfoProto(name=f"y{i}") for i in range(outputs)]
    graph = oh.make_graph([node], "grid", inputs, declared, initializers)
    opsets = [oh.make_opsetid("", opset if opset and not domain else ORT_OPSET)]
    if domain:
        opsets.append(oh.make_opsetid(domain, opset or 1))
    model = oh.make_model(graph, opset_imports=opsets, ir_version=10)
    return onnx.shape_inference.infer_shapes(model)


def _skip_unknown(op: str, domain: str, opset: int | None, attributes: Mapping[str, Any]) -> None:
    """Older versions of onnx and ONNX Runtime lack operators, opsets and attributes; those of `make test` lack none."""
    if domain not in CANONICAL_OPSETS:
        return
    wanted = opset or (1 if domain else ORT_OPSET)
    if wanted > CANONICAL_OPSETS[domain]:
        pytest.skip(f"onnx {onnx.__version__} knows no opset {wanted}")
    schema = schema_at(op, domain, wanted)
    if history(op, domain) and schema is None:
        pytest.skip(f"ONNX Runtime {ort.__version__} reads opset {wanted} at most, which has no {op}")
    if schema and set(attributes) - set(schema.attributes) and not knows_all():
        pytest.skip(f"onnx {onnx.__version__} lacks attributes of {op}")


def run_ort(model: onnx.ModelProto, feeds: dict[str, Any]) -> list[Any]:
    """By ONNX Runtime, graph optimizations off, with the exact integer sums that it lacks on some CPUs."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = ort.InferenceSession(
        with_exact_sums(model).SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, feeds)


def run_reference(model: onnx.ModelProto, feeds: dict[str, Any]) -> list[Any]:
    """By ONNX's reference evaluator."""
    with np.errstate(all="ignore"):
        return ReferenceEvaluator(model).run(None, feeds)


def check(
    op: str,
    *input_sets: Sequence[np.ndarray | None],
    outputs: int = 1,
    versus: Versus = "ort",
    terms: int = 1,
    domain: str = "",
    opset: int | None = None,
    constants: Sequence[int] = (),
    fixed: Sequence[int] = (),
    bound: ErrorBound | None = None,
    **attributes: Any,
) -> None:
    """Convert the node once, run every input set, compare with ``versus`` within the declared bound."""
    model = make_model(
        op, input_sets, outputs, domain=domain, opset=opset, constants=constants, fixed=fixed, **attributes
    )
    mapping = registry().find(op, domain)
    if bound is None:
        bound = (
            mapping.error if mapping and mapping.error else ulps(0 if mapping and mapping.fidelity == BITWISE else 1)
        )
    moves_only = mapping is not None and mapping.fidelity == BITWISE
    rep = prepare(model)
    for arrays in input_sets:
        feeds = {f"x{i}": array for i, array in enumerate(arrays) if array is not None and i not in constants}
        got = rep.run(feeds)
        want = _expected(model, feeds, versus)
        assert len(got) == len(want)
        for index, (g, w) in enumerate(zip(got, want, strict=True)):
            assert_close(g, w, bound, terms, f"{op} output {index} for {arrays}", moves_only)


def _expected(model: onnx.ModelProto, feeds: dict[str, Any], versus: Versus) -> list[Any]:
    if versus == "ort":
        return run_ort(model, feeds)
    if versus == "reference":
        return run_reference(model, feeds)
    wide = onnx.ModelProto.FromString(model.SerializeToString())
    for value in [*wide.graph.input, *wide.graph.output]:
        if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
            value.type.tensor_type.elem_type = onnx.TensorProto.DOUBLE
    return run_reference(wide, {k: v.astype(np.float64) if v.dtype == np.float32 else v for k, v in feeds.items()})


def assert_close(
    got: Any, want: Any, bound: ErrorBound, terms: int = 1, label: str = "", keeps_denormals: bool = False
) -> None:
    """Equal for anything but floats; floats within the bound, NaN and inf in the same places.

    TensorFlow's CPU kernels flush denormals to zero; only operators that move data keep them.
    """
    if isinstance(want, list):
        assert len(got) == len(want), label
        for g, w in zip(got, want, strict=True):
            assert_close(g, w, bound, terms, label, keeps_denormals)
        return
    want = np.asarray(want)
    assert got.shape == want.shape, f"{label}: shape {got.shape}, want {want.shape}"
    floating = got.dtype.kind in "fc" or got.dtype in (ml_dtypes.bfloat16,)
    if not floating:
        assert got.dtype == want.dtype, f"{label}: dtype {got.dtype}, want {want.dtype}"
        same = (got == want) | ((got != got) & (want != want))
        assert np.all(same), f"{label}:\n got {got}\nwant {want}"
        return
    info = ml_dtypes.finfo(got.dtype if got.dtype.kind != "c" else got.real.dtype)
    g, w = (a.astype(np.complex128 if a.dtype.kind == "c" else np.float64) for a in (got, want))
    with np.errstate(all="ignore"):
        w_rounded = want.astype(got.dtype).astype(g.dtype)
        finite = np.isfinite(g) & np.isfinite(w_rounded)
        assert np.array_equal(np.isnan(g), np.isnan(w_rounded)), f"{label}: NaN elsewhere\n got {g}\nwant {w}"
        settled = finite | np.isnan(g) | (g == w_rounded)
        assert np.all(settled), f"{label}: infinities differ\n got {g}\nwant {w}"
        scale = np.abs(w[finite])
        if bound.per_term and scale.size:
            scale = np.full_like(scale, scale.max())
        # Half a unit for the rounding of the expected value itself.
        units = bound.allowed(terms) + (0.5 if bound.ulps else 0)
        smallest = float(info.smallest_subnormal) if keeps_denormals else float(info.tiny)
        allowed = units * scale * float(info.eps) + (0 if keeps_denormals and not units else smallest)
        error = np.abs(g[finite] - w[finite])
        worst = np.max(np.where(error == 0, 0, error / allowed), initial=0)
    assert worst <= 1, f"{label}: {worst:.3g} × the bound ({bound})\n got {g}\nwant {w}"
