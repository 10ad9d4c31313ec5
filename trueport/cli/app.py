"""Commands: each parses its words, calls the library, shows the result and chooses the exit code.

Exit codes: 0 faithful or no findings; 1 finished, but not shown to be faithful; 2 refused.
Nothing heavy is imported before a command runs, so that ``--help`` answers at once.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trueport.errors import TrueportError, UsageError

if TYPE_CHECKING:
    from trueport.report.data import Report

__all__ = ["app", "main"]

FAITHFUL, NOT_FAITHFUL, REFUSED = 0, 1, 2

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Move neural networks between PyTorch, ONNX and TensorFlow, and see that nothing was lost.",
)

Source = Annotated[
    Path,
    typer.Argument(help="the model: an .onnx file (or a zip that holds one), a SavedModel, a .keras, .h5 or .pb file"),
]
Signature = Annotated[str | None, typer.Option(help="which of a SavedModel's signatures")]
Names = Annotated[str | None, typer.Option(metavar="X:0,Y:0", help="cut the TensorFlow graph at these tensors")]
Shapes = Annotated[list[str] | None, typer.Option("--shape", metavar="NAME=1,224,224,3", help="narrow an input's dims")]
Trust = Annotated[bool, typer.Option("--trust", help="run Python code that a Keras file carries (Lambda layers)")]
CustomDomain = Annotated[
    str | None, typer.Option(metavar="com.acme", help="keep operators without a mapping as nodes of this domain")
]
Ops = Annotated[list[str] | None, typer.Option("--ops", help="a .py file or module with your own @maps operators")]
Json = Annotated[bool, typer.Option("--json", help="machine-readable output")]


@app.command()
def convert(
    source: Source,
    output: Annotated[Path, typer.Option("--output", "-o", help="a folder for a SavedModel, or a file NAME.onnx")],
    ops: Ops = None,
    opset: Annotated[int | None, typer.Option(help="of the ONNX file; by default the newest ONNX Runtime runs")] = None,
    signature: Signature = None,
    inputs: Names = None,
    outputs: Names = None,
    shape: Shapes = None,
    inputs_as_nchw: Annotated[str | None, typer.Option(metavar="X,Y", help="take these inputs channel-first")] = None,
    outputs_as_nchw: Annotated[str | None, typer.Option(metavar="X,Y", help="give these outputs channel-first")] = None,
    external_data: Annotated[bool, typer.Option("--external-data", help="weights in a file of their own")] = False,
    extensions: Annotated[
        bool, typer.Option("--extensions", help="allow operators of onnxruntime-extensions where ONNX has none")
    ] = False,
    custom_domain: CustomDomain = None,
    trust: Trust = False,
    verify: Annotated[bool, typer.Option(help="compare the written model with the source")] = True,
    data: Annotated[
        list[Path] | None, typer.Option(help="compare on these inputs: an .npz with an array per name")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="replace what stands at the output")] = False,
    report: Annotated[Path | None, typer.Option(help="write the report as JSON to this file")] = None,
    json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="print nothing but errors")] = False,
) -> None:
    """Convert a model, compare what was written with the source, and say what was lost."""
    from trueport.cli.arrays import read_samples
    from trueport.cli.options import source_options
    from trueport.cli.progress import progress
    from trueport.pipeline import convert_file

    with progress(enabled=not (quiet or json)) as step:
        result = convert_file(
            source,
            output,
            ops=ops or (),
            verify=verify,
            data=read_samples(data) if data else None,
            overwrite=overwrite,
            progress=step,
            **source_options(locals()),
        )
    if report is not None:
        report.write_text(result.to_json(), encoding="utf-8")
    _show(result, json=json, quiet=quiet)
    raise typer.Exit(_exit_code(result, verify))


@app.command()
def check(
    source: Source,
    to: Annotated[str | None, typer.Option(help="the target: tensorflow or onnx")] = None,
    ops: Ops = None,
    signature: Signature = None,
    inputs: Names = None,
    outputs: Names = None,
    shape: Shapes = None,
    custom_domain: CustomDomain = None,
    trust: Trust = False,
    json: Json = False,
) -> None:
    """Say what would not survive a conversion, node by node, without converting."""
    from trueport.cli.options import source_options
    from trueport.fidelity import EXACT, UNSUPPORTED
    from trueport.pipeline import check as check_model

    result = check_model(source, to, ops=ops or (), **source_options(locals()))
    _show(result, json=json)
    if result.fidelity == UNSUPPORTED:
        raise typer.Exit(REFUSED)
    raise typer.Exit(FAITHFUL if result.fidelity <= EXACT else NOT_FAITHFUL)


Target = Annotated[Path, typer.Argument(help="the model that was made of it, in any form")]
Data = Annotated[list[Path] | None, typer.Option(help="compare on these inputs: an .npz with an array per name")]
Seed = Annotated[int, typer.Option(help="of the inputs that are made")]
Limit = Annotated[float | None, typer.Option("--k", help="how many times what rounding explains is still faithful")]


@app.command()
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


@app.command()
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


@app.command()
def run(
    model: Annotated[Path, typer.Argument(help="an .onnx file or a SavedModel")],
    inputs: Annotated[list[str] | None, typer.Option("--input", "-i", help="NAME=FILE.npy, once per input")] = None,
    save: Annotated[Path | None, typer.Option(help="write the outputs to this .npz")] = None,
    fetch: Annotated[list[str] | None, typer.Option(help="inner values instead of the outputs")] = None,
) -> None:
    """Run a model of any format with arrays from files."""
    from trueport.cli.arrays import read_inputs, save_outputs, summarize
    from trueport.runtimes.detect import load_model

    loaded = load_model(model)
    outputs = loaded.run(read_inputs(inputs or []), fetch=fetch or None)
    if save is not None:
        save_outputs(save, outputs)
    for name, value in outputs.items():
        typer.echo(f"{name}: {summarize(value)}")


@app.command()
def info(
    model: Annotated[Path, typer.Argument(help="an .onnx file, a SavedModel, a .keras or .h5 file")],
    json: Json = False,
) -> None:
    """Show a model's inputs, outputs, dims, dtypes, operators and size."""
    from trueport.cli.inspect import describe_artifact, render

    described = describe_artifact(model)
    typer.echo(render(described, json=json))


