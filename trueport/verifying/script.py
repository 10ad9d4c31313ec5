"""The script of a reproducer: it needs NumPy, ONNX Runtime, the target's runtime, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["script"]

_SCRIPT = '''"""{what}

Ends with 0 if the target departs from the float64 truth by more than rounding explains, and the source does not.{note}
"""

import numpy as np
import onnxruntime
{imports}
names = {names}
stored, expected = np.load("inputs.npz"), np.load("expected.npz")
inputs = {{name: stored[f"arr_{{i}}"] for i, name in enumerate(names)}}
inputs = {{name: a.astype(object) if a.dtype.kind == "U" else a for name, a in inputs.items()}}
session = onnxruntime.InferenceSession("source.onnx", providers=["CPUExecutionProvider"])
source = session.run(None, {{i.name: inputs[i.name] for i in session.get_inputs()}})[0]
{run}
truth, allowed = expected["truth"], expected["allowed"]


def departs(value):
    if value.shape != source.shape or (value.dtype != source.dtype and value.dtype.kind not in "OUS"):
        return True
    if value.dtype.kind not in "fciu":
        return bool(np.any(value.astype(truth.dtype) != truth))
    near = np.abs(value.astype(np.complex128 if value.dtype.kind == "c" else np.float64) - truth) <= allowed
    return not np.all(near | (value == truth) | ((value != value) & (truth != truth)))


for what, value in (("truth ", truth), ("source", source), ("target", target)):
    print(what, value.dtype, list(value.shape), value.ravel()[:5])
print("source departs:", departs(source), " target departs:", departs(target))
raise SystemExit(0 if departs(target) and not departs(source) else 1)
'''
_RUNS: Mapping[str, tuple[str, str]] = {
    "onnxruntime": (
        "",
        'other = onnxruntime.InferenceSession("target.onnx", providers=["CPUExecutionProvider"])\n'
        "target = other.run(None, {{i.name: inputs[i.name] for i in other.get_inputs()}})[0]",
    ),
    "tensorflow": (
        "import tensorflow as tf\n",
        'loaded = tf.saved_model.load("target")\n'
        "target = loaded.part(*(tf.constant(inputs[name]) for name in {fed})).numpy()",
    ),
}


def script(what: str, runtime: str, names: Sequence[str], fed: Sequence[str], *, shows: bool) -> str:
    """``names``: all inputs in their order, ``fed``: those of the target's part."""
    imports, run = _RUNS[runtime]
    note = "" if shows else "\nBy itself this part does not show the fault: it takes more of the model."
    plain = what.replace("\\", "/").replace('"""', "'''")
    return _SCRIPT.format(what=plain, note=note, imports=imports, names=list(names), run=run.format(fed=list(fed)))
