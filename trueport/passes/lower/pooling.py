"""Since 22 a last window that starts in the padding is left out."""

from __future__ import annotations

from typing import Any

from onnx_ir import Value

from trueport.passes.lower.adapt import Downgrade, downgrades

__all__: list[str] = []


@downgrades("AveragePool", 22, 19)
@downgrades("MaxPool", 22, 12)
def no_window_in_the_padding(op: Downgrade, X: Value, *, ceil_mode: int, **attributes: Any) -> Any:
    """Runtimes leave it out at every version, but an older shape counts it: then sizes are rounded down instead."""
    if not ceil_mode or attributes["auto_pad"] not in ("NOTSET", "VALID"):
        return op.again(X, ceil_mode=ceil_mode, **attributes)
    down, up = zip(
        *(_sizes(op, X, place, **attributes) for place in range(len(attributes["kernel_shape"]))), strict=True
    )
    made = [op.dim(op.node.outputs[0], place + 2) for place in range(len(down))]
    if all(size in (None, rounded) for size, rounded in zip(made, up, strict=True)):
        return op.again(X, ceil_mode=1, **attributes)
    if list(down) != made:
        raise op.fail("a window starts in the padding along one axis, and is cut off along another")
    return op.again(X, ceil_mode=0, **attributes)


def _sizes(
    op: Downgrade,
    X: Value,
    place: int,
    *,
    kernel_shape: list[int],
    pads: list[int] | None,
    strides: list[int] | None,
    dilations: list[int] | None,
    **_: Any,
) -> tuple[int | None, int | None]:
    """The number of windows along an axis, rounded down and up."""
    length = op.dim(X, place + 2)
    if length is None:
        return None, None
    around = 0 if pads is None else pads[place] + pads[place + len(kernel_shape)]
    reach = (kernel_shape[place] - 1) * (1 if dilations is None else dilations[place]) + 1
    step = 1 if strides is None else strides[place]
    return (length + around - reach) // step + 1, -(-(length + around - reach) // step) + 1
