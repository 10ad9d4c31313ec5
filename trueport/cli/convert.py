"""``trueport convert``."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trueport.cli.words import (
    FAITHFUL,
    NOT_FAITHFUL,
    CustomDomain,
    Data,
    Dynamic,
    Example,
    Json,
    Names,
    Ops,
    Quiet,
    Shapes,
    Signature,
    Source,
    Trust,
    Verbose,
)

if TYPE_CHECKING:
    from trueport.report.data import Report

__all__ = ["convert"]


def convert(
    source: Source,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="a folder for a SavedModel, or a file NAME.onnx or NAME.tflite")
    ],
    ops: Ops = None,
    opset: Annotated[int | None, typer.Option(help="of the ONNX file; by default the lowest that is exact")] = None,
    signature: Signature = None,
    inputs: Names = None,
    outputs: Names = None,
    shape: Shapes = None,
    example: Example = None,
    dynamic: Dynamic = None,
    inputs_as_nchw: Annotated[str | None, typer.Option(metavar="X,Y", help="take these inputs channel-first")] = None,
    outputs_as_nchw: Annotated[str | None, typer.Option(metavar="X,Y", help="give these outputs channel-first")] = None,
    external_data: Annotated[bool, typer.Option("--external-data", help="weights in a file of their own")] = False,
    extensions: Annotated[
        bool, typer.Option("--extensions", help="allow operators of onnxruntime-extensions where ONNX has none")
    ] = False,
    custom_domain: CustomDomain = None,
    trust: Trust = False,
    verify: Annotated[bool, typer.Option(help="compare the written model with the source")] = True,
    data: Data = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="replace a model of the same form")] = False,
    report: Annotated[Path | None, typer.Option(help="write a report to this file: .html, .json or .md")] = None,
    profile: Annotated[
        bool | None, typer.Option(help="measure the error inside of the network too; with --report X.html by default")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Convert a model, compare what was written with the source, and say what was lost."""
    from trueport.cli.options import source_options
    from trueport.cli.progress import progress
    from trueport.pipeline import convert_file
    from trueport.report.writing import check_place, write_rendered

    if report is not None:
        check_place(report, output)
    if profile is None:
        profile = verify and report is not None and report.suffix.lower() == ".html"
    with progress(enabled=not (quiet or json)) as step:
        result = convert_file(
            source,
            output,
            ops=ops or (),
            verify=verify,
            profile=profile,
            data=data or None,
            overwrite=overwrite,
            progress=step,
            **source_options(locals()),
        )
    result = result.with_command(shlex.join(["trueport", *sys.argv[1:]]))
    if report is not None:
        write_rendered(report, result.to_json())
    if not quiet:
        typer.echo(result.to_json() if json else str(result))
    raise typer.Exit(_exit_code(result, verify))


def _exit_code(result: Report, verified: bool) -> int:
    from trueport.fidelity import LOSSY, Verdict

    lossy = result.fidelity >= LOSSY
    departs = verified and result.verdict != Verdict.FAITHFUL
    return NOT_FAITHFUL if lossy or departs else FAITHFUL
