"""A SavedModel with signatures: a wrong name is answered with the right ones; shapes, opset, run, validated."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import tensorflow as tf

import trueport


class Ranker(tf.Module):
    """Scores of items for a user, and a plain similarity."""

    def __init__(self) -> None:
        super().__init__()
        generator = np.random.default_rng(3)
        self.table = tf.Variable(generator.normal(size=(50, 8)).astype(np.float32), name="table")

    @tf.function(input_signature=[tf.TensorSpec([None, 8], name="user"), tf.TensorSpec([None], tf.int32, name="items")])
    def rank(self, user: Any, items: Any) -> dict[str, Any]:
        scores = tf.matmul(user, tf.gather(self.table, items), transpose_b=True)
        return {"scores": scores, "best": tf.argmax(scores, axis=1)}

    @tf.function(input_signature=[tf.TensorSpec([None, 8], name="left"), tf.TensorSpec([None, 8], name="right")])
    def similarity(self, left: Any, right: Any) -> dict[str, Any]:
        return {"cosine": tf.reduce_sum(tf.nn.l2_normalize(left, 1) * tf.nn.l2_normalize(right, 1), axis=1)}


folder = Path(tempfile.mkdtemp())
module = Ranker()
tf.saved_model.save(module, str(folder / "ranker"), {"rank": module.rank, "similarity": module.similarity})

try:
    trueport.convert_file(folder / "ranker", folder / "ranker.onnx", signature="serving_default")
    sys.exit("it should have been refused")
except trueport.InvalidModel as error:
    print(error)
    assert "rank, similarity" in str(error)
    assert not (folder / "ranker.onnx").exists()

report = trueport.convert_file(
    folder / "ranker", folder / "ranker.onnx", signature="rank", shapes={"user": [1, 8]}, opset=17
)
print(report)
assert report.verdict is not None
assert report.verdict.value == "faithful"

model = onnx.load(folder / "ranker.onnx")
assert model.opset_import[0].version == 17
assert [value.name for value in model.graph.input] == ["user", "items"]

user = np.random.default_rng(4).normal(size=(1, 8)).astype(np.float32)
items = np.array([3, 14, 15, 9, 26], np.int32)
found = trueport.load(folder / "ranker.onnx").run({"user": user, "items": items})
original = module.rank(user, items)
np.testing.assert_array_equal(found["best"], original["best"])
np.testing.assert_allclose(found["scores"], original["scores"], rtol=1e-5)
print(f"best of {items.tolist()}: {items[found['best'][0]]}, as in TensorFlow")
