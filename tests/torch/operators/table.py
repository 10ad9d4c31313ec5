"""The page that says, name by name, what of PyTorch converts: ``python -m tests.torch.operators.table write``."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import torch

from tests.torch.operators.case import TARGETS, AnyCase, Case, NoGraph, Untried, all_cases
from tests.torch.operators.names import public_names

__all__ = ["PAGE", "page"]

PAGE = Path(__file__).parents[3] / "docs" / "torch-operators.md"
_INTRODUCTION = """\
Found by looking at PyTorch {torch}: every public function of torch.nn.functional, torch.special, torch.fft and
torch.linalg, the operators of the core ATen set, and functions of torch itself that networks meet often. A name
*converts* when the tests convert it, run the result at two sizes of an open dim, and verification finds it faithful to
PyTorch; *refused* when it is not converted, with the reason; *emits nothing* when there is nothing to convert in
inference. *Some ways* means that one way to call it converts and another one is refused. None converts and departs.

That is said of the numbers that were tried, which stand at each name: floats from the least to the largest, with -0, ∞
and NaN where they are named, whole numbers from the least to the largest. What lies outside of that was not tried: of
most functions larger numbers, ∞ and NaN where they are not named, whole numbers where only floats are, numbers too
small to be normal (which runtimes may flush to zero), half precision but for those that name it. NaN among numbers that
are put in order (amax, argmax, sort, topk) is left out on purpose:
[runtimes differ there](specification-notes.md#nan-in-orderings). `trueport verify --data` tries any others.

Printed by `python -m tests.torch.operators.table write`; a name without a case fails the tests, and so does a refusal
that no longer is one."""
_WORDS = ("converts", "some ways", "refused", "emits nothing")
Found = dict[str, list[AnyCase]]


def page() -> str:
    """Counts by namespace, what is refused and why, what emits nothing, then all names."""
    found: Found = {name: [] for name in public_names()}
    for case in all_cases():
        found[case.name].append(case)
    lines = [
        "# Coverage of PyTorch",
        "",
        _INTRODUCTION.format(torch=torch.__version__.partition("+")[0]),
        "",
        *_counts(found),
        "",
        "## Refused",
        "",
        *_refused(found),
        "",
        "## Emits nothing in inference",
        "",
        "| name | why |",
        "| --- | --- |",
        *(f"| `{c.name}` | {c.why} |" for cases in found.values() for c in cases if isinstance(c, NoGraph)),
        "",
        "## Not tried",
        "",
        "| name | why |",
        "| --- | --- |",
        *(f"| `{c.name}` | {c.why} |" for cases in found.values() for c in cases if isinstance(c, Untried)),
        "",
        "## All names",
        "",
        "| name | ways | → ONNX | → TensorFlow | numbers |",
        "| --- | --- | --- | --- | --- |",
        *(_row(name, cases) for name, cases in found.items()),
    ]
    return "\n".join(lines) + "\n"


def _word(cases: list[AnyCase], target: str) -> str:
    ways = [target not in case.cannot for case in cases if isinstance(case, Case)]
    if not ways:
        return "not tried" if any(isinstance(case, Untried) for case in cases) else "emits nothing"
    return "converts" if all(ways) else "some ways" if any(ways) else "refused"


def _space(name: str) -> str:
    return "aten (core)" if name.startswith("aten.") else name.rpartition(".")[0]


def _counts(found: Found) -> list[str]:
    head = ["| namespace | names | " + " | ".join(f"→ {target}: {word}" for target in TARGETS for word in _WORDS[:3])]
    lines = [head[0] + " | emits nothing |", "| --- " * (3 + 2 * 3) + "|"]
    spaces = sorted({_space(name) for name in found})
    for space in [*spaces, ""]:
        chosen = [cases for name, cases in found.items() if space in ("", _space(name))]
        counted = [Counter(_word(cases, target) for cases in chosen) for target in TARGETS]
        numbers = [count[word] for count in counted for word in _WORDS[:3]]
        cells = [space or "**all**", str(len(chosen)), *(str(n or "") for n in numbers)]
        lines.append("| " + " | ".join([*cells, str(counted[0]["emits nothing"] or "")]) + " |")
    return lines


def _refused(found: Found) -> list[str]:
    lines = ["| name | way | to | why |", "| --- | --- | --- | --- |"]
    for cases in found.values():
        for case in cases:
            if isinstance(case, Case) and case.cannot:
                targets = "both" if len(case.cannot) == len(TARGETS) else ", ".join(case.cannot)
                why = "; ".join(dict.fromkeys(case.cannot.values()))
                lines.append(f"| `{case.name}` | {case.label} | {targets} | {why.replace('|', '/')} |")
    return lines


def _row(name: str, cases: list[AnyCase]) -> str:
    ways = sum(isinstance(case, Case) for case in cases)
    words = " | ".join(_word(cases, target) for target in TARGETS)
    return f"| `{name}` | {ways or ''} | {words} | {_numbers([case for case in cases if isinstance(case, Case)])} |"


def _numbers(cases: list[Case]) -> str:
    """What the inputs of some cases hold, by type."""
    found: dict[str, list[Any]] = {}
    for case in cases:
        for sample in case.samples():
            for tensor in sample:
                found.setdefault(str(tensor.dtype).removeprefix("torch."), []).append(tensor)
    return "; ".join(f"{kind}{_span(tensors)}" for kind, tensors in sorted(found.items()))


def _span(tensors: list[Any]) -> str:
    """The ends of the numbers in tensors of one type, and those that are none."""
    flat = torch.cat([(torch.view_as_real(t) if t.is_complex() else t).reshape(-1) for t in tensors])
    if flat.dtype == torch.bool or not flat.numel():
        return ""
    if not flat.is_floating_point():
        return f" {flat.min()}..{flat.max()}"
    wide = flat.double()
    numbers = wide[wide.isfinite()]
    odd = {"-0": (numbers == 0) & numbers.signbit(), "∞": wide.isinf(), "NaN": wide.isnan()}
    ends = f" {numbers.min():.2g}..{numbers.max():.2g}" if numbers.numel() else ""
    return ends + "".join(f", {word}" for word, places in odd.items() if bool(places.any()))


if __name__ == "__main__":
    if sys.argv[1:] == ["write"]:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(page())
