"""Models that write variables: the truth sees what they write, and comparing them leaves them as they were."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

import trueport
from trueport.fidelity import Verdict


class Moving(tf.Module):  # type: ignore[misc]
    """Its result hangs on what it writes while it runs."""

    def __init__(self) -> None:
        self.mean = tf.Variable([1.0, 2.0, 3.0])
        self.count = tf.Variable(0.0)

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, name="x")])  # type: ignore[untyped-decorator]
    def __call__(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        self.count.assign_add(1.0)
        self.mean.assign(self.mean * 0.5 + tf.reduce_mean(x, 0))
        return {"y": x * self.mean + self.count}


def test_what_a_run_writes_is_seen_by_the_truth_and_then_undone() -> None:
    model = Moving()
    report = trueport.convert(model, to="onnx").report
    assert report.verdict == Verdict.FAITHFUL, str(report)
    assert "keep no state" in str(report)
    assert model.count.numpy() == 0.0
    assert np.array_equal(model.mean.numpy(), [1, 2, 3])


def test_a_target_that_misses_a_write_departs() -> None:
    model = Moving()

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, name="x")])  # type: ignore[untyped-decorator]
    def forgetful(x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": x * model.mean + 1.0}

    found = trueport.verify(model, trueport.convert(forgetful, to="onnx", verify=False).model)
    assert found.verdict == Verdict.DEPARTS
