"""What other converters made of models of three kinds: is it called faithful?

Nobody knows beforehand which of these targets are right. Each that is not called faithful is printed with the node that
departs and the cause, to be looked at.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import torch

from bench import keras_zoo, peers
from bench.faults.faithful import inputs_of
from bench.faults.zoo import ZOO
from bench.models import matching
from bench.table import render
from bench.tf2onnx import saved
from tests.torch.zoo.member import all_members
from trueport.comparison import locate, verify
from trueport.errors import TrueportError
from trueport.fidelity import Verdict
from trueport.frontends.torch.source.call import as_array, make_call
from trueport.lazy import LazyModule

__all__ = ["run_others"]

tf: Any = LazyModule("tensorflow", "TensorFlow", "tensorflow")
Data = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Made:
    """What a tool made of a model; a reason in place of a target that it did not make."""

    tool: str
    model: str
    source: Any
    target: Any
    data: Data
    failure: str = ""
    example: Any = None
    """what a PyTorch module is called with"""


def run_others(cache: Path, models: str = "") -> str:
    """What other converters made of models of three kinds: how much of it is called faithful, and what is not."""
    found: dict[str, list[str]] = {}
    notes = []
    for made in _others(cache, models):
        verdict, why = ("not converted", made.failure) if made.failure else _judged(made)
        found.setdefault(made.tool, []).append(verdict)
        print(f"{made.tool} / {made.model}: {verdict} {why}", file=sys.stderr, flush=True)
        if verdict not in ("faithful", "not converted"):
            notes.append(f"{made.tool} / {made.model}: {verdict}: {why}")
    kinds = ("faithful", "departs", "not compared", "not converted")
    rows = [[tool, *(str(verdicts.count(kind)) for kind in kinds)] for tool, verdicts in found.items()]
    return render("Made by other converters", ["converter", *kinds], rows, notes)


def _judged(made: Made) -> tuple[str, str]:
    try:
        found = verify(made.source, made.target, data=made.data, example_inputs=made.example)
        if found.verdict is None:
            return "not compared", found.skipped
        if found.verdict == Verdict.FAITHFUL:
            return "faithful", f"{max((output.ratio for output in found.outputs), default=0.0):.2g}"
        culprit = locate(made.source, made.target, data=made.data, example_inputs=made.example).culprit
    except TrueportError as error:
        return "not compared", " ".join(str(error).split())
    worst = max(found.outputs, key=lambda output: output.ratio)
    blamed = f"{culprit.op} {culprit.value!r}: {'; '.join(map(str, culprit.causes))}" if culprit else "no node"
    return "departs", f"{worst.name}: {worst.why}; {blamed}"


def _others(cache: Path, models: str) -> Iterator[Made]:
    """Networks by their own names; ``models`` chooses."""
    for tool in peers.PEERS:
        for model in matching(models, quick=False):
            source, target = model.file(cache), cache / "saved" / tool.name / model.name
            yield Made(tool.name, model.name, source, target, [model.sample()], _once(tool, source, target))
    yield from (_onnx2tf(name, make(), cache) for name, make in ZOO.items() if models in name)
    for net in keras_zoo.matching(models, quick=False):
        source, data = saved(net, cache), [net.sample(1), net.sample(2)]
        yield _tf2onnx(net.name, source, data, cache)
        yield _tflite(net.name, source, data, cache)
    for exporter, dynamo in (("torch.onnx", True), ("torch.onnx, TorchScript", False)):
        yield from _torch(exporter, dynamo, models, cache)


def _onnx2tf(name: str, source: onnx.ModelProto, cache: Path) -> Made:
    """Of the zoo, whose opset onnx-tf does not know."""
    tool, file = peers.PEERS[0], cache / "others" / "zoo" / f"{name}.onnx"
    file.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(source, file)
    target = cache / "others" / tool.name / name
    return Made(tool.name, name, source, target, inputs_of(source), _once(tool, file, target))


def _tf2onnx(name: str, source: Path, data: Data, cache: Path) -> Made:
    target = cache / "onnx" / "tf2onnx" / f"{name}.onnx"
    return Made("tf2onnx", name, source, target, data, _once(peers.TF2ONNX, source, target))


def _once(tool: peers.Tool, source: Path, target: Path) -> str:
    """Convert, if that was not done before; why it failed, or nothing."""
    reason = peers.reason_file(target)
    if reason.exists():
        return reason.read_text()
    return "" if target.exists() else peers.convert(tool, source, target).failure


def _written(target: Path, write: Callable[[], None]) -> str:
    """As ``_once``, for tools that are called in this process."""
    if target.exists():
        return ""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        write()
    except Exception as error:  # whatever a tool throws at a model that it can't convert
        return f"{type(error).__name__}: {str(error)[:200]}"
    return ""


def _tflite(name: str, source: Path, data: Data, cache: Path) -> Made:
    target = cache / "others" / "tflite" / f"{name}.tflite"

    def write() -> None:
        target.write_bytes(tf.lite.TFLiteConverter.from_saved_model(str(source)).convert())

    return Made("TensorFlow's TFLite converter", name, source, target, data, _written(target, write))


def _torch(tool: str, dynamo: bool, models: str, cache: Path) -> Iterator[Made]:
    for member in (m for members in all_members().values() for m in members if m.quick and models in m.name):
        module, example = member.module(), member.samples()[0]
        target = cache / "others" / tool / f"{member.name}.onnx"
        call = make_call(module, example)
        data = dict(zip(call.names, map(as_array, call.tensors), strict=True))

        def write(module: Any = module, call: Any = call, target: Path = target) -> None:
            options = {"dynamo": dynamo, "input_names": call.names, "verbose": False}
            torch.onnx.export(module, call.args, target, kwargs=call.kwargs, **options)

        yield Made(tool, member.name, module, target, [data], _written(target, write), example)
