"""Blocks of space exchanged for channels."""

from __future__ import annotations

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.shapes import of_rank
from trueport.backends.tensorflow.kernels.sizes import sizes_of
from trueport.fidelity import BITWISE
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("DepthToSpace", fidelity=BITWISE, audited=28, channels_last=True)
def depth_to_space(t: Emission, input: Tensor, *, blocksize: int, mode: str) -> Tensor:
    b = blocksize
    if t.channels_last:
        if mode == "DCR" and b > 1:
            return tf.nn.depth_to_space(input, b)
        n, h, w, c = sizes_of(of_rank(input, 4), out_type=tf.int64)
        split = [n, h, w, b, b, c // b**2] if mode == "DCR" else [n, h, w, c // b**2, b, b]
        perm = [0, 1, 3, 2, 4, 5] if mode == "DCR" else [0, 1, 4, 2, 5, 3]
        return tf.reshape(tf.transpose(tf.reshape(input, split), perm), [n, h * b, w * b, c // b**2])
    n, c, h, w = sizes_of(of_rank(input, 4), out_type=tf.int64)
    split = [n, b, b, c // b**2, h, w] if mode == "DCR" else [n, c // b**2, b, b, h, w]
    perm = [0, 3, 4, 1, 5, 2] if mode == "DCR" else [0, 1, 4, 2, 5, 3]
    return tf.reshape(tf.transpose(tf.reshape(input, split), perm), [n, c // b**2, h * b, w * b])


@maps("SpaceToDepth", fidelity=BITWISE, audited=28, channels_last=True)
def space_to_depth(t: Emission, input: Tensor, *, blocksize: int, mode: str) -> Tensor:
    b = blocksize
    if t.channels_last:
        if mode == "DCR" and b > 1:
            return tf.nn.space_to_depth(input, b)
        n, h, w, c = sizes_of(of_rank(input, 4), out_type=tf.int64)
        perm = [0, 1, 3, 2, 4, 5] if mode == "DCR" else [0, 1, 3, 5, 2, 4]
        blocks = tf.reshape(input, [n, h // b, b, w // b, b, c])
        return tf.reshape(tf.transpose(blocks, perm), [n, h // b, w // b, c * b**2])
    n, c, h, w = sizes_of(of_rank(input, 4), out_type=tf.int64)
    perm = [0, 3, 5, 1, 2, 4] if mode == "DCR" else [0, 1, 3, 5, 2, 4]
    blocks = tf.reshape(input, [n, c, h // b, b, w // b, b])
    return tf.reshape(tf.transpose(blocks, perm), [n, c * b**2, h // b, w // b])


@maps("ReverseSequence", fidelity=BITWISE, audited=28)
def reverse_sequence(t: Emission, input: Tensor, sequence_lens: Tensor, *, batch_axis: int, time_axis: int) -> Tensor:
    return tf.reverse_sequence(input, sequence_lens, seq_axis=time_axis, batch_axis=batch_axis)
