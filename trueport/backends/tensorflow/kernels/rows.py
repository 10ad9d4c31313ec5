"""Products of rows with a matrix, and sums with a bias, in the forms that TensorFlow fuses."""

from __future__ import annotations

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Tensor

__all__ = ["plus_bias", "rows_times_matrix"]


def rows_times_matrix(a: Tensor, b: Tensor) -> Tensor:
    """One matrix product for all rows: TensorFlow fuses a bias and an activation with it, not with a batched one."""
    rows = tf.matmul(tf.reshape(a, [-1, a.shape[-1] or tf.shape(a)[-1]]), b)
    shape = [*a.shape[:-1], b.shape[-1]]
    if shape.count(None) <= 1 and 0 not in shape:
        return tf.reshape(rows, [-1 if size is None else size for size in shape])
    made = tf.reshape(rows, tf.concat([tf.shape(a)[:-1], tf.shape(b)[-1:]], 0))
    return tf.ensure_shape(made, shape)


def plus_bias(product: Tensor, bias: Tensor) -> Tensor | None:
    """The sum, taken before the product's rows get their shape back, where TensorFlow fuses it.

    None if this is not a product of rows, or not a bias for each of its columns.
    """
    shaped = product.op.inputs[0] if product.op.type == "EnsureShape" else product
    if shaped.op.type != "Reshape" or bias.shape.rank != 1 or not product.dtype.is_floating:
        return None
    rows, shape = shaped.op.inputs
    columns = bias.shape[0]
    if rows.op.type != "MatMul" or columns is None or not columns == rows.shape[-1] == product.shape[-1]:
        return None
    made = tf.reshape(tf.nn.bias_add(rows, bias), shape)
    return made if made.shape.as_list() == product.shape.as_list() else tf.ensure_shape(made, product.shape)
