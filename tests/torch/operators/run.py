"""A case taken to its targets: what became of it, judged by the verification that every conversion goes through."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tests.torch.operators.case import TARGETS, Case
from trueport.errors import TrueportError
from trueport.fidelity import Verdict
from trueport.frontends.torch.call import as_array
from trueport.pipeline import convert, convert_file

__all__ = ["Outcome", "outcome", "outcomes"]

_LETTERS = "abcdefgh"


@dataclass(frozen=True)
class Outcome:
    """What became of a case on one target."""

    kind: str
    """agrees, refused or departs"""
    why: str


class _Calls(torch.nn.Module):
    """A function as a module: its inputs are called a, b, c …"""

    def __init__(self, function: Callable[..., Any], count: int) -> None:
        super().__init__()
        names = ", ".join(_LETTERS[:count])
        self.forward = eval(f"lambda {names}: function({names})", {"function": function})


def outcomes(case: Case) -> dict[str, Outcome]:
    """By target."""
    return {target: outcome(case, target) for target in TARGETS}


def outcome(case: Case, target: str) -> Outcome:
    """Convert, run on every sample, judge; an ONNX file is written and read back."""
    samples = case.samples()
    module = _Calls(case.function(), len(samples[0])).eval()
    options = {"example_inputs": tuple(samples[0]), "dynamic_shapes": _open_dims(samples)}
    data = [dict(zip(_LETTERS, map(as_array, sample), strict=False)) for sample in samples]
    try:
        report = _converted(module, target, data, options)
    except TrueportError as error:
        return Outcome("refused", " ".join(str(error).split()))
    found = report.comparison
    if found is None or found.verdict is None or found.rejected:
        return Outcome("departs", f"not compared: {found}")
    if case.random and "shape" not in str(found) and "dtype" not in str(found):
        return Outcome("agrees", "by shape and type")
    return Outcome("agrees" if found.verdict == Verdict.FAITHFUL else "departs", str(found))


def _converted(module: Any, target: str, data: Any, options: Mapping[str, Any]) -> Any:
    if target == "tensorflow":
        return convert(module, to=target, data=data, **options).report
    with tempfile.TemporaryDirectory() as folder:
        return convert_file(module, Path(folder, "model.onnx"), data=data, **options)


def _open_dims(samples: Sequence[Sequence[Any]]) -> str | None:
    """Dims that differ between the samples, by the sizes that they have: equal ones are one dim."""
    names: dict[tuple[int, ...], str] = {}
    words = []
    for letter, tensors in zip(_LETTERS, zip(*samples, strict=True), strict=False):
        for axis, sizes in enumerate(zip(*(tensor.shape for tensor in tensors), strict=True)):
            if len(set(sizes)) > 1:
                name = names.setdefault(sizes, f"n{len(names) or ''}")
                words.append(f"{letter}.{axis}={name}")
    return ",".join(words) or None
