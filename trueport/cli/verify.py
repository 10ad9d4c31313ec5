"""``trueport verify`` and ``trueport locate``."""

from __future__ import annotations

import re
import time
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

Target = Annotated[Path, typer.Argument(help="the model that was made from it, by any tool, in any form")]
Samples = Annotated[int | None, typer.Option(min=1, help="the number of inputs, at most")]
Seed = Annotated[int, typer.Option(min=0, help="of the generated inputs")]
Dims = Annotated[
    list[str] | None,
    typer.Option(
        "--dims", metavar="BATCH=1,3,8", help="sizes of a dynamic dimension, or bounds: batch=1..64; INPUT:AXIS=4"
    ),
]
Limit = Annotated[
    float | None,
    typer.Option("--k", help="the largest error that is faithful, as a multiple of normal rounding  [default: 8]"),
]
Strict = Annotated[bool, typer.Option("--strict", help="only the same bits are faithful")]
Relative = Annotated[
    float | None,
    typer.Option(help="tolerate a relative difference from the source: the verdict is *within tolerance* then"),
]
Allow = Annotated[
    list[str] | None,
    typer.Option(
        "--allow", metavar="names,order,dims,dtypes", help="differences of inputs and outputs that do not count"
    ),
]
Absolute = Annotated[float | None, typer.Option(help="tolerate an absolute one: |difference| ≤ atol + rtol · |source|")]
Precision = Annotated[
    str, typer.Option(metavar="auto|strict", help="strict: judge a target of lower precision as any other")
]
Everywhere = Annotated[
    bool, typer.Option("--everywhere", help="also run both under the settings of other CPUs and runtimes")
]
Isolate = Annotated[bool, typer.Option("--isolate", help="run each model in its own process")]
Timeout = Annotated[float | None, typer.Option(help="limit of one run in seconds, with --isolate")]
Page = Annotated[Path | None, typer.Option(help="write a report to this file: .html, .json or .md")]
Memory = Annotated[str | None, typer.Option(metavar="2GB", help="memory limit of one process, with --isolate")]


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
    report: Page = None,
    profile: Annotated[
        bool | None, typer.Option(help="also measure intermediate values; with --report X.html by default")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Say whether two models give the same numbers, up to rounding: their errors against a float64 reference.

    Exit codes: 0 faithful, within the tolerance, or a precision change; 1 not faithful, or not compared; 2 refused.
    """
    from trueport.cli.comparing import check_report, subject_of, write_comparison
    from trueport.cli.progress import progress
    from trueport.comparison import verify as compare
    from trueport.fidelity import Verdict
    from trueport.report.verification import render

    check_report(report, source, target)
    began = time.perf_counter()
    fed: dict[str, Any] = {"data": data or None, "samples": samples, "seed": seed, "dims": read_dims(dims)}
    asked: dict[str, Any] = {"k": k, "strict": strict, "rtol": rtol, "atol": atol, "everywhere": everywhere}
    asked |= {"precision": precision, "allow": read_kinds(allow), "memory": read_bytes(memory)}
    asked |= {"isolate": isolate, "timeout": timeout}
    taken: dict[str, Any] = {"signature": signature, "trust": trust, "ops": ops or ()}
    taken |= {"example_inputs": example or None, "dynamic_shapes": dynamic}
    profile = (is_page(report) and not isolate) if profile is None else profile
    with progress(enabled=not (json or quiet)) as step:
        step("verify")
        found = compare(source, target, progress=step, **fed, **asked, **taken)
        if report is not None:
            step("report")
            inside = _measured_inside(source, target, {**fed, **taken}, k) if profile else None
            write_comparison(report, "verify", (source, target), found, inside, taken=taken, began=began)
    if not quiet:
        options = {**fed, "dims": dims, "k": k, "signature": signature, "trust": trust, "ops": ops}
        typer.echo(render(found, json=json, subject=subject_of(source, target, options, report)))
    raise typer.Exit(NOT_FAITHFUL if found.verdict in (None, Verdict.DEPARTS) else FAITHFUL)


def _measured_inside(source: Path, target: Path, options: dict[str, Any], k: float | None) -> Any:
    """Return the errors of intermediate values, or why there are none."""
    from trueport.cli.comparing import inspect
    from trueport.comparison import locate as find

    if k is not None:
        options = {**options, "k": k}
    return inspect(lambda: find(source, target, everything=True, **options))


def locate(
    source: Source,
    target: Target,
    data: Data = None,
    samples: Samples = None,
    seed: Seed = 0,
    dims: Dims = None,
    k: Limit = None,
    memory: Annotated[
        str | None, typer.Option(metavar="2GB", help="memory limit of intermediate values, beside the models")
    ] = None,
    allow: Allow = None,
    precision: Precision = "auto",
    signature: Signature = None,
    trust: Trust = False,
    ops: Ops = None,
    reproduce: Annotated[
        Path | None, typer.Option(metavar="DIR", help="write the smallest model that shows the fault to this folder")
    ] = None,
    anonymize: Annotated[
        bool, typer.Option("--anonymize", help="with random weights and inputs, as far as the fault still shows")
    ] = False,
    report: Page = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Name the first node that differs: its own error, the error that it inherited, and the likely cause.

    Exit codes: 0 faithful; 1 not faithful; 2 refused.
    """
    from trueport.cli.comparing import check_report, subject_of, write_comparison
    from trueport.cli.progress import progress
    from trueport.comparison import locate as find
    from trueport.comparison import verify as compare
    from trueport.report.measure import profile_of
    from trueport.report.verification import render_located

    check_report(report, source, target)
    began = time.perf_counter()
    fed: dict[str, Any] = {"data": data or None, "samples": samples, "seed": seed, "dims": read_dims(dims)}
    taken: dict[str, Any] = {"signature": signature, "trust": trust, "ops": ops or ()}
    given: dict[str, Any] = {"k": k, "memory": read_bytes(memory), "reproduce": reproduce}
    given = {name: value for name, value in given.items() if value is not None}
    taken |= {"allow": read_kinds(allow), "precision": precision}
    whole = is_page(report)
    with progress(enabled=not (json or quiet)) as step:
        step("locate")
        found = find(source, target, everything=whole, anonymize=anonymize, **fed, **taken, **given)
        if report is not None:
            step("report")
            verdict = compare(source, target, k=k, **fed, **taken)
            write_comparison(report, "locate", (source, target), verdict, profile_of(found), taken=taken, began=began)
    if not quiet:
        options = {**fed, "dims": dims, "k": k, "signature": signature, "trust": trust, "ops": ops}
        typer.echo(render_located(found, json=json, subject=subject_of(source, target, options, report)))
    raise typer.Exit(NOT_FAITHFUL if found.departs else FAITHFUL)


def is_page(report: Path | None) -> bool:
    """True if a report is asked for as an HTML page."""
    return report is not None and report.suffix.lower() == ".html"


def read_kinds(listed: Sequence[str] | None) -> list[str]:
    """Return the kinds of ``--allow``, which may be given several times and separated by commas."""
    return [kind for kinds in listed or () for kind in kinds.split(",")]


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
