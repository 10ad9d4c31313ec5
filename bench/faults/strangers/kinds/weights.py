"""Constants: one entry, a row, a layout, a rounding; biases and moments."""

from __future__ import annotations

import functools
from collections.abc import Callable

import ml_dtypes
import numpy as np

from bench.faults.strangers.kind import Change, Collector, name_formal, name_words
from bench.faults.strangers.schemas import operators_with_input
from bench.faults.strangers.site import Site

__all__ = ["KINDS"]

_collect = Collector()
_ROLES = ("weight", "kernel", "constant", "operand", "initializer", "coefficient", "embedding", "table")
_SUMMED = frozenset({
    "Conv", "ConvTranspose", "Gemm", "MatMul", "LSTM", "GRU", "RNN", "Gather", "Add", "Mul", "Sub", "Div",
    "PRelu", "Einsum", "BatchNormalization", "LayerNormalization", "InstanceNormalization",
    "GroupNormalization", "RMSNormalization", "FusedMatMul", "Attention", "SkipLayerNormalization",
    "BiasGelu", "MatMulInteger", "QLinearConv", "QLinearMatMul", "DequantizeLinear",
})  # fmt: skip
"""Operators whose formal inputs the schemas describe as weights, scales or tables, and arithmetic with constants."""


def _weights(site: Site, rank: int = 1) -> list[tuple[int, np.ndarray]]:
    return [(slot, a) for slot, a in site.constants() if a.dtype.kind == "f" and a.ndim >= rank and a.size > 1]


def _edit(
    site: Site, rank: int, what: str, change: Callable[[np.ndarray], np.ndarray | None], *more: str
) -> Change | None:
    """Apply ``change`` to one of the node's float constants of at least that rank."""
    chosen = site.pick(_weights(site, rank))
    if chosen is None:
        return None
    slot, array = chosen
    new = change(np.array(array))
    if new is None or np.array_equal(new, array):
        return None
    site.set_constant(slot, new.astype(array.dtype))
    name = site.formal(slot)
    roles = (*_ROLES, "bias", "scale") if name in ("B", "C", "bias", "scale") or array.ndim == 1 else _ROLES
    return Change(f"{name or 'constant'}: {what}", (*name_formal(name, roles), *more))


