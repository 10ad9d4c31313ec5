"""What became of a program: agrees, refused, differs (told or silent), or crashed."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnxruntime as ort

import trueport
from tests.fuzz.program import Language, Program, Rejected, samples_of
from trueport.errors import TrueportError
from trueport.fidelity import Verdict

__all__ = ["Outcome", "outcomes"]

RELATIVE = 2.0**-14
"""Of an output's largest magnitude: far above float32's rounding in a few steps, far below a wrong formula."""
NOISE = 64
"""How many times the source's own distance from float64 an element may be off."""
CANCELLING = re.compile("gelu|silu|swish|mish|log_?softmax|logsumexp|fft|dft", re.IGNORECASE)
"""Steps that every framework computes by a sum which cancels, of terms that are not exact: a sum near one, or rounded
sines and cosines. They are accurate relative to what they take."""
SIGMOID = re.compile(r"\bsigmoid", re.IGNORECASE)
"""Steps that ONNX Runtime computes to an absolute accuracy: accurate relative to one."""

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Outcome:
    """What became of one program on one target."""

    seed: int
    target: str
    kind: str
    """agrees, refused, invalid (the framework cannot trace it with dynamic dims), told (differs, and verification
    says so), silent (differs, called faithful), runtime (the source's runtime departs from the definition of its
    operators, the target does not), crashed"""
    why: str = ""


def outcomes(language: Language, programs: Sequence[Program]) -> Iterator[Outcome]:
    """Convert programs together, and apart where that fails or a value differs."""
    try:
        source = language.assemble(programs)
    except language.not_valid as error:
        yield from _apart(
            language, programs, [Outcome(0, target, "invalid", str(error)) for target in language.targets]
        )
        return
    samples = [{p.prefix + name: array for p in programs for name, array in samples_of(p)[i].items()} for i in range(3)]
    runs: dict[str, list[Arrays]] = {}
    failures = []
    with language.sharing():
        for target in language.targets:
            try:
                runs[target] = _converted(source, target, samples, language.options(source, samples))
            except Exception as error:
                kind = "refused" if isinstance(error, TrueportError) else "crashed"
                failures.append(Outcome(0, target, kind, f"{type(error).__name__}: {error}"))
    if failures and (len(programs) > 1 or not runs):
        yield from _apart(language, programs, failures)
        return
    yield from (replace(failure, seed=programs[0].seed) for failure in failures)
    wanted = [language.run(source, sample) for sample in samples]
    for program in programs:
        differences = {target: _difference(language, program, wanted, found) for target, found in runs.items()}
        if len(programs) > 1 and any(differences.values()):
            yield from outcomes(language, [program])
            continue
        for target, why in differences.items():
            kind = "agrees"
            if why:
                defined = language.defined(source, samples)
                is_right = defined is not None and not _difference(language, program, defined, runs[target])
                kind = "runtime" if is_right else _verdict(language, source, samples, target)
            yield Outcome(program.seed, target, kind, why)


def _apart(language: Language, programs: Sequence[Program], failures: Sequence[Outcome]) -> Iterator[Outcome]:
    """Yield the outcomes of both halves; of a single program, its failures."""
    if len(programs) > 1:
        middle = len(programs) // 2
        yield from outcomes(language, programs[:middle])
        yield from outcomes(language, programs[middle:])
        return
    for failure in failures:
        yield replace(failure, seed=programs[0].seed, why=" ".join(failure.why.split())[:400])


def _converted(source: Any, target: str, samples: Sequence[Arrays], options: Mapping[str, Any]) -> list[Arrays]:
    """Return the outputs of the converted model, written to a file and read back where the target is ONNX."""
    result = trueport.convert(source, to=target, verify=False, **options)
    if target == "tensorflow":
        return [{name: np.asarray(value) for name, value in result.model(**sample).items()} for sample in samples]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        result.save(path)
        session = ort.InferenceSession(path)
        names = [output.name for output in session.get_outputs()]
        taken = {given.name for given in session.get_inputs()}
        feeds = [{name: value for name, value in sample.items() if name in taken} for sample in samples]
        return [dict(zip(names, session.run(names, feed), strict=True)) for feed in feeds]


def _difference(language: Language, program: Program, wanted: Sequence[Arrays], got: Sequence[Arrays]) -> str:
    """Return the first output that differs by more than rounding, in words; empty where all agree."""
    for index, (want, have) in enumerate(zip(wanted, got, strict=True)):
        noise: Arrays | None = None
        for out in program.outputs:
            name = program.prefix + out
            if name not in have:
                return f"sample {index}: no output {out}"
            if _agrees(want[name], have[name], 0.0):
                continue
            noise = _noise(language, program, index) if noise is None else noise
            if not _agrees(want[name], have[name], noise.get(out, 0.0)):
                return f"sample {index}, {out}: {_worst(want[name], have[name])}"
    return ""


def _agrees(want: np.ndarray, got: np.ndarray, noise: Any) -> bool:
    if want.shape != got.shape or want.dtype != got.dtype:
        return False
    if want.dtype.kind != "f":
        return bool(np.all((want == got) | (np.asarray(noise) > 0)))
    wide, other = want.astype(np.float64), got.astype(np.float64)
    finite = np.isfinite(wide)
    scale = np.abs(wide[finite]).max(initial=0)
    with np.errstate(invalid="ignore"):
        close = np.abs(wide - other) <= RELATIVE * scale + NOISE * np.asarray(noise)
    same = (wide == other) | (np.isnan(wide) & np.isnan(other))
    return bool(np.all(same | (close & finite & np.isfinite(other)) | np.isposinf(noise)))


