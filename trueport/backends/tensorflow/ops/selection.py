"""Elements chosen by their value: the largest, the non-zero, the distinct, the boxes that stand out."""

from __future__ import annotations

import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.axes import from_front, to_front
from trueport.backends.tensorflow.kernels.loops import Collected
from trueport.backends.tensorflow.kernels.ordering import key_columns, order_key, sorted_order
from trueport.backends.tensorflow.kernels.sizes import size_of
from trueport.fidelity import BITWISE
from trueport.mapping.declare import maps
from trueport.mapping.needs import known_rank

__all__: list[str] = []


@maps("ArgMax", fidelity=BITWISE, audited=13)
def arg_max(t: Emission, data: Tensor, *, axis: int, keepdims: int, select_last_index: int) -> Tensor:
    return _arg(tf.argmax, tf.reduce_max, data, axis, keepdims, select_last_index)


@maps("ArgMin", fidelity=BITWISE, audited=13)
def arg_min(t: Emission, data: Tensor, *, axis: int, keepdims: int, select_last_index: int) -> Tensor:
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
        found = tf.cast(size_of(data, axis, tf.int64), tf.int64) - 1 - found
    return tf.expand_dims(found, axis) if keepdims else found


@maps(
    "TopK",
    fidelity=BITWISE,
    audited=24,
    ignores={"sorted": "0 leaves the order open; the sorted one is among those allowed"},
)
def top_k(t: Emission, X: Tensor, K: Tensor, *, axis: int, largest: int) -> tuple[Tensor, Tensor]:
    count = tf.cast(tf.reshape(K, []), tf.int32)
    if X.shape.rank is None:
        return _top_of_any_rank(X, count, axis, largest)
    rank = X.shape.rank
    to_last = [at for at in range(rank) if at != axis % rank] + [axis % rank]
    moved = axis % rank != rank - 1
    data = tf.transpose(X, to_last) if moved else X
    indices = _top_indices(data, count, largest)
    values = tf.gather(data, indices, batch_dims=rank - 1, axis=rank - 1)
    if not moved:
        return values, indices
    back = [to_last.index(at) for at in range(rank)]
    return tf.transpose(values, back), tf.transpose(indices, back)


def _top_indices(data: Tensor, count: Tensor, largest: int) -> Tensor:
    keys = order_key(data)
    _, indices = tf.math.top_k(keys if largest else tf.bitwise.invert(keys), count, index_type=tf.int64)
    return indices


def _top_of_any_rank(X: Tensor, count: Tensor, axis: int, largest: int) -> tuple[Tensor, Tensor]:
    """The same where the rank is known only at run time: over rows that all other axes are joined to."""
    front = to_front(X, axis)
    shape = tf.shape(front)
    rows = tf.transpose(tf.reshape(front, tf.stack([shape[0], tf.reduce_prod(shape[1:])])))
    indices = _top_indices(rows, count, largest)
    made = tf.concat([[count], shape[1:]], 0)
    values, indices = (
        from_front(tf.reshape(tf.transpose(part), made), axis)
        for part in (tf.gather(rows, indices, batch_dims=1, axis=1), indices)
    )
    return values, indices


@maps("NonZero", fidelity=BITWISE, audited=13)
def non_zero(t: Emission, X: Tensor) -> Tensor:
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


@maps("Compress", fidelity=BITWISE, audited=28)
def compress(t: Emission, input: Tensor, condition: Tensor, *, axis: int | None) -> Tensor:
    data, along = (tf.reshape(input, [-1]), 0) if axis is None else (input, axis)
    # What the condition says behind the last element counts for nothing.
    return tf.gather(data, tf.where(condition[: size_of(data, along)])[:, 0], axis=along)


