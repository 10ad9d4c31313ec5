"""The page that says, name by name, what of Keras and TensorFlow converts: ``python -m tests.coverage.table write``."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import keras
import tensorflow as tf

from tests.coverage.case import AnyCase, Cannot, Case, Elsewhere, NoGraph, all_cases
from tests.coverage.names import public_names

__all__ = ["PAGE", "page"]

PAGE = Path(__file__).parents[2] / "docs" / "coverage.md"
_INTRODUCTION = """\
Found by looking at Keras {keras} and TensorFlow {tensorflow}: every public layer, every function of keras.ops, every
model family, and the functions of TensorFlow's inference namespaces. A name *converts* when the tests convert it, run
the file in ONNX Runtime at two sizes and find TensorFlow's numbers; *refused* when ONNX can't express it; *emits
nothing* when there is nothing to convert in inference. Printed by `python -m tests.coverage.table write`; a name
without a case fails the tests."""
_WORDS = {Case: "converts", Elsewhere: "converts", Cannot: "refused", NoGraph: "emits nothing"}
Found = dict[str, list[AnyCase]]


def page() -> str:
    """Counts by namespace, then everything that does not convert, with its reason, then the names that do."""
    found: Found = {name: [] for name in public_names()}
    for case in all_cases():
        found[case.name].append(case)
    lines = [
        "# Coverage of Keras and TensorFlow",
        "",
        _INTRODUCTION.format(keras=keras.__version__, tensorflow=tf.__version__),
        "",
        *_counts(found),
        "",
        "## Refused",
        "",
        *_reasons(found, Cannot),
        "",
        "## Emits nothing in inference",
        "",
        *_reasons(found, NoGraph),
        "",
        "## Converts",
        "",
        *_converting(found),
    ]
    return "\n".join(lines) + "\n"


def _space(name: str) -> str:
    return name.rpartition(".")[0]


def _kind(cases: list[AnyCase]) -> str:
    """A name with a case that converts does, though another way to call it may be refused."""
    return next((word for kind, word in _WORDS.items() if any(isinstance(c, kind) for c in cases)), "no case")


def _counts(found: Found) -> list[str]:
    counted = Counter((_space(name), _kind(cases)) for name, cases in found.items())
    lines = ["| namespace | converts | refused | emits nothing | all |", "| --- | --- | --- | --- | --- |"]
    for space in [*sorted({space for space, _ in counted}), ""]:
        chosen = {key: count for key, count in counted.items() if space in ("", key[0])}
        numbers = [sum(n for (_, kind), n in chosen.items() if kind == word) for word in dict.fromkeys(_WORDS.values())]
        cells = [space or "**all**", *(str(n or "") for n in numbers), str(sum(numbers))]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _reasons(found: Found, kind: type) -> list[str]:
    rows = [
        (c.name, c.why)
        for cases in found.values()
        for c in cases
        if isinstance(c, kind) and _kind(cases) == _WORDS[kind]
    ]
    lines = ["| name | why |", "| --- | --- |"]
    return [*lines, *(f"| `{name}` | {why.replace('|', '/')} |" for name, why in rows)]


def _converting(found: Found) -> list[str]:
    lines: list[str] = []
    for space in sorted({_space(name) for name in found}):
        names = [
            name.rpartition(".")[2]
            for name, cases in found.items()
            if _space(name) == space and _kind(cases) == "converts"
        ]
        if names:
            lines += [f"**{space}**: " + ", ".join(names), ""]
    return lines[:-1]


if __name__ == "__main__":
    if sys.argv[1:] == ["write"]:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(page())
