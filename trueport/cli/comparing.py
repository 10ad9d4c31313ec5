"""What ``verify`` and ``locate`` share: their reports, and the command that is proposed next."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trueport.report.profile import Profile
    from trueport.report.verification import Subject
    from trueport.stages import Source
    from trueport.verifying.locate.result import Located
    from trueport.verifying.verification import Verification

__all__ = ["check_report", "inspect", "subject_of", "write_comparison"]


def check_report(report: Path | None, *models: Path) -> None:
    """Refuse a report that could not be written, or that would be a part of a model, before any work is done."""
    from trueport.report.writing import check_place

    if report is not None:
        for model in models:
            check_place(report, model)


def subject_of(source: Path, target: Path, options: Mapping[str, Any], report: Path | None) -> Subject:
    """Return the two models, with the options that were given, for the command that is proposed next."""
    from trueport.report.verification import Subject

    words: list[str] = []
    for name, value in options.items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                words.append(f"--{name}")
            elif one is not None and one is not False and (name, one) != ("seed", 0):
                words += [f"--{name}", str(one)]
    return Subject(str(source), str(target), tuple(words), is_reported=report is not None)


def inspect(find: Callable[[], Located]) -> Profile:
    """Return what locating finds inside of two models, or the reason why nothing can be measured there."""
    from trueport.errors import TrueportError
    from trueport.report.measure import profile_of
    from trueport.report.profile import Profile

    try:
        return profile_of(find())
    except TrueportError as error:
        return Profile((), why=str(error))


def write_comparison(
    report: Path,
    task: str,
    models: tuple[Path, Path],
    found: Verification,
    profile: Profile | None,
    *,
    taken: Mapping[str, Any],
    began: float,
) -> None:
    """Write the report of a comparison in the form that its name says."""
    from trueport import __version__
    from trueport.report.compared import compared_report
    from trueport.report.writing import write_rendered

    sources = _opened(models, taken)
    command = shlex.join(["trueport", *sys.argv[1:]])
    seconds = {task: time.perf_counter() - began}
    made = compared_report(task, sources, found, profile, seconds=seconds, version=__version__, command=command)
    write_rendered(report, made.to_json())


def _opened(models: Sequence[Path], taken: Mapping[str, Any]) -> tuple[Source, Source]:
    """Open both models for drawing, with the options that their forms have."""
    from trueport.sources.open import open_source, options_of

    source, target = (
        open_source(
            model,
            ops=taken.get("ops") or (),
            options={name: value for name, value in taken.items() if name in options_of(model) and value},
        )
        for model in models
    )
    if source.needs_example:
        source = source.with_example(target.deployed())
    elif target.needs_example:
        target = target.with_example(source.deployed())
    return source, target
