"""A network of the zoo taken to its targets: what became of it, judged by the verification of every conversion."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.torch.speed import one_translation
from tests.torch.zoo.member import TARGETS, Member
from trueport.errors import TrueportError
from trueport.fidelity import Verdict
from trueport.frontends.torch.source.call import Call, as_array, make_call
from trueport.pipeline import convert_file

__all__ = ["Outcome", "outcomes"]

_FILES = {"onnx": "model.onnx", "tensorflow": "saved_model"}


@dataclass(frozen=True)
class Outcome:
    """What became of a network on one target."""

    kind: str
    """agrees, refused or departs"""
    why: str
    ratio: float | None = None
    """the worst output's error, as a multiple of what PyTorch itself is off"""


def outcomes(member: Member, targets: Sequence[str] = TARGETS) -> dict[str, Outcome]:
    """Convert to a file, read it back, run it on every sample, judge; by target."""
    module = member.module()
    samples = member.samples()
    calls = [make_call(module, sample) for sample in samples]
    options = {"example_inputs": samples[0], "dynamic_shapes": _open_dims(calls)}
    data = [dict(zip(call.names, map(as_array, call.tensors), strict=True)) for call in calls]
    with one_translation():
        return {target: _outcome(module, target, data, options) for target in targets}


def _outcome(module: Any, target: str, data: Any, options: Mapping[str, Any]) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = convert_file(module, Path(folder, _FILES[target]), data=data, **options).comparison
        except TrueportError as error:
            return Outcome("refused", " ".join(str(error).split()))
    if found is None or found.verdict is None or found.rejected:
        return Outcome("departs", f"not compared: {found}")
    ratio = max((float(output.ratio) for output in found.outputs), default=0.0)
    return Outcome("agrees" if found.verdict == Verdict.FAITHFUL else "departs", str(found), ratio)


def _open_dims(calls: Sequence[Call]) -> str | None:
    """Dims that differ between the calls, by the sizes that they have: equal ones are one dim."""
    known: dict[tuple[int, ...], str] = {}
    words = []
    for name, tensors in zip(calls[0].names, zip(*(call.tensors for call in calls), strict=True), strict=True):
        for axis, sizes in enumerate(zip(*(tensor.shape for tensor in tensors), strict=True)):
            if len(set(sizes)) > 1:
                dim = known.setdefault(sizes, f"n{len(known) or ''}")
                words.append(f"{name}.{axis}={dim}")
    return ",".join(words) or None
