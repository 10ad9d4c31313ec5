"""``trueport report`` and ``trueport diff``: looking at what is there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trueport.cli.words import FAITHFUL, NOT_FAITHFUL, Json, Quiet, Signature, Trust, Verbose

__all__ = ["diff", "report"]


def report(
    source: Annotated[Path, typer.Argument(help="a report as JSON: what convert --report result.json wrote")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="the file to write: .html, .md or .json; else it is printed")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Show a report again: in the terminal, as a page, as Markdown. Reports of older versions are read too."""
    from trueport.report.data import Report
    from trueport.report.forms import check_form, read_report, rendered
    from trueport.report.writing import write_rendered

    text = read_report(source)
    if output is not None:
        check_form(output)
        write_rendered(output, text)
    if json:
        typer.echo(rendered(text, ".json"), nl=False)
    elif output is None and not quiet:
        typer.echo(str(Report.from_json(text)))


def diff(
    first: Annotated[Path, typer.Argument(help="an .onnx file or a SavedModel")],
    second: Annotated[Path, typer.Argument(help="another one of the same form")],
    signature: Signature = None,
    trust: Trust = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Compare two models of one form as graphs: nodes, attributes, weights.

    Exit codes: 0 the same; 1 different; 2 refused.
    """
    import json as jsonlib

    from trueport.cli.progress import progress
    from trueport.comparison import diff as compare
    from trueport.report.plain import plain

    with progress(enabled=not (json or quiet)) as step:
        step("compare")
        found = compare(first, second, signature=signature, trust=trust)
    if json:
        typer.echo(jsonlib.dumps({"same": found.same, **plain(found)}, indent=1))
    elif not quiet:
        typer.echo(str(found))
    raise typer.Exit(FAITHFUL if found.same else NOT_FAITHFUL)
