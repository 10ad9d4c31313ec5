"""Compare many TensorFlow functions, converted to ONNX at once, with TensorFlow's own results at extreme values.

Each file runs in ONNX Runtime with its optimizer on and off. Allowed is what the declarations of a function's operators
add up to, relative to the result and to whatever else they name.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import onnxruntime as ort
import tensorflow as tf

from tests.families.numbers import Functions, differences
from trueport.fidelity import AGAINST_DATA, AGAINST_INPUT, AGAINST_ONE, AGAINST_TERMS, BITWISE, Against, ulps
from trueport.frontends.tensorflow.registry import registry
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.pipeline import convert_file

__all__ = ["DTYPES", "Judge", "elementwise", "has_kernels", "representable"]

DTYPES = ("float16", "bfloat16", "float32", "float64")
_LEVELS = {
    "optimized": ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
    "as written": ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
}
_BOTH_SIDES = 2
"""Each of the two runtimes may be off by the bound."""
_NO_KERNEL = (tf.errors.NotFoundError, tf.errors.InvalidArgumentError, AttributeError)


def elementwise(function: Callable[[Any], Any], limits: tuple[float, float]) -> Callable[[np.ndarray], np.ndarray]:
    """A function of mpmath with 40 digits, for each element; ``limits`` are its values at -inf and inf."""

    def at(x: float) -> float:
        if not np.isfinite(x):
            return np.nan if np.isnan(x) else limits[int(x > 0)]
        with mpmath.workdps(40):
            return float(mpmath.re(function(mpmath.mpf(x))))

    return lambda values: np.array([at(float(x)) for x in values])


def representable(values: np.ndarray, dtype: str) -> np.ndarray:
    """Numbers as a type holds them: those beyond its range become its largest, infinities stay."""
    kind = tf.as_dtype(dtype)
    with np.errstate(all="ignore"):
        bounded = np.where(np.isinf(values), values, np.clip(values, float(kind.min), float(kind.max)))
        return np.asarray(bounded.astype(kind.as_numpy_dtype))


def has_kernels(function: Callable[..., Any], dtype: str, shapes: Sequence[tuple[int, ...]]) -> bool:
    """True if TensorFlow runs a function in a type."""
    try:
        function(*(tf.ones(shape, dtype) for shape in shapes))
    except _NO_KERNEL:
        return False
    return True


@dataclass(frozen=True)
class Judge:
    """What TensorFlow's results are not enough for."""

    against: Mapping[str, Against] = field(default_factory=dict)
    """what the errors of functions of several operators are relative to, where these cancel"""
    references: Mapping[str, Callable[..., np.ndarray]] = field(default_factory=dict)
    """in float64, where TensorFlow's kernels for doubles are wrong themselves"""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """samples that a function is not compared for"""

    def wrong(
        self, functions: Functions, samples: Mapping[str, Sequence[np.ndarray]], dtype: str
    ) -> dict[str, list[str]]:
        """Per function, sample and optimization level what is wrong; what is right is left out."""
        given = {name: [representable(value, dtype) for value in sample] for name, sample in samples.items()}
        first = next(iter(given.values()))
        able = {name: f for name, f in functions.items() if has_kernels(f, dtype, [value.shape for value in first])}
        bounds = {name: _declared(function, dtype, first) for name, function in able.items()}
        found: dict[str, list[str]] = {}
        for level, sample, made in _runs(able, given, dtype):
            for name in able:
                if self.left_out.get(name) == sample:
                    continue
                total, against = bounds[name]
                against = against | {self.against[name]} if name in self.against else against
                lines = self._lines(name, able[name], made[name], given[sample], (total, against))
                if lines:
                    found[f"{name}, {sample}, {level}"] = lines[:4]
        return found

    def _lines(
        self,
        name: str,
        function: Callable[..., Any],
        found: np.ndarray,
        sample: Sequence[np.ndarray],
        bound: tuple[float, frozenset[Against]],
    ) -> list[str]:
        kind = sample[0].dtype
        wide = [value.astype(np.float64) for value in sample]
        source = function(*(tf.constant(value) for value in sample)).numpy()
        own = self.references.get(name)
        with np.errstate(all="ignore"):
            reference = own(*wide) if own else function(*(tf.constant(value) for value in wide)).numpy()
        # As it was fed: see _runs.
        source = source.astype(np.float32) if source.dtype == kind == tf.bfloat16.as_numpy_dtype else source
        scale = np.full(source.shape, float(AGAINST_ONE in bound[1]))
        if AGAINST_INPUT in bound[1]:
            size = np.abs(np.nan_to_num(wide[0], posinf=0, neginf=0))
            scale = scale + (size if size.shape == source.shape else size.max())
        if {AGAINST_TERMS, AGAINST_DATA} & bound[1] and own is None:
            scale = scale + _moved(function, wide, reference)
        return differences(
            found,
            source,
            reference,
            ulps=bound[0],
            against=scale,
            kind=kind,
            forgive_overflow=False,
        )


