"""``trueport verify`` and ``trueport locate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trueport.cli.words import FAITHFUL, NOT_FAITHFUL, Data, Json, Ops, Signature, Source

__all__ = ["locate", "verify"]

Target = Annotated[Path, typer.Argument(help="the model that was made of it, in any form")]
Seed = Annotated[int, typer.Option(help="of the inputs that are made")]
Limit = Annotated[float | None, typer.Option("--k", help="how many times what rounding explains is still faithful")]


def verify(
    source: Source,
    target: Target,
    data: Data = None,
    seed: Seed = 0,
    k: Limit = None,
    signature: Signature = None,
    ops: Ops = None,
    json: Json = False,
) -> None:
    """Say whether two models give the same numbers, by the float64 truth and the source's own noise."""
    from trueport.cli.arrays import read_samples
    from trueport.cli.progress import progress
    from trueport.comparison import verify as compare
    from trueport.fidelity import Verdict
    from trueport.report.verification import render

    given = {"k": k} if k is not None else {}
    with progress(enabled=not json) as step:
        step("verify")
        samples = read_samples(data) if data else None
        found = compare(source, target, data=samples, seed=seed, ops=ops or (), signature=signature, **given)
    typer.echo(render(found, json=json))
    raise typer.Exit(FAITHFUL if found.verdict == Verdict.FAITHFUL else NOT_FAITHFUL)


def locate(
    source: Source,
    target: Target,
    data: Data = None,
    seed: Seed = 0,
    k: Limit = None,
    signature: Signature = None,
    ops: Ops = None,
    reproduce: Annotated[Path | None, typer.Option(help="write the smallest model that shows it here")] = None,
    json: Json = False,
) -> None:
    """Name the first node that departs: its own error, what it inherited, and the likely cause."""
    from trueport.cli.arrays import read_samples
    from trueport.cli.progress import progress
    from trueport.comparison import locate as find
    from trueport.report.verification import render_located

    given: dict[str, Any] = {"k": k} if k is not None else {}
    with progress(enabled=not json) as step:
        step("locate")
        samples = read_samples(data) if data else None
        settings = {**given, "reproduce": reproduce} if reproduce is not None else given
        found = find(source, target, data=samples, seed=seed, ops=ops or (), signature=signature, **settings)
    typer.echo(render_located(found, json=json))
    raise typer.Exit(NOT_FAITHFUL if found.culprit or any(s.ratio > found.k for s in found.steps) else FAITHFUL)
