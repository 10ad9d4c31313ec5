"""Elements chosen by their value: the largest, the non-zero, the distinct, the boxes that stand out."""

from __future__ import annotations

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.context import Tensor, Translation
from trueport.backends.tensorflow.ordering import key_columns, order_key, sorted_order
from trueport.backends.tensorflow.shapes import dim
from trueport.fidelity import BITWISE, ulps
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("ArgMax", fidelity=BITWISE, audited=13)
def arg_max(t: Translation, data: Tensor, *, axis: int, keepdims: int, select_last_index: int) -> Tensor:
    return _arg(tf.argmax, tf.reduce_max, data, axis, keepdims, select_last_index)


@maps("ArgMin", fidelity=BITWISE, audited=13)
def arg_min(t: Translation, data: Tensor, *, axis: int, keepdims: int, select_last_index: int) -> Tensor:
    return _arg(tf.argmin, tf.reduce_min, data, axis, keepdims, select_last_index)


def _arg(arg: Tensor, extreme: Tensor, data: Tensor, axis: int, keepdims: int, last: int) -> Tensor:
    if last:
        data = tf.reverse(data, [axis])
    if data.dtype.is_floating:
        # The first NaN counts as the extreme; TensorFlow's own search passes over it.
        hit = (data == extreme(data, axis, keepdims=True)) | tf.math.is_nan(data)
        found = tf.argmax(hit, axis, output_type=tf.int64)
    else:
        found = arg(data, axis, output_type=tf.int64)
    if last:
        found = tf.cast(dim(data, axis), tf.int64) - 1 - found
    return tf.expand_dims(found, axis) if keepdims else found


@maps(
    "TopK",
    fidelity=BITWISE,
    audited=24,
    static=("K",),
    ignores={"sorted": "0 leaves the order open; the sorted one is among those allowed"},
)
def top_k(t: Translation, X: Tensor, K: Tensor, *, axis: int, largest: int) -> tuple[Tensor, Tensor]:
    count = tf.cast(tf.reshape(K, []), tf.int32)
    rank = X.shape.rank
    if rank is None:
        raise t.fail("the rank of its data is not known")
    to_last = [at for at in range(rank) if at != axis % rank] + [axis % rank]
    moved = axis % rank != rank - 1
    data = tf.transpose(X, to_last) if moved else X
    keys = order_key(data)
    _, indices = tf.math.top_k(keys if largest else tf.bitwise.invert(keys), count, index_type=tf.int64)
    values = tf.gather(data, indices, batch_dims=rank - 1, axis=rank - 1)
    if not moved:
        return values, indices
    back = [to_last.index(at) for at in range(rank)]
    return tf.transpose(values, back), tf.transpose(indices, back)


@maps("NonZero", fidelity=BITWISE, audited=13)
def non_zero(t: Translation, X: Tensor) -> Tensor:
    found = _is_set(X)
    if X.shape.rank == 0:
        # A scalar has no coordinates; TensorFlow's Where takes none.
        return tf.zeros(tf.stack([0, tf.cast(found, tf.int32)]), tf.int64)
    return tf.transpose(tf.where(found))


def _is_set(X: Tensor) -> Tensor:
    if X.dtype == tf.bool:
        return X
    if X.dtype == tf.string:
        return X != ""
    # By the bits where it has a sign of zero: a denormal is not zero, but comparisons flush it.
    if X.dtype.is_complex:
        return (order_key(tf.math.real(X)) != 0) | (order_key(tf.math.imag(X)) != 0)
    keys = order_key(X)
    return keys != tf.zeros([], keys.dtype)


@maps("Compress", fidelity=BITWISE, audited=28, static=("condition",))
def compress(t: Translation, input: Tensor, condition: Tensor, *, axis: int | None) -> Tensor:
    chosen = tf.where(condition)[:, 0]
    return tf.gather(tf.reshape(input, [-1]), chosen) if axis is None else tf.gather(input, chosen, axis=axis)


