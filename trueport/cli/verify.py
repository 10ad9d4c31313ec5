"""``trueport verify`` and ``trueport locate``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from trueport.cli.words import (
    FAITHFUL,
    NOT_FAITHFUL,
    Data,
    Dynamic,
    Example,
    Json,
    Ops,
    Quiet,
    Signature,
    Source,
    Trust,
    Verbose,
)
from trueport.errors import UsageError

__all__ = ["locate", "read_bytes", "read_dims", "verify"]

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}

Target = Annotated[Path, typer.Argument(help="the model that was made of it, in any form")]
Samples = Annotated[int | None, typer.Option(min=1, help="how many sets of inputs, at most")]
Seed = Annotated[int, typer.Option(min=0, help="of the inputs that are made")]
Dims = Annotated[
    list[str] | None,
    typer.Option("--dims", metavar="BATCH=1,3,8", help="sizes of an open dim, or bounds: batch=1..64; INPUT:AXIS=4"),
]
Limit = Annotated[float | None, typer.Option("--k", help="how many times what rounding explains is still faithful")]
Strict = Annotated[bool, typer.Option("--strict", help="only the same bits are faithful")]
Relative = Annotated[float | None, typer.Option(help="call what is this near to the source *within tolerance*")]
Absolute = Annotated[float | None, typer.Option(help="the same, absolute: |difference| ≤ atol + rtol · |source|")]
Allow = Annotated[
    list[str] | None,
    typer.Option(
        "--allow", metavar="names,order,dims,dtypes", help="differences of inputs and outputs that do not count"
    ),
]
Precision = Annotated[
    str, typer.Option(metavar="auto|strict", help="strict: judge a target of lower precision as any other")
]
Everywhere = Annotated[
    bool, typer.Option("--everywhere", help="judge it under the settings of other CPUs and runtimes as well")
]
Isolate = Annotated[bool, typer.Option("--isolate", help="run the models in processes of their own")]
Timeout = Annotated[float | None, typer.Option(help="seconds that one run may take, with --isolate")]
Memory = Annotated[str | None, typer.Option(metavar="2GB", help="what one process may hold, with --isolate")]


def verify(
    source: Source,
    target: Target,
    data: Data = None,
    samples: Samples = None,
    seed: Seed = 0,
    dims: Dims = None,
    k: Limit = None,
    strict: Strict = False,
    rtol: Relative = None,
    atol: Absolute = None,
    allow: Allow = None,
    precision: Precision = "auto",
    everywhere: Everywhere = False,
    isolate: Isolate = False,
    timeout: Timeout = None,
    memory: Memory = None,
    signature: Signature = None,
    example: Example = None,
    dynamic: Dynamic = None,
    trust: Trust = False,
    ops: Ops = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Say whether two models give the same numbers, by the float64 truth and the source's own noise.

    Exit codes: 0 faithful, within the given tolerance, or a precision change; 1 departs, or not compared; 2 refused.
    """
    from trueport.cli.progress import progress
    from trueport.comparison import verify as compare
    from trueport.fidelity import Verdict
    from trueport.report.verification import render

    fed: dict[str, Any] = {"data": data or None, "samples": samples, "seed": seed, "dims": read_dims(dims)}
    asked: dict[str, Any] = {"k": k, "strict": strict, "rtol": rtol, "atol": atol}
    asked |= {
        "everywhere": everywhere,
        "precision": precision,
        "allow": [kind for listed in allow or () for kind in listed.split(",")],
    }
    limits: dict[str, Any] = {"isolate": isolate, "timeout": timeout, "memory": read_bytes(memory)}
    taken: dict[str, Any] = {"signature": signature, "dynamic_shapes": dynamic, "trust": trust, "ops": ops or ()}
    with progress(enabled=not (json or quiet)) as step:
        step("verify")
        found = compare(
            source, target, example_inputs=example or None, progress=step, **fed, **asked, **limits, **taken
        )
    if not quiet:
        typer.echo(render(found, json=json))
    good = found.verdict is not None and found.verdict != Verdict.DEPARTS
    raise typer.Exit(FAITHFUL if good else NOT_FAITHFUL)


def locate(
    source: Source,
    target: Target,
    data: Data = None,
    samples: Samples = None,
    seed: Seed = 0,
    dims: Dims = None,
    k: Limit = None,
    memory: Annotated[str | None, typer.Option(metavar="2GB", help="values held at once, beside the models")] = None,
    signature: Signature = None,
    trust: Trust = False,
    ops: Ops = None,
    reproduce: Annotated[Path | None, typer.Option(help="write the smallest model that shows it here")] = None,
    anonymize: Annotated[
        bool, typer.Option("--anonymize", help="with random weights and inputs, as far as it still shows")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Name the first node that departs: its own error, what it inherited, and the likely cause."""
    from trueport.cli.progress import progress
    from trueport.comparison import locate as find
    from trueport.report.verification import render_located

    given: dict[str, Any] = {"k": k, "memory": read_bytes(memory), "reproduce": reproduce}
    with progress(enabled=not (json or quiet)) as step:
        step("locate")
        found = find(
            source,
            target,
            data=data or None,
            samples=samples,
            seed=seed,
            dims=read_dims(dims),
            ops=ops or (),
            signature=signature,
            trust=trust,
            anonymize=anonymize,
            **{name: value for name, value in given.items() if value is not None},
        )
    if not quiet:
        typer.echo(render_located(found, json=json))
    raise typer.Exit(NOT_FAITHFUL if found.departs else FAITHFUL)


def read_dims(words: Sequence[str] | None) -> dict[str, Sequence[int]] | None:
    """``batch=1,3,8`` or, for bounds, ``batch=1..64``; None where nothing was said."""
    return dict(_dim(word) for word in words) if words else None


def _dim(word: str) -> tuple[str, Sequence[int]]:
    name, equals, sizes = word.rpartition("=")
    bounds = re.fullmatch(r"\s*(\d+)\s*\.\.\s*(\d+)\s*", sizes)
    try:
        if not (equals and name):
            raise ValueError(word)
        if bounds:
            low, high = int(bounds[1]), int(bounds[2])
            if low > high:
                raise ValueError(word)
            return name, range(low, high + 1)
        return name, [int(size) for size in sizes.split(",")]
    except ValueError as error:
        raise UsageError(
            f"cannot parse {word!r}: expected NAME=SIZE[,SIZE…] or NAME=LOW..HIGH",
            where="--dims",
            remedy="write batch=1,3,8 or batch=1..64",
        ) from error


def read_bytes(word: str | None) -> int | None:
    """``500MB``, ``2GB``, ``2GiB`` or plain bytes."""
    if word is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmg]i?)?b?", word.strip().lower())
    if not found:
        raise UsageError(
            f"cannot parse {word!r} as a size", where="--memory", remedy="write 500MB, 2GB or a number of bytes"
        )
    return int(float(found[1]) * _UNITS[found[2] or ""])
