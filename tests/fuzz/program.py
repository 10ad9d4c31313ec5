"""Random programs: a few lines over tensors, drawn by a seed from a table of templates."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

__all__ = ["Language", "Program", "Rejected", "draw", "of_float32_literals", "samples_of", "templates_of"]

SIZES = ({"n": 2, "h": 7, "t": 5}, {"n": 3, "h": 8, "t": 4}, {"n": 5, "h": 11, "t": 9})
"""Of the dynamic dims, per sample: none divides another of the same dim."""
SHAPES: Mapping[str, tuple[str, tuple[str | int, ...]]] = {
    "images": ("float32", ("n", 3, "h", "h")),
    "image": ("float32", (1, 2, "h", 9)),
    "rows": ("float32", ("n", 4)),
    "steps": ("float32", ("n", "t", 4)),
    "vector": ("float32", ("t",)),
    "square": ("float32", (4, 4)),
    "counts": ("int64", ("n", 4)),
    "indices": ("int64", ("t",)),
    "small": ("int32", ("n", "t")),
    "flags": ("bool", ("n", 4)),
}
"""Kinds of inputs: dtype and dims."""
LITERALS: Mapping[str, Sequence[str]] = {
    "axis": ("0", "1", "-1", "-2"),
    "k": ("1", "2", "3"),
    "s": ("0.5", "-1.5", "2.0", "0.1", "3.0", "1e-3"),
    "p": ("0.5", "2.0", "3.0", "0.1"),
    "m": ("-3", "-1", "2", "5", "7"),
    "flag": ("True", "False"),
    "bit": ("0", "1"),
}
_MOST_ELEMENTS = 20_000
_MOST_TRIES = 60


def templates_of(language: str) -> tuple[str, ...]:
    """Return the steps that programs of a language are drawn from; ``; `` separates lines of one step.

    Slots: ``{f}``, ``{i}``, ``{b}``, ``{x}`` a float, integer, bool, any tensor (``{f4}``: of rank 4), ``{out}`` the
    result's name, and the LITERALS.
    """
    text = Path(__file__).with_name("templates").joinpath(f"{language}.txt").read_text(encoding="utf-8")
    return tuple(line.replace("; ", "\n") for line in text.splitlines())


_LITERAL = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.])")


def of_float32_literals(line: str) -> str:
    """Return a line whose fractional literals are the float32 values that a float32 program computes with."""
    return _LITERAL.sub(lambda found: found[0] if found[0].isdigit() else repr(float(np.float32(found[0]))), line)


class Rejected(Exception):
    """The framework does not run a step on these values."""


class Language(Protocol):
    """How one framework writes, runs and combines programs."""

    name: str
    templates: Sequence[str]
    targets: Sequence[str]
    not_valid: tuple[type[Exception], ...]
    """what assembling raises where the framework cannot trace a program with dynamic dims"""

    def evaluate(self, line: str, out: str, values: Mapping[str, Any]) -> Any:
        """Return the value of a line's result as an array; raise Rejected where it cannot be computed."""
        ...

    def exact(self, line: str, out: str, values: Mapping[str, Any]) -> Any:
        """Return the same of float64 values, with the literals of float32; raise Rejected where nothing computes it."""
        ...

    def assemble(self, programs: Sequence[Program]) -> Any:
        """Return one source model that holds several programs; its names have the prefix of :meth:`Program.prefix`."""
        ...

    def run(self, source: Any, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the outputs of an assembled source."""
        ...

    def defined(self, source: Any, samples: Sequence[Mapping[str, np.ndarray]]) -> list[dict[str, np.ndarray]] | None:
        """Return the outputs by the operators' definition, apart from any runtime; None where there is none."""
        ...

    def sharing(self) -> AbstractContextManager[None]:
        """Return a scope in which one source is captured once for all targets."""
        ...

    def options(self, source: Any, samples: Sequence[Mapping[str, np.ndarray]]) -> dict[str, Any]:
        """Return the keyword arguments of ``trueport.convert`` for an assembled source."""
        ...


@dataclass(frozen=True)
class Program:
    """One random graph."""

    seed: int
    inputs: tuple[tuple[str, str], ...]
    """name and kind (a key of SHAPES)"""
    lines: tuple[tuple[str, str], ...]
    """the name of a result and the line that computes it"""
    outputs: tuple[str, ...]

    @property
    def prefix(self) -> str:
        return f"g{self.seed}_"

    def text(self) -> str:
        """Return the program as a person reads it."""
        head = ", ".join(f"{name}: {SHAPES[kind][0]}{list(SHAPES[kind][1])}" for name, kind in self.inputs)
        return "\n".join([f"({head})", *(line for _, line in self.lines), f"return {', '.join(self.outputs)}"])


def samples_of(program: Program) -> list[dict[str, np.ndarray]]:
    """Return the program's inputs for each size: ordinary values, ties and zeros, large ones."""
    samples = []
    for index, sizes in enumerate(SIZES):
        rng = np.random.default_rng([program.seed, index])
        samples.append({name: _values(rng, kind, sizes, index) for name, kind in program.inputs})
    return samples


def _values(rng: np.random.Generator, kind: str, sizes: Mapping[str, int], index: int) -> np.ndarray:
    dtype, dims = SHAPES[kind]
    shape = [sizes[dim] if isinstance(dim, str) else dim for dim in dims]
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype.startswith("int"):
        low, high = (0, 4) if kind == "indices" else (-6, 7)
        return rng.integers(low, high, shape).astype(dtype)
    values = rng.standard_normal(shape)
    if index == 1:
        values = np.round(values * 2)
    return (values * (50 if index == 2 else 1)).astype(dtype)


def draw(language: Language, seed: int) -> Program:
    """Return the program of a seed: inputs, then steps that run at every size."""
    rng = random.Random(f"{language.name}:{seed}")
    inputs = tuple((f"x{i}", rng.choice(list(SHAPES))) for i in range(rng.randint(1, 3)))
    empty = Program(seed, inputs, (), ())
    known = [dict(sample) for sample in samples_of(empty)]
    lines: list[tuple[str, str]] = []
    used: set[str] = set()
    wanted = rng.randint(2, 7)
    for _ in range(_MOST_TRIES):
        if len(lines) == wanted:
            break
        out = f"v{len(lines)}"
        filled = _fill(rng, rng.choice(language.templates), out, known[0])
        if filled is None:
            continue
        line, taken = filled
        try:
            results = [language.evaluate(line, out, values) for values in known]
        except Rejected:
            continue
        if _is_usable(results):
            used |= taken
            lines.append((out, line))
            for values, result in zip(known, results, strict=True):
                values[out] = result
    outputs = tuple(name for name, _ in lines if name not in used) or tuple(name for name, _ in lines[-1:])
    return Program(seed, inputs, tuple(lines), outputs)


def _is_usable(results: Sequence[Any]) -> bool:
    arrays = [np.asarray(result) for result in results]
    kinds = {(array.dtype, array.ndim) for array in arrays}
    finite = all(array.dtype.kind != "f" or np.isfinite(array).all() for array in arrays)
    return len(kinds) == 1 and finite and all(array.size <= _MOST_ELEMENTS for array in arrays)


_SLOT = re.compile(r"\{(\w+)\}")
_TENSOR = re.compile(r"([fibx])(\d?)$")


def _fill(rng: random.Random, template: str, out: str, values: Mapping[str, Any]) -> tuple[str, set[str]] | None:
    """Return a template with its slots filled, and the values that it takes; None where no value fits."""
    taken: set[str] = set()
    parts: list[str] = []
    position = 0
    for slot in _SLOT.finditer(template):
        word = slot[1]
        if word == "out":
            text = out
        elif word in LITERALS:
            text = rng.choice(LITERALS[word])
        else:
            fitting = list(_fitting(word, values))
            if not fitting:
                return None
            # The newest values twice as likely: graphs become deep instead of wide.
            text = rng.choice([*fitting, *fitting[-2:]])
            taken.add(text)
        parts += [template[position : slot.start()], text]
        position = slot.end()
    return "".join([*parts, template[position:]]), taken


def _fitting(word: str, values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of values of a kind: f float, i integer, b bool, x any; with a digit, of that rank."""
    matched = _TENSOR.match(word)
    assert matched is not None, f"unknown slot {{{word}}}"
    kind, rank = matched[1], matched[2]
    for name, value in values.items():
        array = np.asarray(value)
        letter = {"f": "f", "i": "i", "u": "i", "b": "b"}.get(array.dtype.kind)
        if kind in ("x", letter) and (not rank or array.ndim == int(rank)):
            yield name
