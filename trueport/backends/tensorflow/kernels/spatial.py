"""Windows over spatial axes: sizes, strides, pads and layouts, where any size may be known only at run time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.sizes import Size, sizes_of

__all__ = [
    "Pads",
    "Window",
    "at_least",
    "channels_to_end",
    "channels_to_front",
    "fit_spatial",
    "known",
    "marked",
    "pad_spatial",
    "per_channel",
    "spatial_axes",
    "window_of",
]

Pads = tuple[tuple[Size, Size], ...]


def known(*sizes: Size) -> bool:
    """Whether all sizes are numbers already."""
    return all(isinstance(size, int) for size in sizes)


def at_least(size: Size, least: int) -> Size:
    """The larger of a size and a number."""
    return max(size, least) if known(size) else tf.maximum(size, least)


def channels_to_end(t: Emission, x: Tensor) -> Tensor:
    """Channel-last data of a node that may have channel-first ones."""
    rank = x.shape.rank
    return x if t.channels_last or rank < 3 else tf.transpose(x, [0, *range(2, rank), 1])


def channels_to_front(t: Emission, y: Tensor) -> Tensor:
    """Channel-last data in the layout that the node has."""
    rank = y.shape.rank
    return y if t.channels_last or rank < 3 else tf.transpose(y, [0, rank - 1, *range(1, rank - 1)])


def spatial_axes(t: Emission, x: Tensor) -> list[int]:
    """The axes that are neither batch nor channels, in the layout that the node has."""
    rank = t.rank(x)
    return list(range(1, rank - 1)) if t.channels_last else list(range(2, rank))


def per_channel(t: Emission, vector: Tensor, rank: int) -> Tensor:
    """A vector over channels, shaped to be broadcast over data of a rank in the layout that the node has."""
    return vector if t.channels_last or rank < 3 else tf.reshape(vector, [-1] + [1] * (rank - 2))


@dataclass(frozen=True)
class Window:
    """How a kernel moves over the spatial axes."""

    kernel: tuple[Size, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: Pads
    same: bool = False
    """the pads are those that TensorFlow calls SAME"""

    @property
    def rank(self) -> int:
        return len(self.kernel)

    @property
    def dilated(self) -> bool:
        return any(d != 1 for d in self.dilations)

    @property
    def padded(self) -> bool:
        return any(not known(*pair) or pair != (0, 0) for pair in self.pads)

    @property
    def extents(self) -> tuple[Size, ...]:
        """The kernel's reach on each axis, dilation included."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True))

    def without_pads(self) -> Window:
        """The same window over data that have their pads."""
        return replace(self, pads=((0, 0),) * self.rank, same=False)

    def outputs(self, sizes: Sequence[Size]) -> tuple[Size, ...]:
        """The number of places on each axis."""
        return tuple(
            (size + begin + end - extent) // stride + 1
            for size, (begin, end), extent, stride in zip(sizes, self.pads, self.extents, self.strides, strict=True)
        )


def window_of(
    sizes: Sequence[Size],
    kernel: Sequence[Size],
    *,
    strides: Sequence[int] | None,
    dilations: Sequence[int] | None,
    pads: Sequence[int] | None,
    auto_pad: str = "NOTSET",
) -> Window:
    """The window that a node's attributes describe over data of these spatial sizes."""
    rank = len(kernel)
    window = Window(tuple(kernel), tuple(strides or [1] * rank), tuple(dilations or [1] * rank), ((0, 0),) * rank)
    if auto_pad == "VALID":
        return window
    if auto_pad == "NOTSET":
        given = tuple(pads or [0] * (2 * rank))
        return marked(replace(window, pads=tuple(zip(given[:rank], given[rank:], strict=True))), sizes)
    found = _same_pads(window, sizes)
    if auto_pad == "SAME_LOWER":
        return marked(replace(window, pads=tuple((end, begin) for begin, end in found)), sizes)
    return replace(window, pads=found, same=True)


def _same_pads(window: Window, sizes: Sequence[Size]) -> Pads:
    """So many that there is a place for every stride of the data; an odd one comes at the end."""
    found = []
    for size, extent, stride in zip(sizes, window.extents, window.strides, strict=True):
        places = 0 if stride == 1 else (size + stride - 1) // stride * stride - size
        total = at_least(extent - stride + places, 0)
        found.append((total // 2, total - total // 2))
    return tuple(found)


def marked(window: Window, sizes: Sequence[Size]) -> Window:
    """The window with a note whether its pads are the ones TensorFlow finds by itself."""
    axes = zip(window.extents, window.strides, sizes, strict=True)
    settled = all(known(extent) and (stride == 1 or known(size)) for extent, stride, size in axes)
    settled = settled and known(*(size for pair in window.pads for size in pair))
    return replace(window, same=settled and _same_pads(window, sizes) == window.pads)


def pad_spatial(x: Tensor, pads: Pads, value: Any = 0) -> Tensor:
    """Channel-last data with pads around their spatial axes; negative pads cut off."""
    flat = [size for pair in pads for size in pair]
    if not known(*flat):
        return tf.pad(x, _paddings(pads), constant_values=tf.cast(value, x.dtype))
    if any(size < 0 for size in flat):
        cuts = [slice(max(-begin, 0), min(end, 0) or None) for begin, end in pads]
        x = x[(slice(None), *cuts)]
        pads = tuple((max(begin, 0), max(end, 0)) for begin, end in pads)
    if not any(size for pair in pads for size in pair):
        return x
    return tf.pad(x, _paddings(pads), constant_values=tf.cast(value, x.dtype))


def _paddings(pads: Pads) -> Any:
    rows = [(0, 0), *pads, (0, 0)]
    return rows if known(*(size for row in rows for size in row)) else tf.stack([tf.stack(row) for row in rows])


def fit_spatial(x: Tensor, edges: Pads) -> Tensor:
    """Channel-last data with zeros added at the edges, or elements cut off where an edge is negative."""
    if known(*(size for pair in edges for size in pair)):
        return pad_spatial(x, edges)
    cuts = tuple(tuple(at_least(-size, 0) for size in pair) for pair in edges)
    sizes = sizes_of(x, range(1, len(edges) + 1))
    kept = [slice(begin, size - end) for (begin, end), size in zip(cuts, sizes, strict=True)]
    more = tuple((at_least(begin, 0), at_least(end, 0)) for begin, end in edges)
    return pad_spatial(x[(slice(None), *kept)], more)
