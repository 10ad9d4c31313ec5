"""A check as people read it in a terminal: the answer first, then one block per reason, worst first.

Rich finds out how wide the terminal is and whether it shows colours; ``NO_COLOR`` and pipes get none.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import IO

from rich.console import Console
from rich.text import Text

from trueport.checking.remarks import Group, Severity
from trueport.fidelity import EXACT, UNSUPPORTED
from trueport.report.data import Report
from trueport.report.groups import counted, groups_of, headline

__all__ = ["print_check"]

_WIDEST = 120
_PIPE = 100
"""Columns where nothing says how wide the reader's window is."""
_SHOWN = 8
_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold blue"}


def print_check(report: Report, file: IO[str], *, every: bool = False) -> None:
    """Print what was found; ``every`` lists all places of a reason, else only the first few."""
    console = Console(file=file, highlight=False, soft_wrap=True)
    width = min(console.width, _WIDEST) if console.is_terminal else _PIPE
    console.print(Text.assemble(f"{report.source} → {report.target}: ", (headline(report), _verdict_style(report))))
    console.print(Text(f"  {counted(report)}"))
    if report.captured_by:
        console.print(Text(f"  captured by {report.captured_by}"))
    for group in groups_of(report):
        console.print()
        for line in _group(group, None if every else _SHOWN, width):
            console.print(line)


def _verdict_style(report: Report) -> str:
    if report.fidelity <= EXACT:
        return "bold green"
    return "bold red" if report.fidelity == UNSUPPORTED else "bold yellow"


def _group(group: Group, shown: int | None, width: int) -> Iterator[Text]:
    word = group.severity.word
    head = _wrapped(f"{word} [{group.rule}] {group.because}", width, "")
    head.stylize(_STYLES[group.severity], 0, len(word))
    yield head
    for place in _places(group, shown):
        yield _wrapped(place, width, "    ")
    if group.remedy:
        yield Text.assemble((_wrapped(f"→ {group.remedy}", width, "    ").plain, "italic"))


def _wrapped(words: str, width: int, indent: str) -> Text:
    """Lines after the first stand a little deeper; a name is never cut."""
    return Text(
        textwrap.fill(
            words,
            width,
            initial_indent=indent,
            subsequent_indent=f"{indent}  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    )


def _places(group: Group, shown: int | None) -> Iterator[str]:
    places = [f"{remark.where}, {remark.source}" if remark.source else remark.where for remark in group.remarks]
    yield from places[:shown]
    if shown is not None and len(places) > shown:
        yield f"… and {len(places) - shown} more; --verbose lists them"
