"""``trueport run``, ``trueport info`` and ``trueport ops``."""

from __future__ import annotations

import json as json_module
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from trueport.cli.words import Json, Ops, Quiet, Trust, Verbose
from trueport.errors import RunFailed, TrueportError, UsageError
from trueport.quoting import one_line

__all__ = ["info", "ops", "run"]


def run(
    model: Annotated[Path, typer.Argument(help="an .onnx or .tflite file, or a SavedModel")],
    inputs: Annotated[list[str] | None, typer.Option("--input", "-i", help="NAME=FILE.npy, once per input")] = None,
    save: Annotated[Path | None, typer.Option(help="write the outputs to this .npz")] = None,
    fetch: Annotated[list[str] | None, typer.Option(help="inner values instead of the outputs")] = None,
    trust: Trust = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Run a model of any format with arrays from files."""
    from trueport.cli.arrays import describe, read_inputs, save_outputs, summarize
    from trueport.cli.progress import progress
    from trueport.sources.open import load

    with progress(enabled=not (json or quiet)) as step:
        step("load")
        loaded = load(model, trust=trust)
        feeds = read_inputs(inputs or [])
        step("run")
        try:
            outputs = loaded.run(feeds, fetch=fetch or None)
        except TrueportError:
            raise
        except Exception as error:  # any runtime's own error type
            raise RunFailed(
                f"{loaded.runtime} fails on these inputs: {one_line(error, 400)}",
                where=str(model),
                remedy="change the inputs, or the model at the place that is named",
            ) from error
    if save is not None:
        save_outputs(save, outputs)
    if json:
        typer.echo(json_module.dumps({name: describe(value) for name, value in outputs.items()}, indent=1))
    elif not quiet:
        for name, value in outputs.items():
            typer.echo(f"{name}: {summarize(value)}")


def info(
    model: Annotated[Path, typer.Argument(help="an .onnx file, a SavedModel, a .keras, .h5 or .tflite file")],
    trust: Trust = False,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Show a model's inputs, outputs, dims, dtypes, operators, quantization and size."""
    from trueport.sources.open import describe

    typer.echo(render(describe(model, trust=trust), json=json))


def ops(
    operator: Annotated[str | None, typer.Argument(help="only this operator, in full")] = None,
    to: Annotated[str, typer.Option(help="the target")] = "tensorflow",
    ops: Ops = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Print the support table, from the same declarations that convert."""
    from trueport.backends.tensorflow.registry import registry as to_tensorflow
    from trueport.frontends.tensorflow.registry import registry as to_onnx
    from trueport.mapping.user import with_user_ops
    from trueport.report.support import describe_operator, support_data, support_table

    known = {"tensorflow": to_tensorflow, "onnx": to_onnx}
    if to not in known:
        raise UsageError(f"there is no target {to!r}", remedy=f"targets: {', '.join(known)}")
    declared = with_user_ops(known[to](), ops or ())
    if json:
        typer.echo(json_module.dumps(support_data(declared, operator), indent=1))
    else:
        typer.echo(describe_operator(declared, operator) if operator else support_table(declared))


def render(facts: Mapping[str, Any], *, json: bool) -> str:
    """One fact a line, lists indented."""
    if json:
        return json_module.dumps(facts, indent=1)
    lines = []
    for key, value in facts.items():
        if isinstance(value, list):
            lines += [f"{key}:", *(f"  {item}" for item in value)]
        elif isinstance(value, dict) and value:
            lines += [f"{key}:", *(f"  {name}: {item}" for name, item in value.items() if item)]
        elif value not in ("", None, {}):
            lines.append(f"{key}: {value}")
    return "\n".join(lines)
