"""``trueport check``."""

from __future__ import annotations

from typing import Annotated

import typer

from trueport.cli.words import (
    FAITHFUL,
    NOT_FAITHFUL,
    REFUSED,
    CustomDomain,
    Json,
    Names,
    Ops,
    Shapes,
    Signature,
    Source,
    Trust,
)

__all__ = ["check"]


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
    typer.echo(result.to_json() if json else str(result))
    if result.fidelity == UNSUPPORTED:
        raise typer.Exit(REFUSED)
    raise typer.Exit(FAITHFUL if result.fidelity <= EXACT else NOT_FAITHFUL)
