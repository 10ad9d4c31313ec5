"""``trueport check``."""

from __future__ import annotations

import enum
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from trueport.cli.words import (
    FAITHFUL,
    NOT_FAITHFUL,
    REFUSED,
    CustomDomain,
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
)

if TYPE_CHECKING:
    from trueport.report.data import Report

__all__ = ["check"]


class Format(str, enum.Enum):
    """Forms in which findings are printed."""

    TERMINAL = "terminal"
    JSON = "json"
    MARKDOWN = "markdown"
    SARIF = "sarif"


def check(
    source: Source,
    to: Annotated[str | None, typer.Option(help="the target: tensorflow or onnx")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="exit 1 for warnings and approximations too")] = False,
    form: Annotated[Format, typer.Option("--format", help="how to print what was found")] = Format.TERMINAL,
    ops: Ops = None,
    opset: Annotated[int | None, typer.Option(help="of the ONNX file that would be written")] = None,
    signature: Signature = None,
    inputs: Names = None,
    outputs: Names = None,
    shape: Shapes = None,
    example: Example = None,
    dynamic: Dynamic = None,
    extensions: Annotated[
        bool, typer.Option("--extensions", help="allow operators of onnxruntime-extensions where ONNX has none")
    ] = False,
    custom_domain: CustomDomain = None,
    trust: Trust = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="list every node of a finding")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say what would not survive a conversion, node by node, without converting.

    Exit codes: 0 nothing is lost; 1 something is, or is not known before conversion (with
    --strict: or approximated, or a warning); 2 unsupported.
    """
    given = dict(locals())
    with _without_collector():
        from trueport.cli.options import source_options
        from trueport.pipeline import check as check_model

        result = check_model(source, to, ops=ops or (), **source_options(given))
    if not quiet:
        _show(result, Format.JSON if json else form, every=verbose)
    raise typer.Exit(_exit_code(result, strict=strict))


@contextmanager
def _without_collector() -> Iterator[None]:
    """Graphs make hardly any garbage that counting does not find: looking for it takes an eighth of the time.

    What is there after it lives until the process ends and need not be looked through again.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _show(result: Report, form: Format, *, every: bool) -> None:
    if form is Format.TERMINAL:
        from trueport.report.terminal import print_check

        print_check(result, sys.stdout, every=every)
    elif form is Format.JSON:
        typer.echo(result.to_json())
    elif form is Format.MARKDOWN:
        from trueport.report.markdown import render_markdown

        typer.echo(render_markdown(result), nl=False)
    else:
        from trueport import __version__
        from trueport.report.sarif import render_sarif

        typer.echo(render_sarif(result, __version__))


def _exit_code(result: Report, *, strict: bool) -> int:
    """Notes never count; warnings and approximations count where they were asked for; 0 promises a conversion."""
    from trueport.checking.remarks import Severity
    from trueport.fidelity import APPROXIMATE, LOSSY, UNSUPPORTED

    if result.fidelity == UNSUPPORTED:
        return REFUSED
    if result.undecided:
        return NOT_FAITHFUL
    warned = strict and any(remark.severity >= Severity.WARNING for remark in result.remarks)
    return NOT_FAITHFUL if warned or result.fidelity >= (APPROXIMATE if strict else LOSSY) else FAITHFUL
