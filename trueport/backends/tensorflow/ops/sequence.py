"""Sequences: lists of tensors of one dtype and any shapes."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Listing, Tensor
from trueport.backends.tensorflow.build.dtypes import tf_dtype
from trueport.backends.tensorflow.kernels import lists
from trueport.backends.tensorflow.kernels.axes import from_front, to_front
from trueport.fidelity import BITWISE
from trueport.mapping.declare import maps

__all__: list[str] = []

_MANY = 64
"""Above so many pieces a loop at run time is better than nodes for each."""


@maps("SequenceEmpty", fidelity=BITWISE, audited=11, ignores={"dtype": "it is the output's declared type"})
def sequence_empty(t: Emission) -> Listing:
    return lists.empty(t.output_dtype())


@maps("SequenceConstruct", fidelity=BITWISE, audited=11)
def sequence_construct(t: Emission, *inputs: Tensor) -> Listing:
    return lists.listing_of(inputs, inputs[0].dtype)


@maps("SequenceLength", fidelity=BITWISE, audited=11)
def sequence_length(t: Emission, input_sequence: Listing) -> Tensor:
    return tf.cast(lists.length(input_sequence), tf.int64)


@maps("SequenceAt", fidelity=BITWISE, audited=11)
def sequence_at(t: Emission, input_sequence: Listing, position: Tensor) -> Tensor:
    elements, index = lists.known(input_sequence), t.static(position)
    if elements is not None and index is not None:
        return elements[_checked(t, int(index), len(elements))]
    return lists.get(input_sequence, _counted(input_sequence, position), t.output_dtype())


@maps("SequenceInsert", fidelity=BITWISE, audited=11)
def sequence_insert(t: Emission, input_sequence: Listing, tensor: Tensor, position: Tensor | None) -> Listing:
    if position is None:
        return lists.push(input_sequence, tensor)
    elements, index = lists.known(input_sequence), t.static(position)
    if elements is not None and index is not None:
        elements.insert(_checked(t, int(index), len(elements), ends=1), tensor)
        return lists.listing_of(elements, tensor.dtype)
    at = _counted(input_sequence, position)
    return _with_tail(lists.push(lists.resized(input_sequence, at), tensor), input_sequence, at, tensor.dtype)


@maps("SequenceErase", fidelity=BITWISE, audited=11)
def sequence_erase(t: Emission, input_sequence: Listing, position: Tensor | None) -> Listing:
    position = tf.constant(-1) if position is None else position
    elements, index = lists.known(input_sequence), t.static(position)
    if elements is not None and index is not None:
        del elements[_checked(t, int(index), len(elements))]
        return lists.listing_of(elements, t.output_dtype())
    at = _counted(input_sequence, position)
    return _with_tail(lists.resized(input_sequence, at), input_sequence, at + 1, t.output_dtype())


@maps("ConcatFromSequence", fidelity=BITWISE, audited=11)
def concat_from_sequence(t: Emission, input_sequence: Listing, *, axis: int, new_axis: int) -> Tensor:
    elements, dtype = lists.known(input_sequence), t.output_dtype()
    if elements:
        return tf.stack(elements, axis) if new_axis else tf.concat(elements, axis)
    if new_axis:
        return from_front(lists.stack(input_sequence, dtype), axis)
    if axis:
        input_sequence = lists.mapped(input_sequence, lambda x: to_front(x, axis), dtype)
    return from_front(lists.concat(input_sequence, dtype), axis)


@maps("SplitToSequence", fidelity=BITWISE, audited=24)
def split_to_sequence(t: Emission, input: Tensor, split: Tensor | None, *, axis: int, keepdims: int) -> Listing:
    extent = None if input.shape.rank is None else input.shape[axis]
    sizes = _piece_sizes(extent, None if split is None else t.static(split), split is None)
    if sizes is not None and len(sizes) <= _MANY:
        pieces = tf.split(input, sizes, axis) if sizes else []
        squeezed = pieces if split is not None or keepdims else [tf.squeeze(p, axis) for p in pieces]
        return lists.listing_of(squeezed, input.dtype)
    if split is None:
        rows = to_front(input, axis)
        return lists.from_rows(tf.expand_dims(rows, axis + 1 if axis >= 0 else axis) if keepdims else rows)
    return _split_by_loop(input, tf.cast(split, tf.int32), axis)


@maps("SequenceMap", fidelity=BITWISE, audited=17)
def sequence_map(t: Emission, input_sequence: Listing, *additional_inputs: Any, body: ir.Graph) -> list[Listing]:
    sources = (input_sequence, *additional_inputs)

    def step(i: Tensor, made: list[Listing]) -> list[Listing]:
        arguments = [
            lists.get(source, i, tf_dtype(t.input_type(index))) if isinstance(source, Listing) else source
            for index, source in enumerate(sources)
        ]
        return [lists.push(m, x) for m, x in zip(made, t.run(body, *arguments), strict=True)]

    start = [lists.empty(t.output_dtype(index)) for index in range(len(body.outputs))]
    made: list[Listing] = lists.for_each(lists.length(input_sequence), step, start)
    return made


def _checked(t: Emission, index: int, count: int, ends: int = 0) -> int:
    if not -count <= index < count + ends:
        raise t.fail(f"position {index} lies outside of a sequence of {count}", "correct the position in the model")
    return index + count if index < 0 else index


def _counted(listing: Listing, position: Tensor) -> Tensor:
    """A position counted from the start."""
    index = tf.cast(tf.reshape(position, []), tf.int32)
    return tf.where(index < 0, index + lists.length(listing), index)


def _with_tail(head: Listing, listing: Listing, start: Tensor, dtype: Any) -> Listing:
    """``head`` followed by the elements of ``listing`` from ``start`` on."""
    made: Listing = lists.for_each(
        lists.length(listing) - start,
        lambda i, made: lists.push(made, lists.get(listing, start + i, dtype)),
        head,
    )
    return made


def _piece_sizes(extent: int | None, split: Any, by_ones: bool) -> list[int] | None:
    """The extents of the pieces, where they are known."""
    if split is not None and split.ndim:
        return [int(size) for size in split]
    if extent is None or (split is None and not by_ones):
        return None
    size = 1 if by_ones else int(split)
    return [min(size, extent - at) for at in range(0, extent, size)]


def _split_by_loop(input: Tensor, split: Tensor, axis: int) -> Listing:
    rows = to_front(input, axis)
    extent = tf.shape(rows)[0]
    if split.shape.rank == 0:
        starts = tf.range(0, extent, split)
        ends = tf.minimum(starts + split, extent)
    else:
        ends = tf.cumsum(split)
        starts = ends - split

    def step(i: Tensor, made: Listing) -> Listing:
        return lists.push(made, from_front(rows[starts[i] : ends[i]], axis))

    made: Listing = lists.for_each(tf.size(starts), step, lists.empty(input.dtype))
    return made