def _scale_entry(array: np.ndarray, rng: np.random.Generator, factor: float) -> np.ndarray:
    """Scale one of the larger entries."""
    flat = array.reshape(-1)
    largest = np.argsort(-np.abs(flat))[: max(1, flat.size // 4)]
    flat[int(rng.choice(largest))] *= factor
    return array


@_collect("weight_entry_scaled", _SUMMED)
def scale_entry(site: Site) -> Change | None:
    factor = float(site.pick([1.001, 1.01, 1.1, 2.0]))
    return _edit(site, 1, f"one entry x {factor}", lambda a: _scale_entry(a, site.rng, factor))


@_collect("weight_entry_sign_flipped", _SUMMED)
def flip_entry(site: Site) -> Change | None:
    return _edit(site, 1, "one entry is negated", lambda a: _scale_entry(a, site.rng, -1.0))


@_collect("weight_rows_swapped", _SUMMED)
def swap_rows(site: Site) -> Change | None:
    def swap(array: np.ndarray) -> np.ndarray | None:
        axes = [axis for axis, size in enumerate(array.shape) if size > 1]
        if not axes:
            return None
        axis = site.pick(axes)
        order = np.arange(array.shape[axis])
        i, j = site.rng.choice(order, 2, replace=False)
        order[i], order[j] = order[j], order[i]
        return np.take(array, order, axis)

    return _edit(site, 2, "two rows are swapped", swap, r"\bpermut", r"\bswap", r"\border")


@_collect("weight_transposed", _SUMMED)
def transpose_weight(site: Site) -> Change | None:
    """Exchange two axes of equal size."""

    def transpose(array: np.ndarray) -> np.ndarray | None:
        pairs = [(i, j) for i in range(array.ndim) for j in range(i) if array.shape[i] == array.shape[j] > 1]
        return array.swapaxes(*site.pick(pairs)) if pairs else None

    return _edit(site, 2, "transposed", transpose, r"\btranspos")


@_collect("weight_read_column_major", _SUMMED)
def read_column_major(site: Site) -> Change | None:
    return _edit(
        site, 2, "elements are read in column-major order", lambda a: a.ravel("F").reshape(a.shape),
        r"\btranspos", r"\border", r"\blayout",
    )  # fmt: skip


@_collect("weight_row_zeroed", _SUMMED)
def zero_row(site: Site) -> Change | None:
    def zero(array: np.ndarray) -> np.ndarray:
        array[int(site.rng.integers(array.shape[0]))] = 0
        return array

    return _edit(site, 2, "one row is zero", zero, r"\bzero", r"\bpruned")


@_collect("weight_rows_rolled", _SUMMED)
def roll_rows(site: Site) -> Change | None:
    """Shift the table by one row, as when index 0 is reserved on one side only."""
    return _edit(
        site, 2, "rows are shifted by one", lambda a: np.roll(a, 1, 0), r"\bshift", r"\boff by one", r"\border"
    )


def _round_to(
    site: Site, name: str, words: tuple[str, ...], convert: Callable[[np.ndarray], np.ndarray]
) -> Change | None:
    return _edit(site, 1, f"rounded to {name}", convert, *words, r"\brounded to", r"\bprecision", r"\bquanti[sz]")


def _to_integers(array: np.ndarray, levels: int) -> np.ndarray:
    """Quantize symmetrically, one scale for all."""
    scale = float(np.abs(array).max()) / levels or 1.0
    return np.asarray(np.round(array / scale) * scale)


_ROUNDINGS: dict[str, tuple[tuple[str, ...], Callable[[np.ndarray], np.ndarray]]] = {
    "float16": ((r"float16", r"\bhalf\b", r"\bfp16"), lambda a: a.astype(np.float16)),
    "bfloat16": ((r"bfloat16", r"\bbf16"), lambda a: a.astype(ml_dtypes.bfloat16)),
    "float8": ((r"float8", r"\bfp8"), lambda a: a.astype(ml_dtypes.float8_e4m3fn)),
    "int8": ((r"\bint8", r"8.bit"), functools.partial(_to_integers, levels=127)),
    "int4": ((r"\bint4", r"4.bit"), functools.partial(_to_integers, levels=7)),
}
for _type, (_words, _convert) in _ROUNDINGS.items():
    _collect.add(
        f"weight_rounded_to_{_type}",
        _SUMMED,
        functools.partial(_round_to, name=_type, words=_words, convert=_convert),
    )


_BIASED = operators_with_input(("B", "C", "bias")) & frozenset({
    "Conv", "ConvTranspose", "Gemm", "LayerNormalization", "BatchNormalization", "InstanceNormalization",
    "GroupNormalization", "QLinearConv", "LSTM", "GRU", "RNN",
})  # fmt: skip


def _edit_bias(site: Site, what: str, change: Callable[[np.ndarray], np.ndarray], *more: str) -> Change | None:
    slot = next((s for name in ("bias", "C", "B") if (s := site.slot_of(name)) is not None), None)
    if site.op == "Add":
        slot = next((s for s, a in site.constants() if a.ndim == 1 and a.dtype.kind == "f"), None)
    array = site.constant(slot) if slot is not None else None
    if slot is None or array is None or array.size < 2:
        return None
    new = change(np.array(array)).astype(array.dtype)
    if np.array_equal(new, array):
        return None
    site.set_constant(slot, new)
    return Change(f"bias: {what}", (*name_formal(site.formal(slot), ("bias", "operand", "constant")), *more))


@_collect("bias_zero", _BIASED | {"Add"})
def zero_bias(site: Site) -> Change | None:
    return _edit_bias(site, "all zero", np.zeros_like, r"\bmissing", r"\bdropped")


@_collect("bias_channels_reversed", _BIASED | {"Add"})
def reverse_bias(site: Site) -> Change | None:
    return _edit_bias(site, "channels in reverse order", lambda a: a[..., ::-1], r"\border", r"\bpermut")


@_collect("bias_added_twice", _BIASED | {"Add"})
def double_bias(site: Site) -> Change | None:
    return _edit_bias(site, "added twice", lambda a: a * 2, r"\btwice", r"\bdoubl", r"\bscal")


@_collect("scalar_constant_rounded", None)
def round_scalar(site: Site) -> Change | None:
    """Write a number with two digits, as 0.7071 becomes 0.71."""
    known = [(slot, a) for slot, a in site.constants() if a.size == 1 and a.dtype.kind == "f" and np.isfinite(a).all()]
    chosen = site.pick(known)
    if chosen is None:
        return None
    slot, array = chosen
    new = np.asarray(float(f"{float(array.reshape(-1)[0]):.2g}"), array.dtype).reshape(array.shape)
    if new == array:
        new = (array * array.dtype.type(1.02)).reshape(array.shape)
    site.set_constant(slot, new)
    return Change(
        f"{array} becomes {new}",
        name_formal(site.formal(slot), ("constant", "operand", "scale", "factor", "rounded to")),
    )


_NORMED = operators_with_input(("input_mean", "mean"))


@_collect("variance_as_deviation", _NORMED)
def take_deviation(site: Site) -> Change | None:
    return _edit_variance(site, np.sqrt, "standard deviations in place of variances")


@_collect("variance_unbiased", _NORMED)
def unbias_variance(site: Site) -> Change | None:
    return _edit_variance(
        site, lambda a: a * (8 / 7), "variances of a sample (n - 1) in place of those of a population (n)"
    )


def _edit_variance(site: Site, change: Callable[[np.ndarray], np.ndarray], what: str) -> Change | None:
    slot = site.slot_of("input_var")
    array = site.constant(slot) if slot is not None else None
    if slot is None or array is None:
        return None
    site.set_constant(slot, change(array).astype(array.dtype))
    return Change(what, (*name_words("input_var", "var"), r"\bvarianc", r"\bdeviation", r"\bmoment"))


KINDS = _collect.kinds
