"""Compare many functions in one conversion with the framework's own results, at extreme values.

The float64 reference is the framework's own kernel for doubles on the same numbers. An element is right if it equals
the source's or the rounded reference (NaN and infinities included), or if it is finite and at most ``ulps`` units in
the last place, or ``SLACK`` times the source's own distance, away from the reference. Where a PyTorch source overflows
and the reference does not, nothing is compared.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

import trueport

__all__ = ["EXTREMES", "PAIRS", "ROWS", "Functions", "differences", "groups", "torch_outputs", "wrong_in_torch"]

Functions = Mapping[str, Callable[..., Any]]
SLACK = 8.0
_SIZES = (
    *(0.0, 1e-40, 1e-30, 1e-20, 1e-8, 1e-4, 0.1, 0.5, 0.999999, 1.0, 1.5, 2.0, 3.3, 7.0, 15.9, 20.0, 20.1, 50.0, 70.0),
    *(104.0, 500.0, 1e4, 1e10, 1e19, 1e20, 1e30, 3e38, np.inf),
)
EXTREMES = np.array([*(sign * size for size in _SIZES for sign in (1, -1)), np.nan], np.float32)
PAIRS = tuple(part.ravel().copy() for part in np.meshgrid(EXTREMES, EXTREMES))
_DRAWN = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
_INF, _NAN = np.inf, np.nan
ROWS: Mapping[str, np.ndarray] = {
    "1e30": _DRAWN * np.float32(1e30),
    "1e-30": _DRAWN * np.float32(1e-30),
    "1e20": _DRAWN * np.float32(1e20),
    "200": _DRAWN * 200,
    "offset": _DRAWN + np.float32(1e4),
    "zeros": np.zeros((4, 6), np.float32),
    "infinities": np.array(
        [[_INF] * 6, [-_INF, 1, 2, 3, 4, 5], [_INF, _INF, 1, 2, 3, 4], [-_INF, _INF, 0, 0, 0, 0]], np.float32
    ),
    "nan": np.array(
        [[1, _NAN, 3, 0, 3, -2], [_INF, 0, 0, 0, 1, 2], [-_INF] * 6, [_NAN, _INF, -_INF, 1, 2, 5]], np.float32
    ),
}
_TINY = {"float16": 6.2e-5, "bfloat16": 1.2e-38, "float32": 1.2e-38, "float64": 2.3e-308}


def groups(functions: Functions, size: int = 10) -> list[dict[str, Callable[..., Any]]]:
    """Functions in parts that are converted together."""
    items = list(functions.items())
    return [dict(items[start : start + size]) for start in range(0, len(items), size)]


def differences(
    found: np.ndarray,
    source: np.ndarray,
    reference: np.ndarray,
    *,
    ulps: float = 16,
    against: np.ndarray | float = 0.0,
    compared: np.ndarray | None = None,
    kind: Any = None,
    forgive_overflow: bool = True,
) -> list[str]:
    """Describe the elements that are wrong: position, result, source, reference.

    ``against``: magnitude that errors are relative to beside the reference's own. ``compared``: a mask, None for all.
    ``kind``: the element type that the arrays were computed in, None for their own.
    ``forgive_overflow``: whether anything is right where only the source is not finite.
    """
    if found.dtype != source.dtype or found.shape != source.shape:
        return [f"got {found.dtype}{found.shape}, expected {source.dtype}{source.shape}"]
    if source.dtype.kind != "f":
        right = found == source
    else:
        wide = reference.astype(np.float64)
        right = _is_right(found, source, wide, ulps, against, np.dtype(source.dtype if kind is None else kind))
        if forgive_overflow:
            right |= ~np.isfinite(source) & np.isfinite(wide.astype(source.dtype))
    if compared is not None and compared.shape == right.shape:
        right = right | ~compared
    return [f"[{i}] {found.flat[i]!r}, {source.flat[i]!r}, {reference.flat[i]!r}" for i in np.flatnonzero(~right)]


def _is_right(
    found: np.ndarray, source: np.ndarray, wide: np.ndarray, ulps: float, against: Any, kind: np.dtype
) -> np.ndarray:
    with np.errstate(all="ignore"):
        tiny = _TINY[kind.name]
        size = np.where(np.isfinite(wide), np.abs(wide), 0) + np.where(np.isfinite(against), np.abs(against), 0)
        noise = np.abs(source.astype(np.float64) - wide)
        allowed = ulps * float(ml_dtypes.finfo(kind).eps) * np.maximum(size, tiny)
        # Runtimes may flush denormal results to zero.
        allowed = allowed + SLACK * np.where(np.isfinite(noise), noise, 0) + tiny
        rounded = wide.astype(kind).astype(source.dtype)
        same = (found == source) | (found == rounded) | (np.isnan(found) & (np.isnan(source) | np.isnan(rounded)))
        return np.asarray(same | (np.isfinite(found) & (np.abs(found.astype(np.float64) - wide) <= allowed)))


def torch_outputs(functions: Functions, samples: Sequence[Sequence[Any]], to: str) -> list[dict[str, np.ndarray]]:
    """Outputs per sample of an artifact that was converted once, saved and loaded again."""
    import torch

    from trueport.frontends.torch.source.call import as_array

    class Many(torch.nn.Module):
        def forward(self, *values: Any) -> tuple[Any, ...]:
            return tuple(function(*values) for function in functions.values())

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("model.onnx" if to == "onnx" else "saved")
        trueport.convert(Many().eval(), to=to, example_inputs=tuple(samples[0]), verify=False).save(path)
        model = trueport.load(path)
        runs = []
        for sample in samples:
            feeds = {port.name: as_array(value) for port, value in zip(model.inputs, sample, strict=True)}
            runs.append(dict(zip(functions, model.run(feeds).values(), strict=True)))
    return runs


def wrong_in_torch(
    functions: Functions, samples: Mapping[str, Sequence[Any]], to: str, *, against: Mapping[str, str] | None = None
) -> dict[str, list[str]]:
    """Per function and sample what is wrong in the converted artifact; what is right is left out.

    ``against`` says for a function whether its errors are relative to ``one`` or to the ``input`` as well.
    """
    import torch

    found = {}
    runs = torch_outputs(functions, list(samples.values()), to)
    for (label, sample), made in zip(samples.items(), runs, strict=True):
        wide = [value.double() if value.dtype.is_floating_point else value for value in sample]
        # TensorFlow's kernels count denormal operands as zero.
        normal = np.ones(sample[0].shape, bool)
        for value in sample:
            size = np.abs(value.numpy()) if to == "tensorflow" and value.dtype == torch.float32 else np.zeros(1)
            normal = normal & ~((size > 0) & (size < _TINY["float32"]))
        for name, function in functions.items():
            with torch.no_grad():
                source, reference = function(*sample).numpy(), function(*wide).numpy()
            scale = {"one": 1.0, "input": sample[0].numpy()}.get((against or {}).get(name, ""), 0.0)
            wrong = differences(made[name], source, reference, against=scale, compared=normal)
            if wrong:
                found[f"{name} {label}"] = wrong[:4]
    return found
