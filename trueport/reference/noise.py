"""Rounding noise: errors as a float of the model's own type makes them, drawn at random, for all frameworks.

An operation sees some of its inputs off by half a unit of the last place, and gives results off by its declared bound.
What that bound is relative to is the operator's own fact (`Against`). Run a few times, this gives the noise that a
model makes of rounding, for each element of each value: what a faithful runtime may show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueport.fidelity import Against, ErrorBound
from trueport.reference.sums import Sums, largest_sum_error

__all__ = ["MORE_RUNS", "NOISY_RUNS", "Rounding", "RoundingNoise", "Run", "error_sizes", "is_wide"]

NOISY_RUNS = 3
MORE_RUNS = 9
"""Of elements there are many: some happen to err little in all of a few runs, and hardly any in so many."""

Run = Callable[[Sequence[Any]], Sequence[Any]]
"""Evaluates one operation on inputs; results in their order."""

_LEAST_ULPS = 1.0
"""The least error of an operator that rounds: one unit of the last place."""
_LEAST_BLUR = 4.0
"""Units of the last place that data are off, at least, where that stands for sums: many small errors add up."""
_COORDINATE_ULPS = 8.0
"""What operators that interpolate declare for their sums; a coordinate itself is off by one unit of its last place."""
_SINGLE = 2.0**-24
"""Roundoff of float32; sums of coarser floats are added up in float32, and rounded once."""
_CHUNK = 1 << 16
"""Elements that are changed at a time: as many as stay in a processor's cache."""
_LEAST_FACTOR = 2.0**-40
"""Relative errors from which on a factor, one plus the error, holds enough digits of the error."""
_MOST_SCALES = 16
"""Scales of which the drawn numbers are kept multiplied: those of the different bounds in a model."""
_OF_RESULT = frozenset({Against.RESULT, Against.STEPS, Against.DATA})
"""Errors are relative to the result itself."""


@dataclass(frozen=True)
class Rounding:
    """How one operation errs."""

    unit: float
    """unit roundoff of the coarsest float that it returns"""
    bound: ErrorBound
    blurred: Sequence[bool]
    """per input: whether it is off as well; weights and parameters are the same in every run"""
    sums: Sums | None = None
    """where the terms of long sums are; None: there are none, or they are not known"""

    @property
    def scale(self) -> float:
        """The largest error of a result, relative to what the bound is relative to."""
        return 2 * self.unit * max(self.bound.ulps, _LEAST_ULPS)

    def scale_of(self, inputs: Sequence[Any], results: Sequence[Any]) -> float:
        """Return the same for given inputs and exact results: sums of their terms may err more in other orders."""
        if self.sums is None or self.unit > _SINGLE or not results:
            return self.scale
        return max(self.scale, self.unit * largest_sum_error(self.sums, inputs, results[0]))

    @property
    def blur(self) -> float:
        """The largest error of an input, relative to itself."""
        return max(self.scale, 2 * self.unit * _LEAST_BLUR) if self.bound.against == Against.DATA else self.unit


