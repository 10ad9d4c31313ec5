"""A case taken to its targets: what became of it, judged by the verification that every conversion goes through."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tests.torch.operators.case import TARGETS, Case
from tests.torch.speed import one_translation
from trueport.errors import TrueportError
from trueport.fidelity import Verdict
from trueport.frontends.torch.source.call import as_array
from trueport.pipeline import convert, convert_file

__all__ = ["Outcome", "outcome", "outcomes"]

_AT_ONCE = 16
"""Cases to a module: a conversion costs seconds, however little is in it."""


@dataclass(frozen=True)
class Outcome:
    """What became of a case on one target."""

    kind: str
    """agrees, refused or departs"""
    why: str


def outcomes(cases: Sequence[Case]) -> Iterator[tuple[Case, dict[str, Outcome]]]:
    """Of many cases, by target: as outputs of one module where that converts, each alone where it does not."""
    apart = [case for case in cases if case.random or case.fixed or case.cannot]
    together = [case for case in cases if case not in apart]
    for kind in sorted({case.kind for case in together}):
        alike = [case for case in together if case.kind == kind]
        for start in range(0, len(alike), _AT_ONCE):
            yield from _halving(alike[start : start + _AT_ONCE])
    for case in apart:
        yield case, outcome(case)


def _halving(cases: Sequence[Case]) -> Iterator[tuple[Case, dict[str, Outcome]]]:
    """The outcomes of a module of all; of its halves when it can't be converted as a whole."""
    if len(cases) == 1:
        yield cases[0], outcome(cases[0])
        return
    found = _verified([_Part(case) for case in cases])
    if any(isinstance(made, Outcome) or made.verdict is None or made.rejected for made in found.values()):
        middle = len(cases) // 2
        yield from _halving(cases[:middle])
        yield from _halving(cases[middle:])
        return
    for index, case in enumerate(cases):
        own = {target: _worst(made, index) for target, made in found.items()}
        # What departs is looked at alone: others' dims and types may have a part in it.
        yield case, own if all(made.kind == "agrees" for made in own.values()) else outcome(case)


def _worst(found: Any, index: int) -> Outcome:
    """Of the outputs of one case in a module of several."""
    own = [output for output in found.outputs if output.name.split("_")[1] == str(index)]
    worst = max(own, key=lambda output: (output.verdict != Verdict.FAITHFUL, output.ratio))
    return Outcome("agrees" if worst.verdict == Verdict.FAITHFUL else "departs", worst.why)


def outcome(case: Case) -> dict[str, Outcome]:
    """Convert, run on every sample, judge; an ONNX file is written and read back."""
    return {target: _told(case, found) for target, found in _verified([_Part(case)]).items()}


def _told(case: Case, found: Any) -> Outcome:
    if isinstance(found, Outcome):
        return found
    if found.verdict is None or found.rejected:
        return Outcome("departs", f"not compared: {found}")
    if case.random and "shape" not in str(found) and "dtype" not in str(found):
        return Outcome("agrees", "by shape and type")
    return Outcome("agrees" if found.verdict == Verdict.FAITHFUL else "departs", str(found))


class _Part:
    """A case with its samples, as one of a module's outputs."""

    def __init__(self, case: Case) -> None:
        self.function = case.function()
        self.samples = case.samples()
        self.count = len(self.samples[0])


class _Calls(torch.nn.Module):
    """Functions as a module: its inputs are called a0, a1, b0 …, one letter for each function."""

    def __init__(self, parts: Sequence[_Part]) -> None:
        super().__init__()
        names = [[f"{_letter(index)}{number}" for number in range(part.count)] for index, part in enumerate(parts)]
        calls = ", ".join(f"'out_{i}_': f[{i}]({', '.join(own)})" for i, own in enumerate(names))
        code = f"lambda {', '.join(name for own in names for name in own)}: {{{calls}}}"
        self.forward = eval(code, {"f": [part.function for part in parts]})
        self.names = [name for own in names for name in own]


def _letter(index: int) -> str:
    return chr(ord("a") + index)


def _verified(parts: Sequence[_Part]) -> dict[str, Any]:
    """Verification's word on a module of these functions, by target; an outcome where it is refused."""
    module = _Calls(parts).eval()
    rows = list(zip(*(part.samples for part in parts), strict=True))
    samples = [[tensor for own in row for tensor in own] for row in rows]
    options = {"example_inputs": tuple(samples[0]), "dynamic_shapes": _open_dims(module.names, samples)}
    data = [dict(zip(module.names, map(as_array, sample), strict=True)) for sample in samples]
    found: dict[str, Any] = {}
    with one_translation():
        for target in TARGETS:
            try:
                found[target] = _converted(module, target, data, options)
            except TrueportError as error:
                found[target] = Outcome("refused", " ".join(str(error).split()))
    return found


def _converted(module: Any, target: str, data: Any, options: Mapping[str, Any]) -> Any:
    if target == "tensorflow":
        return convert(module, to=target, data=data, **options).report.comparison
    with tempfile.TemporaryDirectory() as folder:
        return convert_file(module, Path(folder, "model.onnx"), data=data, **options).comparison


def _open_dims(names: Sequence[str], samples: Sequence[Sequence[Any]]) -> str | None:
    """Dims that differ between the samples, by the sizes that they have: equal ones are one dim."""
    known: dict[tuple[int, ...], str] = {}
    words = []
    for name, tensors in zip(names, zip(*samples, strict=True), strict=True):
        for axis, sizes in enumerate(zip(*(tensor.shape for tensor in tensors), strict=True)):
            if len(set(sizes)) > 1:
                dim = known.setdefault(sizes, f"n{len(known) or ''}")
                words.append(f"{name}.{axis}={dim}")
    return ",".join(words) or None
