"""Graph surgery: one node is swapped for the user's TensorFlow code, the rest converts as before."""

from __future__ import annotations

import types

import numpy as np
import tensorflow as tf
from networks import digit_classifier

import trueport
from trueport import maps, surgery


@maps("SharpSoftmax", domain="com.acme")
def sharp_softmax(t, X, *, temperature):
    """Softmax at a temperature."""
    return tf.nn.softmax(X / temperature, axis=1)


my_ops = types.ModuleType(__name__)
my_ops.sharp_softmax = sharp_softmax

model = surgery.open(digit_classifier())
surgery.replace(model, "softmax", op="SharpSoftmax", domain="com.acme", temperature=0.5)
replaced = trueport.convert(model, ops=[my_ops], verify=False)
print(replaced.report)
assert replaced.report.users_operators == {"com.acme::SharpSoftmax": __name__}

images = np.random.default_rng(4).normal(size=(3, 1, 28, 28)).astype(np.float32)
logits_only = surgery.cut(surgery.open(digit_classifier()), outputs=["logits"])
logits = trueport.convert(logits_only).model(images)["logits"]
np.testing.assert_array_equal(replaced.model(images)["probabilities"], tf.nn.softmax(logits / 0.5, axis=1))
print("the replaced node runs the user's code; the rest is as before")