@maps("Unique", fidelity=BITWISE, audited=28)
def unique(t: Translation, X: Tensor, *, axis: int | None, sorted: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    items = tf.reshape(X, [-1]) if axis is None else _swapped(X, axis)
    rows = key_columns(items)
    order = sorted_order(rows)
    ranked = tf.gather(rows, order)
    fresh = tf.reduce_any(ranked[1:] != ranked[:-1], 1)
    fresh = tf.concat([tf.ones_like(order[:1], tf.bool), fresh], 0)
    # Equal items stand in their own order, so the first of each run is the first occurrence.
    firsts = tf.boolean_mask(order, fresh)
    runs = tf.cumsum(tf.cast(fresh, tf.int64)) - 1
    inverse = tf.scatter_nd(order[:, tf.newaxis], runs, tf.shape(order))
    if not sorted:
        by_occurrence = tf.argsort(firsts)
        firsts = tf.gather(firsts, by_occurrence)
        inverse = tf.gather(tf.cast(tf.argsort(by_occurrence), tf.int64), inverse)
    counts = tf.math.unsorted_segment_sum(tf.ones_like(inverse), inverse, tf.size(firsts))
    kept = tf.gather(items, firsts)
    return kept if axis is None else _swapped(kept, axis), tf.cast(firsts, tf.int64), inverse, counts


def _swapped(tensor: Tensor, axis: int) -> Tensor:
    """The tensor with this axis and the first exchanged."""
    order = list(range(tensor.shape.rank))
    order[0], order[axis] = order[axis], order[0]
    return tf.transpose(tensor, order)


@maps("OneHot", fidelity=BITWISE, audited=28, static=("depth", "values"))
def one_hot(t: Translation, indices: Tensor, depth: Tensor, values: Tensor, *, axis: int) -> Tensor:
    if axis < -1 and indices.shape.rank is None:
        raise t.fail("the rank of its indices is not known")
    place = axis if axis >= -1 else axis + indices.shape.rank + 1
    classes = tf.cast(tf.reshape(depth, []), tf.int64)
    at = tf.cast(indices, tf.int64)
    at = tf.where(at < 0, at + classes, at)
    return tf.one_hot(at, tf.cast(classes, tf.int32), values[1], values[0], place, values.dtype)


@maps(
    "NonMaxSuppression",
    error=ulps(0),
    audited=11,
    static=("max_output_boxes_per_class", "iou_threshold", "score_threshold"),
)
def non_max_suppression(
    t: Translation,
    boxes: Tensor,
    scores: Tensor,
    max_output_boxes_per_class: Tensor | None,
    iou_threshold: Tensor | None,
    score_threshold: Tensor | None,
    *,
    center_point_box: int,
) -> Tensor:
    if max_output_boxes_per_class is None:
        return tf.zeros([0, 3], tf.int64)
    most = tf.reshape(max_output_boxes_per_class, [])
    most = tf.cast(tf.clip_by_value(most, 0, tf.cast(dim(boxes, 1), tf.int64)), tf.int32)
    overlap = tf.constant(0.0) if iou_threshold is None else tf.reshape(iou_threshold, [])
    least = tf.constant(float("-inf")) if score_threshold is None else tf.reshape(score_threshold, [])
    corners = _corners(boxes) if center_point_box else boxes
    classes = tf.shape(scores)[1]

    def select(at: Tensor, found: Tensor) -> tuple[Tensor, Tensor]:
        batch, label = at // classes, at % classes
        chosen = tf.image.non_max_suppression(corners[batch], scores[batch, label], most, overlap, least)
        row = tf.stack([tf.fill(tf.shape(chosen), batch), tf.fill(tf.shape(chosen), label), chosen], 1)
        return at + 1, found.write(at, tf.cast(row, tf.int64))

    count = tf.shape(scores)[0] * classes
    found = tf.TensorArray(tf.int64, count, infer_shape=False, element_shape=[None, 3])
    _, found = tf.while_loop(lambda at, _: at < count, select, (0, found))
    return tf.ensure_shape(found.concat(), [None, 3])


def _corners(boxes: Tensor) -> Tensor:
    centers, sizes = boxes[..., :2], boxes[..., 2:]
    return tf.concat([centers - sizes / 2, centers + sizes / 2], -1)
