"""Sigmoids of large negative numbers, magnified: logarithms, roots, reciprocals, shares.

ONNX Runtime's own kernel is accurate to 6e-8 of one, not of the result. The reference is NumPy in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import tensorflow as tf
import torch

import trueport
from tests.cells import grid

_DATA = np.float32([[-85, -40, -17.5], [-15, -10, -12], [-3, 0, 4], [-20, -19.5, -21]])


class _Names:
    """The same functions by the same names in three frameworks."""

    def __init__(self, module: Any, total: Callable[..., Any], **others: Callable[..., Any]) -> None:
        self.log, self.sqrt, self.sign = (
            getattr(module, name, None) or getattr(module.math, name) for name in ("log", "sqrt", "sign")
        )
        self.total = total
        vars(self).update(others)


_NUMPY: Any = _Names(
    np,
    lambda x: x.sum(-1, keepdims=True),
    clip=np.clip,
    mean=lambda x: x.mean(-1),
    largest=lambda x: -np.sort(-x, -1)[..., :2],
    turned=lambda x: x.T.reshape(-1),
    as_bool=lambda x: x.astype(bool),
    join=lambda x: np.concatenate([x, x * 2], -1),
)
_TENSORFLOW: Any = _Names(
    tf,
    lambda x: tf.reduce_sum(x, -1, keepdims=True),
    clip=tf.clip_by_value,
    mean=lambda x: tf.reduce_mean(x, -1),
    largest=lambda x: tf.math.top_k(x, 2)[0],
    turned=lambda x: tf.reshape(tf.transpose(x), [-1]),
    as_bool=lambda x: tf.cast(x, tf.bool),
    join=lambda x: tf.concat([x, x * 2], -1),
)
_TORCH: Any = _Names(
    torch,
    lambda x: x.sum(-1, keepdim=True),
    clip=torch.clamp,
    mean=lambda x: x.mean(-1),
    largest=lambda x: x.topk(2).values,
    turned=lambda x: x.T.reshape(-1),
    as_bool=lambda x: x.to(torch.bool),
    join=lambda x: torch.cat([x, x * 2], -1),
)
_FORMS: dict[str, Callable[[Any, Any], Any]] = {
    "logarithm": lambda m, s: m.log(s),
    "logarithm of clipped": lambda m, s: m.log(m.clip(s, 1e-7, 1.0)),
    "logarithm of a sum with epsilon": lambda m, s: m.log(s + 1e-7),
    "logarithm of the mean": lambda m, s: m.log(m.mean(s)),
    "logarithm of turned": lambda m, s: m.log(m.turned(s)),
    "logarithm of joined": lambda m, s: m.log(m.join(s)),
    "logarithm of a multiple": lambda m, s: m.log(s * 3.0),
    "reciprocal": lambda m, s: 1 / s,
    "divisor": lambda m, s: (s + 1) / s,
    "share": lambda m, s: s / m.total(s),
    "share of the largest": lambda m, s: m.largest(s) / m.total(m.largest(s)),
    "root": lambda m, s: m.sqrt(s),
    "power below one": lambda m, s: s**0.3,
    "sign": lambda m, s: m.sign(s),
    "positive": lambda m, s: s > 0,
    "as bool": lambda m, s: m.as_bool(s),
}
_CELLS = {f"{source}-{name}": (source, name) for source in ("tensorflow", "torch") for name in _FORMS}


class _Module(torch.nn.Module):
    def __init__(self, form: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        self.form = form

    def forward(self, x: torch.Tensor) -> Any:
        return self.form(_TORCH, torch.sigmoid(x))


@grid(_CELLS, quick=4)
def test_small_sigmoids_matter(cell: tuple[str, str], tmp_path: Path) -> None:
    source, name = cell
    form = _FORMS[name]
    model: Any
    options: dict[str, Any] = {}
    if source == "tensorflow":
        model = tf.function(lambda x: form(_TENSORFLOW, tf.sigmoid(x))).get_concrete_function(
            tf.TensorSpec([None, 3], tf.float32, "x")
        )
    else:
        model = _Module(form)
        options = {"example_inputs": (torch.from_numpy(_DATA),)}
    result = trueport.convert(model, to="onnx", verify=False, **options)
    result.save(tmp_path / "model.onnx")
    session = ort.InferenceSession(tmp_path / "model.onnx")
    (found,) = session.run(None, {session.get_inputs()[0].name: _DATA})
    want = np.asarray(form(_NUMPY, 1 / (1 + np.exp(-_DATA.astype(np.float64)))))
    # Four steps of the sigmoid, and of what is made of it.
    np.testing.assert_allclose(found.astype(np.float64), want, rtol=32 * np.finfo(np.float32).eps, atol=0)


def test_gates_stay_sigmoids(tmp_path: Path) -> None:
    """Where small values count for nothing, the operator is kept: it is shorter and faster."""
    model = tf.function(lambda x: (tf.sigmoid(x) * x, tf.sigmoid(x + 1) > 0.5)).get_concrete_function(
        tf.TensorSpec([None, 3], tf.float32, "x")
    )
    trueport.convert(model, to="onnx", verify=False).save(tmp_path / "model.onnx")
    kinds = [node.op_type for node in onnx.load(tmp_path / "model.onnx").graph.node]
    assert kinds.count("Sigmoid") == 2 and "Exp" not in kinds
