"""What became of a program: agrees, refused, differs (told or silent), or crashed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

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

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Outcome:
    """What became of one program on one target."""

    seed: int
    target: str
    kind: str
    """agrees, refused, invalid (the framework cannot trace it with dynamic dims), told (differs, and verification
    says so), silent (differs, called faithful), crashed"""
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
            kind = _verdict(language, source, samples, target) if why else "agrees"
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
    return bool(np.all(same | (close & finite & np.isfinite(other))))


def _noise(language: Language, program: Program, index: int) -> dict[str, Any]:
    """Return how far the source's float32 results move, by output: on float64 inputs, and on inputs some ulps away.

    Ties of the second sample are exact, so its inputs are not moved. Empty where the framework runs neither.
    """
    plain = samples_of(program)[index]
    moved = [{name: _as(array, np.float64) for name, array in plain.items()}]
    if index != 1:
        moved += [{name: _moved(array, factor) for name, array in plain.items()} for factor in (-4, 4)]
    try:
        middle = _results(language, program, plain)
    except Rejected:
        return {}
    noise: dict[str, Any] = {}
    for inputs in moved:
        try:
            other = _results(language, program, inputs)
        except Rejected:
            continue
        for out in program.outputs:
            if middle[out].shape == other[out].shape:
                apart = np.abs(_as(middle[out] * 1, np.float64) - _as(other[out] * 1, np.float64))
                noise[out] = np.fmax(noise.get(out, 0.0), apart)
    return noise


def _results(language: Language, program: Program, inputs: Arrays) -> dict[str, Any]:
    values = dict(inputs)
    for out, line in program.lines:
        values[out] = language.evaluate(line, out, values)
    return values


def _as(array: np.ndarray, dtype: Any) -> np.ndarray:
    return array.astype(dtype) if array.dtype == np.float32 else array


def _moved(array: np.ndarray, ulps: int) -> np.ndarray:
    return array * np.float32(1 + ulps * 2.0**-23) if array.dtype == np.float32 else array


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
