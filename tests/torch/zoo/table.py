"""The page of the zoo: ``python -m tests.torch.zoo.table write`` converts all of it, or only what is named after it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import torch
import transformers

from tests.torch.speed import one_registry
from tests.torch.zoo.member import TARGETS, Member, all_members
from tests.torch.zoo.run import Outcome, outcomes

__all__ = ["PAGE", "cells", "page_names", "rows_of"]

PAGE = Path(__file__).parents[3] / "docs" / "torch-zoo.md"
_INTRODUCTION = """\
Networks with random weights, taken from PyTorch {torch} to an ONNX file and to a SavedModel. What was written is read
back and run at two sizes of every open dim, and verification compares it with PyTorch. *agrees* means that it is
faithful; the number is the worst output's error as a multiple of PyTorch's own distance from float64 (above 8 it would
not be faithful). Architectures are those of transformers {transformers}, in tiny
configurations. Printed by `python -m tests.torch.zoo.table write`."""
_TITLES = {
    "transformers_text": "Architectures: text",
    "transformers_media": "Architectures: images, sound, several at once",
    "modules_attention": "Attention",
    "modules_layers": "Layers",
    "modules_numbers": "Kinds of numbers",
    "modules_places": "Places: gathering, scattering, choosing",
    "modules_recurrent": "Recurrent",
    "modules_space": "Convolutions, pools, resizing",
    "modules_structure": "Structure: control flow, views, nesting, losses",
}
_ROW = re.compile(r"\| (?P<name>[^|]+?) \| (?P<cells>.+) \|")
_HEAD = ["| network | → ONNX | ratio | → TensorFlow | ratio |", "| --- | --- | --- | --- | --- |"]
Rows = Mapping[str, str]


def rows_of(text: str) -> dict[str, str]:
    """The rows of a page by the network's name."""
    found = (_ROW.fullmatch(line) for line in text.splitlines())
    return {match["name"]: match["cells"] for match in found if match and match["name"] not in ("network", "---")}


def page_names() -> list[str]:
    return list(rows_of(PAGE.read_text(encoding="utf-8")))


def cells(member: Member, found: Mapping[str, Outcome]) -> str:
    """What became of a network, as a row has it."""
    return " | ".join(part for target in TARGETS for part in _cell(member, target, found[target]))


def _cell(member: Member, target: str, found: Outcome) -> tuple[str, str]:
    if found.kind == "agrees":
        return "agrees", f"{found.ratio:.2g}"
    why = member.cannot.get(target) if found.kind == "refused" else member.departs.get(target)
    return f"**{found.kind}**: {(why or found.why).replace('|', '/')}", ""


def _page(rows: Rows) -> str:
    lines = ["# Networks of PyTorch", ""]
    lines += [_INTRODUCTION.format(torch=torch.__version__.partition("+")[0], transformers=transformers.__version__)]
    groups = all_members()
    for title, members in ((_TITLES[module], members) for module, members in groups.items()):
        lines += ["", f"## {title}", "", f"{_counted(members, rows)}", "", *_HEAD]
        lines += [f"| {member.name} | {rows[member.name]} |" for member in members if member.name in rows]
    return "\n".join(lines) + "\n"


def _counted(members: Sequence[Member], rows: Rows) -> str:
    known = [rows[member.name] for member in members if member.name in rows]
    agreeing = sum(row.count("agrees") == len(TARGETS) for row in known)
    return f"{len(known)} networks, {agreeing} agree on both targets."


def _fresh(members: Sequence[Member]) -> Iterator[tuple[str, str]]:
    with one_registry():
        for member in members:
            print(member.name, flush=True)
            yield member.name, cells(member, outcomes(member))


def _write(chosen: Sequence[str]) -> None:
    """Convert and print; the page is written after each, so that nothing is lost when it is broken off."""
    rows = rows_of(PAGE.read_text(encoding="utf-8")) if PAGE.exists() else {}
    members = [member for members in all_members().values() for member in members]
    for name, row in _fresh([member for member in members if not chosen or member.name in chosen]):
        rows[name] = row
        PAGE.write_text(_page(rows), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] != ["write"]:
        raise SystemExit("usage: python -m tests.torch.zoo.table write [NAME …]")
    _write(sys.argv[2:])
