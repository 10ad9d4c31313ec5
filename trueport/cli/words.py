"""Words that several commands take, and the exit codes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "FAITHFUL",
    "NOT_FAITHFUL",
    "REFUSED",
    "CustomDomain",
    "Data",
    "Dynamic",
    "Example",
    "Json",
    "Names",
    "Ops",
    "Quiet",
    "Shapes",
    "Signature",
    "Source",
    "Trust",
    "Verbose",
]

FAITHFUL, NOT_FAITHFUL, REFUSED = 0, 1, 2

Source = Annotated[
    Path,
    typer.Argument(
        help="the model: an .onnx file (or a zip that holds one), a SavedModel, a .keras, .h5 or .pb file, "
        "a PyTorch .pt2 or .pt file, or code that builds a module: my_pkg.nets:build"
    ),
]
Signature = Annotated[str | None, typer.Option(help="which of a SavedModel's signatures")]
Names = Annotated[str | None, typer.Option(metavar="X:0,Y:0", help="cut the TensorFlow graph at these tensors")]
Shapes = Annotated[list[str] | None, typer.Option("--shape", metavar="NAME=1,224,224,3", help="narrow an input's dims")]
Trust = Annotated[bool, typer.Option("--trust", help="run code that a file carries, and operators that touch files")]
CustomDomain = Annotated[
    str | None, typer.Option(metavar="com.acme", help="keep operators without a mapping as nodes of this domain")
]
Ops = Annotated[list[str] | None, typer.Option("--ops", help="a .py file or module with your own @maps operators")]
Example = Annotated[
    list[str] | None,
    typer.Option(
        metavar="X=float32[1,3,224,224]", help="inputs of a PyTorch module; int64[1,16](0..999) gives a range"
    ),
]
Dynamic = Annotated[
    str | None,
    typer.Option(metavar="X.0=batch(1..64),X.2=height", help="dims of a PyTorch module's inputs that stay open"),
]
Json = Annotated[bool, typer.Option("--json", help="machine-readable output")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="print nothing but errors")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="show what frameworks log, and where errors arise")]
Data = Annotated[
    list[str] | None,
    typer.Option(
        metavar="X.npz", help="compare on these inputs: an .npz or .npy, a folder of them, or a loader: module:name"
    ),
]
