"""The basic path: a channel-first classifier, run in memory, saved, loaded with plain TensorFlow: one result."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf
from networks import digit_classifier, save

import trueport

folder = Path(tempfile.mkdtemp())
result = trueport.convert(save(digit_classifier(), str(folder / "digits.onnx")), to="tensorflow")
image = np.random.default_rng(1).normal(size=(1, 1, 28, 28)).astype(np.float32)

in_memory = result.model(image)["probabilities"]
result.save(folder / "saved_model")
loaded = tf.saved_model.load(str(folder / "saved_model"))
called = loaded(tf.constant(image))["probabilities"]
served = loaded.signatures["serving_default"](image=tf.constant(image))["probabilities"]

np.testing.assert_array_equal(in_memory, called)
np.testing.assert_array_equal(in_memory, served)
assert served.shape == (1, 10)
print(result.report)
print("in memory, loaded and served: equal")