@app.command()
def ops(
    operator: Annotated[str | None, typer.Argument(help="only this operator, in full")] = None,
    to: Annotated[str, typer.Option(help="the target")] = "tensorflow",
    ops: Ops = None,
) -> None:
    """Print the support table, from the same declarations that convert."""
    from trueport.backends.tensorflow.registry import registry as to_tensorflow
    from trueport.frontends.tensorflow.registry import registry as to_onnx
    from trueport.mapping.user import with_user_ops
    from trueport.report.support import describe_operator, support_table

    known = {"tensorflow": to_tensorflow, "onnx": to_onnx}
    if to not in known:
        raise UsageError(f"there is no target {to!r}", remedy=f"targets: {', '.join(known)}")
    declared = with_user_ops(known[to](), ops or ())
    typer.echo(describe_operator(declared, operator) if operator else support_table(declared))


def _show(result: Report, *, json: bool, quiet: bool = False) -> None:
    if not quiet:
        typer.echo(result.to_json() if json else str(result))


def _exit_code(result: Report, verified: bool) -> int:
    from trueport.fidelity import LOSSY, Verdict

    lossy = result.fidelity >= LOSSY
    departs = verified and result.verdict != Verdict.FAITHFUL
    return NOT_FAITHFUL if lossy or departs else FAITHFUL


def main() -> None:
    """Run a command; an error of ours is one screen on stderr and exit code 2."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    try:
        app()
    except TrueportError as error:
        typer.echo(f"trueport: {error}", err=True)
        sys.exit(REFUSED)
