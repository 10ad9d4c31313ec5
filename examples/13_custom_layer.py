"""A custom layer that is exp: implementations differ in the last bits. Who is nearer to the truth, and by how much?"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import trueport


class Exponential(keras.layers.Layer):
    """What the author wrote, in TensorFlow's own words."""

    def call(self, x: Any) -> Any:
        return tf.math.exp(x)


inputs = keras.Input((None,), name="x")
model = keras.Model(inputs, Exponential(name="y")(inputs))
folder = Path(tempfile.mkdtemp())
x = np.linspace(-80, 88, 20001, dtype=np.float32)[None]
report = trueport.convert_file(model, folder / "exp.onnx", data=[{"x": x}])
print(report)

verified = trueport.verify(model, folder / "exp.onnx", data=[{"x": x}])
(output,) = verified.outputs
print(f"verdict: {output.verdict.value}, {output.why}; the two are up to {output.metrics.max_ulp:.0f} ulp apart")
assert output.verdict.value == "faithful"
assert output.metrics.max_ulp <= 4

truth = np.exp(x.astype(np.float64))
ulp = np.spacing(truth.astype(np.float32)).astype(np.float64)
results = {
    "TensorFlow": model(x).numpy(),
    "ONNX Runtime": trueport.load(folder / "exp.onnx").run({"x": x})["y"],
    "NumPy": np.exp(x),
}
print("distance from the float64 truth, in units of the last place:")
errors = {name: np.abs(found - truth) / ulp for name, found in results.items()}
for name, off in errors.items():
    print(f"  {name:>12}: at most {off.max():.2f}, {off.mean():.2f} on average, {off[x > 80].max():.2f} above x = 80")
    assert off.max() < 4
print(f"nearest to the truth: {min(errors, key=lambda name: errors[name].mean())}")

apart = np.abs(results["TensorFlow"].astype(np.float64) - results["ONNX Runtime"])
print(
    f"it looks big at large inputs: {apart.max():.1e} at x = {x.flat[apart.argmax()]:.1f}, where y is {truth.max():.0e}"
)
