"""The script of a reproducer: it needs NumPy, the runtimes of the two parts, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trueport.ir.artifact import InnerValue

__all__ = ["script"]

_SCRIPT = '''"""{what}

Ends with 0 if the target departs from the float64 truth by more than rounding explains, and the source does not.{note}
"""

import numpy as np
{imports}
names = {names}
stored, expected = np.load("inputs.npz"), np.load("expected.npz")
inputs = {{name: stored[f"arr_{{i}}"] for i, name in enumerate(names)}}
inputs = {{name: a.astype(object) if a.dtype.kind == "U" else a for name, a in inputs.items()}}
{source}
# What the target calls them, in its order of axes.
given = {given}
{target}
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
_IMPORTS: Mapping[str, str] = {
    "onnxruntime": "import onnxruntime",
    "tensorflow": "import tensorflow as tf",
    "tflite": """\
try:
    import tensorflow as tf
    Interpreter = tf.lite.Interpreter
except ImportError:
    from ai_edge_litert.interpreter import Interpreter""",
}
_RUNS: Mapping[str, str] = {
    "onnxruntime": """\
session = onnxruntime.InferenceSession("{part}.onnx", providers=["CPUExecutionProvider"])
{part} = session.run(None, {{i.name: {inputs}[i.name] for i in session.get_inputs()}})[0]""",
    "tensorflow": """\
loaded = tf.saved_model.load("{part}")
{part} = loaded.part(*(tf.constant({inputs}[name]) for name in sorted({inputs}))).numpy()""",
    "tflite": """\
interpreter = Interpreter("{part}.tflite")
for i in interpreter.get_input_details():
    interpreter.resize_tensor_input(i["index"], {inputs}[i["name"]].shape)
interpreter.allocate_tensors()
for i in interpreter.get_input_details():
    interpreter.set_tensor(i["index"], {inputs}[i["name"]])
interpreter.invoke()
{part} = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])""",
}


def script(
    what: str,
    runtimes: tuple[str, str],
    names: Sequence[str],
    border: tuple[Mapping[str, InnerValue], InnerValue],
    *,
    shows: bool,
) -> str:
    """``names``: all inputs in their order; ``border``: what the target's part makes of them, and of its result."""
    taken, made = border
    given = ", ".join(f"{value.tensor!r}: {_turned(name, value)}" for name, value in taken.items())
    target = _RUNS[runtimes[1]].format(part="target", inputs="given")
    if made.perm:
        target += f"\ntarget = np.transpose(target, np.argsort({made.perm!r}))"
    return _SCRIPT.format(
        what=what.replace("\\", "/").replace('"""', "'''"),
        note="" if shows else "\nBy itself this part does not show the fault: it takes more of the model.",
        imports="\n".join(dict.fromkeys(_IMPORTS[runtime] for runtime in runtimes)) + "\n",
        names=list(names),
        source=_RUNS[runtimes[0]].format(part="source", inputs="inputs"),
        given=f"{{{given}}}",
        target=target,
    )


def _turned(name: str, value: InnerValue) -> str:
    plain = f"inputs[{name!r}]"
    return f"np.ascontiguousarray(np.transpose({plain}, {value.perm!r}))" if value.perm else plain