def _noise(language: Language, program: Program, index: int) -> dict[str, Any]:
    """Return how far the source's results move, by output, in ways that no conversion can rule out.

    Steps are computed in float64, moved by some ulps, with tiny values flushed to zero, and with zeros of one sign.
    Infinite where a shape depends on it.
    """
    plain = samples_of(program)[index]
    try:
        middle = _results(language, program, plain, lambda array, _: array)
    except Rejected:
        return {}
    noise: dict[str, Any] = {}
    for step in (_wide, _flushed, _of_positive_zeros, _of_negative_zeros, *map(_moved, range(1, 12, 2))):
        try:
            other = _results(language, program, plain, step)
        except Rejected:
            continue
        for out in program.outputs:
            apart: Any = np.inf
            if middle[out].shape == other[out].shape:
                with np.errstate(invalid="ignore"):
                    apart = np.abs((middle[out] * 1).astype(np.float64) - (_narrow(other[out]) * 1).astype(np.float64))
            noise[out] = np.fmax(noise.get(out, 0.0), apart)
    return noise


class Rounding(NamedTuple):
    """How accurate a step's result is."""

    magnitude: float = 0.0
    """what its rounding errors are relative to, if not its own size"""
    has_exact: bool = True
    """multiples of a half are exact"""


Step = Callable[[np.ndarray, Rounding], np.ndarray]
"""What is done to a value."""


def _results(language: Language, program: Program, inputs: Arrays, step: Step) -> dict[str, Any]:
    """Return all values of a program, each after ``step``; where an operator takes no float64, it is given float32."""
    values: dict[str, Any] = {name: np.asarray(step(array, Rounding())) for name, array in inputs.items()}
    compute = language.exact if step is _wide else language.evaluate
    for out, line in program.lines:
        try:
            result = compute(line, out, values)
        except Rejected:
            result = language.evaluate(line, out, {name: _narrow(value) for name, value in values.items()})
        values[out] = np.asarray(step(np.asarray(result), _rounding(line, values)))
    return values


def _rounding(line: str, values: Mapping[str, Any]) -> Rounding:
    if not CANCELLING.search(line):
        return Rounding(1.0) if SIGMOID.search(line) else Rounding()
    taken = [np.asarray(value) for name, value in values.items() if re.search(rf"\b{name}\b", line)]
    largest = max(1.0, *(float(np.abs(array).max(initial=0)) for array in taken if array.dtype.kind == "f"))
    return Rounding(largest, has_exact=False)


def _narrow(array: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return array.astype(np.float32) if array.dtype == np.float64 else array


def _wide(array: np.ndarray, rounding: Rounding) -> np.ndarray:
    return array.astype(np.float64) if array.dtype == np.float32 else array


def _flushed(array: np.ndarray, rounding: Rounding) -> np.ndarray:
    """A step's own intermediate values are flushed too, so that some more than the denormals may vanish."""
    if array.dtype != np.float32:
        return array
    return np.where(np.abs(array) < 2.0**10 * np.finfo(np.float32).tiny, array * 0, array)


def _of_positive_zeros(array: np.ndarray, rounding: Rounding) -> np.ndarray:
    return array + np.float32(0) if array.dtype == np.float32 else array


def _of_negative_zeros(array: np.ndarray, rounding: Rounding) -> np.ndarray:
    return np.where(array == 0, np.float32(-0.0), array) if array.dtype == np.float32 else array


def _moved(draw: int) -> Step:
    """Return a step by up to four ulps, the same for equal values: ties stay ties. Multiples of a half are exact.

    Over the draws zero is moved in both directions: a power is defined on one side of zero only.
    """

    def step(array: np.ndarray, rounding: Rounding) -> np.ndarray:
        if array.dtype != np.float32:
            return array
        ulps = ((array.view(np.uint32) + np.uint32(draw)) * np.uint32(2654435761) >> np.uint32(draw)) % 9 - 4.0
        is_exact = rounding.has_exact & (array * 2 == np.round(array * 2))
        apart = ulps * 2.0**-23 * np.fmax(np.abs(array), rounding.magnitude)
        return np.where(is_exact, array, array + apart).astype(np.float32)

    return step


def _worst(want: np.ndarray, got: np.ndarray) -> str:
    if want.shape != got.shape or want.dtype != got.dtype:
        return f"expected {want.dtype}{list(want.shape)}, got {got.dtype}{list(got.shape)}"
    apart = np.nan_to_num(np.abs(want.astype(np.float64) - got.astype(np.float64)), nan=np.inf)
    place = np.unravel_index(int(np.argmax(apart)), want.shape) if want.ndim else ()
    count = int(np.sum(want != got))
    return f"expected {want[place]}, got {got[place]} at {[int(i) for i in place]}; {count} of {want.size} differ"


def _verdict(language: Language, source: Any, samples: Sequence[Arrays], target: str) -> str:
    """Return whether verification, on the same samples, tells that the target differs."""
    options = language.options(source, samples)
    report = trueport.convert(source, to=target, data=[dict(sample) for sample in samples], **options).report
    found = report.comparison
    return "silent" if found is not None and found.verdict is Verdict.FAITHFUL else "told"
