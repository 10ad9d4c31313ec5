"""Convolutions and pools: where padding lies, how far apart the taps are, which window."""

from __future__ import annotations

from bench.faults.strangers.kind import Change, Collector, name_words
from bench.faults.strangers.schemas import operators_with_attribute
from bench.faults.strangers.site import Site

__all__ = ["KINDS"]

_collect = Collector()
_WINDOWS = operators_with_attribute("INTS", "strides".__eq__)
_DILATED = operators_with_attribute("INTS", "dilations".__eq__)


def _spatial(site: Site) -> tuple[int, ...] | None:
    tensor = site.input(0)
    return tensor.shape[2:] if tensor is not None and tensor.shape is not None and len(tensor.shape) > 2 else None


def _list(site: Site, name: str, default: int, length: int) -> list[int]:
    return list(site.attribute(name) or [default] * length)


def _taps(site: Site, rank: int) -> list[int] | None:
    given = site.attribute("kernel_shape")
    if given:
        return list(given)
    weight = site.input(1)
    return list(weight.shape[-rank:]) if weight is not None and weight.shape is not None else None


@_collect("pads_begin_and_end_exchanged", _WINDOWS)
def exchange_pads(site: Site) -> Change | None:
    """Put the extra padding on the other side; symmetric padding is moved by one."""
    pads = site.attribute("pads")
    if not pads or site.attribute("auto_pad") not in (None, b"NOTSET") or not any(pads):
        return None
    half = len(pads) // 2
    new = [*pads[half:], *pads[:half]]
    if new == list(pads):
        new = [
            *(p - (p > 0) for p in pads[:half]),
            *(p + (q > 0) for p, q in zip(pads[half:], pads[:half], strict=True)),
        ]
    site.set_attribute("pads", new)
    return Change(f"pads: {list(pads)} becomes {new}", (*name_words("pads", "padding"), r"\bpad"))


@_collect("pads_dropped_as_valid", _WINDOWS)
def drop_pads(site: Site) -> Change | None:
    if not any(site.attribute("pads") or []) and site.attribute("auto_pad") not in (b"SAME_UPPER", b"SAME_LOWER"):
        return None
    site.drop_attribute("pads")
    site.set_attribute("auto_pad", "VALID")
    return Change("padding is left out", (r"\bpad", "auto_pad", "valid"))


@_collect("dilation_with_pads", _DILATED)
def dilate(site: Site) -> Change | None:
    """Spread the taps and pad as much more: the result keeps its shape."""
    spatial = _spatial(site)
    taps = _taps(site, len(spatial)) if spatial else None
    if spatial is None or taps is None or site.attribute("auto_pad") not in (None, b"NOTSET"):
        return None
    rank = len(spatial)
    pads, dilations = _list(site, "pads", 0, 2 * rank), _list(site, "dilations", 1, rank)
    at = site.pick([axis for axis in range(rank) if taps[axis] > 1])
    if at is None:
        return None
    dilations[at] += 1
    more = taps[at] - 1
    pads[at] += more // 2
    pads[at + rank] += more - more // 2
    site.set_attribute("dilations", dilations)
    site.set_attribute("pads", pads)
    return Change(f"dilations become {dilations}, pads {pads}", (r"\bdilat", r"\bpad"))


@_collect("stride_changed", _WINDOWS)
def change_stride(site: Site) -> Change | None:
    spatial = _spatial(site)
    if spatial is None:
        return None
    strides = _list(site, "strides", 1, len(spatial))
    at = int(site.rng.integers(len(strides)))
    old = list(strides)
    strides[at] = strides[at] - 1 if strides[at] > 1 else 2
    site.set_attribute("strides", strides)
    return Change(f"strides: {old} becomes {strides}", (r"\bstride",))


@_collect(
    "pool_window_changed",
    operators_with_attribute("INTS", "kernel_shape".__eq__) & {"MaxPool", "AveragePool", "LpPool"},
)
def change_window(site: Site) -> Change | None:
    """Make the window one larger, padded so that the result keeps its shape."""
    taps = list(site.attribute("kernel_shape"))
    pads = _list(site, "pads", 0, 2 * len(taps))
    at = int(site.rng.integers(len(taps)))
    taps[at] += 1
    pads[at + len(taps) * int(site.rng.integers(2))] += 1
    site.set_attribute("kernel_shape", taps)
    if site.attribute("auto_pad") in (None, b"NOTSET"):
        site.set_attribute("pads", pads)
    return Change(f"kernel_shape becomes {taps}", (r"kernel_shape", r"\bwindow", r"\bkernel", r"\bpad"))


@_collect("kernel_flipped", {"Conv", "ConvTranspose", "QLinearConv", "ConvInteger"})
def flip_kernel(site: Site) -> Change | None:
    """Reverse the taps along a spatial axis: convolution in place of correlation."""
    slot = 3 if site.op == "QLinearConv" else 1
    weight = site.constant(slot)
    if weight is None or weight.ndim < 3:
        return None
    axis = site.pick([axis for axis in range(2, weight.ndim) if weight.shape[axis] > 1])
    if axis is None:
        return None
    site.set_constant(slot, weight[(slice(None),) * axis + (slice(None, None, -1),)])
    return Change(f"the kernel is reversed along axis {axis}", (r"\bweight", r"\bkernel", r"\bflip", r"\brevers"))


@_collect("kernel_axes_exchanged", {"Conv", "ConvTranspose", "QLinearConv", "ConvInteger"})
def exchange_kernel_axes(site: Site) -> Change | None:
    """Read height as width, or input channels as output channels, where sizes allow it."""
    slot = 3 if site.op == "QLinearConv" else 1
    weight = site.constant(slot)
    if weight is None or weight.ndim < 3:
        return None
    pairs = [(i, j) for i in range(weight.ndim) for j in range(i) if weight.shape[i] == weight.shape[j] > 1]
    chosen = site.pick(pairs)
    if chosen is None:
        return None
    site.set_constant(slot, weight.swapaxes(*chosen))
    return Change(f"axes {chosen} of the kernel are exchanged", (r"\bweight", r"\bkernel", r"\btranspos", r"\blayout"))


@_collect("groups_merged_or_interleaved", operators_with_attribute("INT", "group".__eq__))
def shuffle_groups(site: Site) -> Change | None:
    """Compute output channels of a grouped convolution in interleaved order."""
    group, slot = site.attribute("group"), 3 if site.op == "QLinearConv" else 1
    weight = site.constant(slot)
    if weight is None or not group or group < 2 or site.op == "ConvTranspose":
        return None
    order = [n for g in range(group) for n in range(g, weight.shape[0], group)]
    if order == sorted(order):
        order = order[::-1]
    site.set_constant(slot, weight[order])
    return Change("output channels of the groups are interleaved", (r"\bgroup", r"\bweight", r"\bkernel", r"\bchannel"))


KINDS = _collect.kinds
