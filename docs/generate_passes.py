"""The page of the passes in their order, printed from their lists."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from trueport.backends.onnx.opset import passes_to_opset
from trueport.backends.tensorflow.registry import registry
from trueport.passes.canonical import CANONICALIZE
from trueport.passes.from_exporter import SETTLE
from trueport.passes.pass_list import Fact, Kept, PassList
from trueport.passes.to_onnx import FOR_ONNX, OLDEST_OPSET
from trueport.passes.to_tensorflow import passes_for_tensorflow

__all__ = ["passes_page"]

_INTRODUCTION = """\
# Passes

Printed from the code by `make docs`. A pass changes a graph in place. It says what it needs, what it ensures and what
it keeps. A list in which a pass needs what no earlier one ensures can't be built. A test runs each list pass by pass
and compares what each says that it keeps.
"""


def passes_page() -> str:
    """Every list of passes with the reasons for their order, and the words that it uses."""
    lists = (CANONICALIZE, passes_for_tensorflow(registry()), SETTLE, FOR_ONNX, passes_to_opset(OLDEST_OPSET, ()))
    words = ["## Words", "", "| word | meaning |", "| --- | --- |", *_meanings(Fact), *_meanings(Kept)]
    return "\n".join([_INTRODUCTION, *(line for one in lists for line in _table(one)), *words]) + "\n"


def _table(passes: PassList) -> Iterable[str]:
    yield from (f"## {passes.name}", "")
    if passes.given:
        yield from (f"Given: {_words(passes.given)}.", "")
    yield from ("| | pass | needs | ensures | keeps | because |", "| --- | --- | --- | --- | --- | --- |")
    for place, step in enumerate(passes, 1):
        needs, ensures, keeps = map(_words, (step.needs, step.ensures, step.keeps))
        ended = f"; ends {_words(step.ends)}" if step.ends else ""
        yield f"| {place} | {step.name} | {needs} | {ensures}{ended} | {keeps} | {step.because} |"
    yield ""


def _words(items: Iterable[Enum]) -> str:
    return ", ".join(item.name.lower() for item in items)


def _meanings(words: type[Enum]) -> Iterable[str]:
    return (f"| {word.name.lower()} | {word.value} |" for word in words)