def _moved(function: Callable[..., Any], wide: Sequence[np.ndarray], reference: np.ndarray) -> np.ndarray:
    """How far the reference moves per relative change of the inputs: what a sum that cancels is relative to."""
    rng, step = np.random.default_rng(3), 2.0**-30
    farthest = np.zeros(reference.shape)
    with np.errstate(all="ignore"):
        for _ in range(4):
            near = [value * (1 + step * rng.choice([-1.0, 1.0], value.shape)) for value in wide]
            gap = np.abs(function(*(tf.constant(value) for value in near)).numpy() - reference) / step
            farthest = np.maximum(farthest, np.nan_to_num(gap, posinf=0))
    return farthest


def _runs(
    functions: Functions, given: Mapping[str, Sequence[np.ndarray]], dtype: str
) -> Iterator[tuple[str, str, dict[str, np.ndarray]]]:
    """Per optimization level and sample the outputs of a file."""
    # NumPy, and so ONNX Runtime's Python interface, has no bfloat16: it is cast from and to float32, which is exact.
    border = tf.float32 if dtype == "bfloat16" else tf.as_dtype(dtype)
    first = next(iter(given.values()))
    signature = [tf.TensorSpec([None, *value.shape[1:]], border, name=f"x{n}") for n, value in enumerate(first)]

    def many(*values: Any) -> dict[str, Any]:
        inner = [tf.cast(value, dtype) for value in values]
        made = {name: function(*inner) for name, function in functions.items()}
        return {name: tf.cast(value, border) if value.dtype == dtype else value for name, value in made.items()}

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        convert_file(tf.function(many, input_signature=signature), path, verify=False)
        for level, value in _LEVELS.items():
            options = ort.SessionOptions()
            options.graph_optimization_level = value
            session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
            names = [output.name for output in session.get_outputs()]
            for sample, values in given.items():
                feeds = {f"x{n}": array.astype(border.as_numpy_dtype) for n, array in enumerate(values)}
                used = {port.name: feeds[port.name] for port in session.get_inputs()}
                yield level, sample, dict(zip(names, session.run(None, used), strict=True))


def _declared(
    function: Callable[..., Any], dtype: str, sample: Sequence[np.ndarray]
) -> tuple[float, frozenset[Against]]:
    """The declared bounds of a function's operators in ulps, and what they are relative to."""
    signature = [tf.TensorSpec([None, *value.shape[1:]], dtype) for value in sample]
    graph = tf.function(function, input_signature=signature).get_concrete_function().graph
    total, against = 0.0, set()
    for operation in graph.get_operations():
        mapping = registry().find(operation.type, TF)
        if mapping is None or mapping.fidelity == BITWISE:
            continue
        bound = mapping.error or ulps(1)
        total += bound.allowed(max(array.size for array in sample)) if bound.per_term else bound.ulps
        against.add(bound.against)
    return _BOTH_SIDES * (total + 1), frozenset(against)