@maps("Unique", needs=[known_rank(0, when=lambda node: "axis" in node.attributes)], fidelity=BITWISE, audited=28)
def unique(t: Emission, X: Tensor, *, axis: int | None, sorted: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    items = tf.reshape(X, [-1]) if axis is None else _swapped(X, axis, t.rank(X))
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
    return kept if axis is None else _swapped(kept, axis, t.rank(X)), tf.cast(firsts, tf.int64), inverse, counts


def _swapped(tensor: Tensor, axis: int, rank: int) -> Tensor:
    """The tensor with this axis and the first exchanged."""
    order = list(range(rank))
    order[0], order[axis] = order[axis], order[0]
    return tf.transpose(tensor, order)


def _counts_from_end(node: ir.Node) -> bool:
    return node.attributes.get_int("axis", -1) < -1


@maps("OneHot", needs=[known_rank(0, of="its indices", when=_counts_from_end)], fidelity=BITWISE, audited=28)
def one_hot(t: Emission, indices: Tensor, depth: Tensor, values: Tensor, *, axis: int) -> Tensor:
    place = axis if axis >= -1 else axis + t.rank(indices, of="its indices") + 1
    classes = tf.cast(tf.reshape(depth, []), tf.int64)
    at = tf.cast(indices, tf.int64)
    at = tf.where(at < 0, at + classes, at)
    return tf.one_hot(at, tf.cast(classes, tf.int32), values[1], values[0], place, values.dtype)


@maps("NonMaxSuppression", audited=11)
def non_max_suppression(
    t: Emission,
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
    most, known = _most(t, max_output_boxes_per_class, size_of(boxes, 1, tf.int64))
    overlap = tf.constant(0.0) if iou_threshold is None else tf.reshape(iou_threshold, [])
    least = tf.constant(float("-inf")) if score_threshold is None else tf.reshape(score_threshold, [])
    corners = _corners(boxes) if center_point_box else boxes
    classes = tf.cast(size_of(scores, 1, tf.int64), tf.int64)

    def select(at: Tensor) -> tuple[Tensor, Tensor]:
        """The boxes kept of one class, filled up to the most there can be, and their number."""
        batch, label = at // classes, at % classes
        kept, count = tf.raw_ops.NonMaxSuppressionV4(
            boxes=corners[batch],
            scores=scores[batch, label],
            max_output_size=most,
            iou_threshold=overlap,
            score_threshold=least,
            pad_to_max_output_size=True,
        )
        return kept, count

    pairs = tf.range(tf.cast(size_of(scores, 0, tf.int64), tf.int64) * classes)
    parts = [Collected(tf.int32, tf.TensorShape(shape), tf.size(pairs)) for shape in ([known], [])]
    _, made = tf.while_loop(
        lambda at, _: at < tf.size(pairs),
        lambda at, made: (at + 1, [p.add(m, at, x) for p, m, x in zip(parts, made, select(pairs[at]), strict=True)]),
        (0, [part.start() for part in parts]),
    )
    kept, count = (part.stacked(listing) for part, listing in zip(parts, made, strict=True))
    places = tf.broadcast_to(pairs[:, tf.newaxis], tf.shape(kept))
    rows = tf.stack([places // classes, places % classes, tf.cast(kept, tf.int64)], 2)
    return tf.gather_nd(rows, tf.where(tf.range(tf.shape(kept)[1]) < count[:, tf.newaxis]))


def _most(t: Emission, limit: Tensor, boxes: int | Tensor) -> tuple[Tensor, int | None]:
    """How many boxes of one class can be kept, and that number where it is known."""
    asked = t.static(limit)
    if asked is not None and isinstance(boxes, int):
        known = min(max(int(asked.item()), 0), boxes)
        return tf.constant(known), known
    count = tf.clip_by_value(tf.reshape(limit, []), 0, tf.cast(boxes, tf.int64))
    return tf.cast(count, tf.int32), None


def _corners(boxes: Tensor) -> Tensor:
    centers, sizes = boxes[..., :2], boxes[..., 2:]
    return tf.concat([centers - sizes / 2, centers + sizes / 2], -1)
