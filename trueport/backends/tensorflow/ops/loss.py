"""Losses over classes."""

from __future__ import annotations

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.mapping.declare import maps
from trueport.mapping.needs import known_rank

__all__: list[str] = []


@maps("NegativeLogLikelihoodLoss", needs=[known_rank(0)], audited=22)
def negative_log_likelihood_loss(
    t: Emission, input: Tensor, target: Tensor, weight: Tensor | None, *, ignore_index: int | None, reduction: str
) -> Tensor:
    return _nll(_classes_last(t, input), target, weight, ignore_index, reduction)


@maps("SoftmaxCrossEntropyLoss", needs=[known_rank(0)], audited=13)
def softmax_cross_entropy_loss(
    t: Emission, scores: Tensor, labels: Tensor, weights: Tensor | None, *, ignore_index: int | None, reduction: str
) -> list[Tensor]:
    last = _classes_last(t, scores)
    wide = tf.cast(last, tf.float64 if last.dtype == tf.float64 else tf.float32)
    log_prob = tf.cast(tf.nn.log_softmax(wide), scores.dtype)
    loss = _nll(log_prob, labels, weights, ignore_index, reduction)
    rank = scores.shape.rank
    return [loss, tf.transpose(log_prob, [0, rank - 1, *range(1, rank - 1)]) if rank > 2 else log_prob]


def _classes_last(t: Emission, x: Tensor) -> Tensor:
    rank = t.rank(x)
    return tf.transpose(x, [0, *range(2, rank), 1]) if rank > 2 else x


def _nll(log_prob: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int | None, reduction: str) -> Tensor:
    dtype = log_prob.dtype
    counted = None if ignore_index is None else tf.not_equal(target, tf.cast(ignore_index, target.dtype))
    target = target if counted is None else tf.where(counted, target, tf.zeros_like(target))
    loss = -tf.gather(log_prob, target, batch_dims=target.shape.rank, axis=-1)
    shares = None if weight is None else tf.gather(weight, target)
    loss = loss if shares is None else loss * shares
    if counted is not None:
        shares = tf.where(counted, tf.ones_like(loss) if shares is None else shares, tf.zeros([], dtype))
        loss = tf.where(counted, loss, tf.zeros([], dtype))
    if reduction == "none":
        return loss
    wide = tf.float64 if dtype == tf.float64 else tf.float32
    total = tf.reduce_sum(tf.cast(loss, wide))
    if reduction == "mean":
        count = tf.cast(tf.size(loss), wide) if shares is None else tf.reduce_sum(tf.cast(shares, wide))
        total = total / count
    return tf.cast(total, dtype)
