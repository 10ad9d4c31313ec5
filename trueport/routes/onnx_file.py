"""What every route that ends in an ONNX file does at its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import onnx
import onnx_ir as ir

from trueport.errors import EmitError, UsageError
from trueport.ir.ports import Port, make_ports
from trueport.ir.schemas import CANONICAL_OPSETS
from trueport.passes.outgoing import OLDEST_OPSET
from trueport.quoting import one_line
from trueport.requirements import is_installed
from trueport.runtimes.onnxruntime import OnnxRuntimeModel
from trueport.runtimes.ort_kernels import readable_opset

__all__ = ["checked_opset", "known_to_run", "own_names"]


def known_to_run(place: Path) -> None:
    """Raise `EmitError` if ONNX Runtime does not load the file: nothing is kept of it then.

    Where ONNX Runtime is not installed, which is asked before by whoever wants to verify, nothing is tried.
    """
    if not is_installed("onnxruntime"):
        return
    try:
        OnnxRuntimeModel(place).try_out()
    except Exception as error:  # ONNX Runtime raises types of its own, not public ones
        _refuse_newer_opset(place)
        raise EmitError(
            f"ONNX Runtime does not take the model that was made: {one_line(error, 400)}",
            where=place.name,
            remedy="nothing was written; correct your handlers (@maps), if one made it, or report it with the model",
        ) from error


def _refuse_newer_opset(place: Path) -> None:
    """Raise `EmitError` if the file's opset is newer than what the installed ONNX Runtime reads."""
    imports = onnx.load(place, load_external_data=False).opset_import
    opset = max((item.version for item in imports if item.domain in ("", "ai.onnx")), default=0)
    readable = readable_opset()
    if opset > readable:
        raise EmitError(
            f"the installed ONNX Runtime reads opsets up to {readable}, the model has opset {opset}",
            where=place.name,
            remedy=f"ask for opset {readable} or older, or install a newer one: pip install -U onnxruntime",
        )


def own_names(values: Sequence[ir.Value]) -> tuple[Port, ...]:
    """ONNX takes any name: nothing is renamed at this border."""
    return tuple(replace(port, parts=(port.name,)) for port in make_ports(values))


def checked_opset(opset: int | None) -> int | None:
    """An opset that can be written, or none."""
    if opset is not None and not OLDEST_OPSET <= opset <= CANONICAL_OPSETS[""]:
        raise UsageError(
            f"opset {opset} is too {'old' if opset < OLDEST_OPSET else 'new'}",
            where="--opset",
            remedy=f"opsets from {OLDEST_OPSET} to {CANONICAL_OPSETS['']} can be written",
        )
    return opset