class RoundingNoise:
    """A source of errors; the same seed gives the same ones."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)
        self._numbers = self._generator.uniform(-1, 1, size=2 * _CHUNK)
        self._kept: dict[tuple[str, float], np.ndarray] = {}

    def __call__(
        self, rounding: Rounding | None, inputs: Sequence[Any], run: Run, sizes: Sequence[Any] | None = None
    ) -> Sequence[Any]:
        """Run an operation with errors; None: it does not round.

        ``sizes``: what `error_sizes` gives, where that is known already from a run without errors.
        """
        if rounding is None:
            return run(inputs)
        given = [self._err(a, a, rounding.blur) if b else a for a, b in zip(inputs, rounding.blurred, strict=True)]
        results = run(given)
        if rounding.bound.against in _OF_RESULT:
            sizes = results
        elif sizes is None:
            sizes = error_sizes(rounding.bound.against, inputs, results, run)
        scale = rounding.scale_of(inputs, results)
        return [self._err(a, size, scale) for a, size in zip(results, sizes, strict=True)]

    def difference(self, exact: np.ndarray, noisy: np.ndarray, blur: float) -> np.ndarray:
        """Return in float32 how far ``noisy`` is from ``exact`` when each element is off by up to ``blur`` more."""
        made = np.empty(exact.size, np.float32)
        flat, others = exact.reshape(-1), noisy.reshape(-1)
        if blur < _LEAST_FACTOR:  # it is not blurred, or in too few digits for a factor
            np.subtract(others, flat, out=made, casting="same_kind")
            for start, errors in zip(_starts(exact.size), self._errors(others, blur), strict=True):
                made[start : start + errors.size] += errors
            return made.reshape(exact.shape)
        moved = np.empty(min(exact.size, _CHUNK))
        for start, factors in self._drawn("factor", blur, exact.size):
            part = slice(start, start + factors.size)
            np.multiply(others[part], factors, out=moved[: factors.size])
            np.subtract(moved[: factors.size], flat[part], out=made[part], casting="same_kind")
        return made.reshape(exact.shape)

    def moved(self, exact: np.ndarray, difference: np.ndarray, size: np.ndarray, scale: float) -> np.ndarray:
        """Return ``exact`` moved by a difference, each element off by up to ``scale`` times its size more."""
        made = np.empty(exact.size)
        flat, further, sizes = exact.reshape(-1), difference.reshape(-1), size.reshape(-1)
        if sizes.dtype == further.dtype == np.float32 and np.isfinite(sizes).all():
            # Errors need no more digits than float32 has.
            off = np.empty(min(exact.size, _CHUNK), np.float32)
            for start, numbers in self._drawn("narrow", scale, exact.size):
                part, some = slice(start, start + numbers.size), off[: numbers.size]
                np.multiply(sizes[part], numbers, out=some)
                some += further[part]
                np.add(flat[part], some, out=made[part])
            return made.reshape(exact.shape)
        for start, errors in zip(_starts(exact.size), self._errors(sizes, scale), strict=True):
            part = slice(start, start + errors.size)
            errors += further[part]
            np.add(flat[part], errors, out=made[part])
        return made.reshape(exact.shape)

    def _err(self, array: Any, size: Any, scale: float) -> Any:
        """Return a copy, each element off by up to ``scale`` times its size; both parts of a complex number are."""
        if not is_wide(array) or np.shape(size) != np.shape(array):
            return array
        off = np.empty_like(array)  # in the same layout: code that looks at strides finds those that it made
        axes = sorted(range(off.ndim), key=lambda axis: -off.strides[axis])
        is_complex = off.dtype.kind == "c"
        if size is array and not is_complex and scale >= _LEAST_FACTOR:
            self._multiply(off.transpose(axes), array.transpose(axes).reshape(-1), scale)
            return off
        sizes = np.abs(size) if np.iscomplexobj(size) else size
        for part, exact in ((off.real, array.real), (off.imag, array.imag)) if is_complex else ((off, array),):
            errors = self._errors(sizes.transpose(axes).reshape(-1), scale)
            self._add(part.transpose(axes), exact.transpose(axes).reshape(-1), errors)
        return off

    def _errors(self, sizes: np.ndarray, scale: float) -> Iterator[np.ndarray]:
        """Yield errors of some elements at a time, by numbers that were drawn once and are used from anywhere."""
        for start in _starts(sizes.size):
            some = sizes[start : start + _CHUNK]
            begin = int(self._generator.integers(_CHUNK))
            errors = self._numbers[begin : begin + some.size] * scale
            with np.errstate(over="ignore", invalid="ignore"):  # sizes may be infinite: no error is drawn there
                errors *= some
                is_finite = np.isfinite(errors.sum())
            if not is_finite:
                errors[~np.isfinite(errors)] = 0.0
            yield errors

    def _multiply(self, off: np.ndarray, exact: np.ndarray, scale: float) -> None:
        flat = off.reshape(-1)
        for start, factors in self._drawn("factor", scale, exact.size):
            part = slice(start, start + factors.size)
            np.multiply(exact[part], factors, out=flat[part])
        if not np.may_share_memory(flat, off):  # no view of it is flat
            off[...] = flat.reshape(off.shape)

    def _drawn(self, kind: str, scale: float, count: int) -> Iterator[tuple[int, np.ndarray]]:
        """Yield where some elements start, and for each the drawn number times ``scale``: one more than it as a
        ``factor``, in float32 as ``narrow``."""
        if (kind, scale) not in self._kept:
            if len(self._kept) >= _MOST_SCALES:
                self._kept.clear()
            scaled = self._numbers * scale
            self._kept[kind, scale] = scaled + 1 if kind == "factor" else scaled.astype(np.float32)
        numbers = self._kept[kind, scale]
        for start in _starts(count):
            begin = int(self._generator.integers(_CHUNK))
            yield start, numbers[begin : begin + min(_CHUNK, count - start)]

    def _add(self, off: np.ndarray, exact: np.ndarray, errors: Iterator[np.ndarray]) -> None:
        flat, start = off.reshape(-1), 0
        for some in errors:
            stop = start + some.size
            np.add(exact[start:stop], some, out=flat[start:stop])
            start = stop
        if not np.may_share_memory(flat, off):  # no view of it is flat
            off[...] = flat.reshape(off.shape)


def _starts(count: int) -> range:
    return range(0, count, _CHUNK)


def is_wide(array: Any) -> bool:
    """True if it is a float in the precision of the reference."""
    return isinstance(array, np.ndarray) and array.dtype in (np.float64, np.complex128)


def error_sizes(against: Against, inputs: Sequence[Any], results: Sequence[Any], run: Run) -> Sequence[Any]:
    """Return for each result what its errors are relative to; nearly the same for inputs that are off a little."""
    return _SIZES[against](inputs, results, run)


def _of_terms(inputs: Sequence[Any], results: Sequence[Any], run: Run) -> Sequence[Any]:
    return run([np.abs(array).astype(array.dtype) if is_wide(array) else array for array in inputs])


def _of_one(inputs: Sequence[Any], results: Sequence[Any], run: Run) -> Sequence[Any]:
    return [np.maximum(np.abs(array), 1.0) if is_wide(array) else array for array in results]


def _of_input(inputs: Sequence[Any], results: Sequence[Any], run: Run) -> Sequence[Any]:
    if np.shape(inputs[0]) != np.shape(results[0]):
        return results
    return [np.maximum(np.abs(results[0]), np.abs(inputs[0])), *results[1:]]


def _of_largest(inputs: Sequence[Any], results: Sequence[Any], run: Run) -> Sequence[Any]:
    return [
        np.broadcast_to(np.max(np.abs(array), axis=-1, keepdims=True, initial=0.0), array.shape)
        if is_wide(array) and array.ndim
        else array
        for array in results
    ]


def _of_coordinates(inputs: Sequence[Any], results: Sequence[Any], run: Run) -> Sequence[Any]:
    return run([_neighbours(inputs[0]), *inputs[1:]])


def _neighbours(image: np.ndarray) -> np.ndarray:
    """Return what an error is relative to where neighbours are mixed by a computed coordinate.

    A coordinate as large as the image is long, off by its last place, takes so much more of a neighbour.
    """
    largest = np.abs(image)
    for axis in range(1, largest.ndim):
        rows = np.moveaxis(largest, axis, 0)
        padded = np.concatenate([rows[:1], rows, rows[-1:]])
        largest = np.moveaxis(np.maximum(np.maximum(padded[:-2], rows), padded[2:]), 0, axis)
    return np.asarray(largest * max(1.0, max(image.shape[1:], default=1) / _COORDINATE_ULPS))


def _of_results(inputs: Sequence[Any], results: Sequence[Any], run: Run) -> Sequence[Any]:
    return results


_SIZES: Mapping[Against, Callable[[Sequence[Any], Sequence[Any], Run], Sequence[Any]]] = {
    Against.RESULT: _of_results,
    Against.STEPS: _of_results,
    Against.TERMS: _of_terms,
    Against.ONE: _of_one,
    Against.INPUT: _of_input,
    Against.LARGEST: _of_largest,
    Against.DATA: _of_results,
    Against.PLACES: _of_coordinates,
}
"""What an error is relative to, by the operator's bound."""
