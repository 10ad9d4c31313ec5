"""Many functions of one input in one conversion: each output compared with the framework's own, at values that bite.

The float64 reference is the framework's own kernel for doubles on the same numbers. An element is right if it has the class
of the source's (NaN, an infinity of that sign, or finite) and its distance from the reference is at most ``ulps`` units in the last place of
the reference, or ``slack`` times the source's own distance.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import trueport

__all__ = ["EXTREMES", "PAIRS", "differences", "torch_differences", "torch_outputs"]

EXTREMES = np.array(
    [
        0.0, -0.0, 1e-40, -1e-40, 1e-30, -1e-30, 1e-20, -3e-20, 1e-8, -1e-8, 1e-4, -1e-4, 0.1, -0.1, 0.5, -0.5, 0.999999, -0.999999,
        1.0, -1.0, 1.5, -1.5, 2.0, -2.0, 3.3, -3.3, 7.0, -7.0, 15.9, -15.9, 20.0, -20.0, 20.1, -20.1, 50.0, -50.0, 88.0, -88.0, 90.0, -90.0,
        104.0, -104.0, 500.0, -500.0, 1e4, -1e4, 1e10, -1e10, 1e19, -1e19, 1e20, -1e20, 1e30, -1e30, 3e38, -3e38, np.inf, -np.inf, np.nan,
    ],
    np.float32,
)  # fmt: skip
PAIRS = tuple(part.ravel().copy() for part in np.meshgrid(EXTREMES, EXTREMES))
_TINY = {np.dtype(np.float32): 1.2e-38, np.dtype(np.float64): 2.3e-308, np.dtype(np.float16): 6.2e-5}


def differences(
    found: np.ndarray,
    source: np.ndarray,
    reference: np.ndarray,
    *,
    ulps: float = 8,
    slack: float = 8,
    against: np.ndarray | float = 0.0,
    flushed: bool = False,
) -> list[tuple[int, Any, Any, Any]]:
    """Positions at which a result is wrong: flat position, result, source, reference.

    ``against`` is added to the magnitude whose last place counts. ``flushed``: denormal results may be zero.
    """
    assert found.dtype == source.dtype, f"dtype {found.dtype}, expected {source.dtype}"
    assert found.shape == source.shape, f"shape {found.shape}, expected {source.shape}"
    if source.dtype.kind not in "f":
        return [(int(i), found.flat[i], source.flat[i], reference.flat[i]) for i in np.flatnonzero(found != source)]
    kind = source.dtype
    with np.errstate(all="ignore"):
        wide = reference.astype(np.float64)
        size = np.abs(wide) + against
        tiny = _TINY[kind]
        unit = np.where(size > tiny, size, tiny) * float(np.finfo(kind).eps)
        unit = np.where(np.isfinite(unit), unit, 0)
        noise = np.abs(source.astype(np.float64) - wide)
        error = np.abs(found.astype(np.float64) - wide)
        allowed = ulps * unit + slack * np.where(np.isfinite(noise), noise, 0) + (tiny if flushed else 0)
        rounded = wide.astype(kind)
        same = (np.isnan(found) & np.isnan(source)) | (found == source)
        same |= (np.isnan(found) & np.isnan(rounded)) | (found == rounded)
        right = same | (np.isfinite(found) & (error <= allowed))
    return [(int(i), found.flat[i], source.flat[i], wide.flat[i]) for i in np.flatnonzero(~right)]


def torch_outputs(
    functions: Mapping[str, Callable[..., Any]], inputs: Sequence[Any], to: str
) -> tuple[dict[str, np.ndarray], Any]:
    """The outputs of all functions in a converted artifact that was saved and loaded again, and the report."""
    import torch

    class Many(torch.nn.Module):
        def forward(self, *values: Any) -> tuple[Any, ...]:
            return tuple(function(*values) for function in functions.values())

    with tempfile.TemporaryDirectory() as folder:
        result = trueport.convert(Many().eval(), to=to, example_inputs=tuple(inputs), verify=False)
        path = Path(folder) / ("model.onnx" if to == "onnx" else "saved")
        result.save(path)
        model = trueport.load(path)
        feeds = {port.name: value.numpy() for port, value in zip(model.inputs, inputs, strict=True)}
        made = list(model.run(feeds).values())
    return dict(zip(functions, made, strict=True)), result.report


def torch_differences(
    functions: Mapping[str, Callable[..., Any]], inputs: Sequence[Any], to: str, **options: Any
) -> dict[str, list[tuple[int, Any, Any, Any]]]:
    """Per function what is wrong in the converted artifact; functions that are right are left out."""
    import torch

    made, _ = torch_outputs(functions, inputs, to)
    wide = [value.double() if value.dtype.is_floating_point else value for value in inputs]
    found = {}
    with torch.no_grad():
        for name, function in functions.items():
            source, reference = function(*inputs).numpy(), function(*wide).numpy()
            try:
                wrong = differences(made[name], source, reference, flushed=to != "onnx", **options)
            except AssertionError as error:
                wrong = [(-1, str(error), None, None)]
            if wrong:
                found[name] = wrong
    return found
