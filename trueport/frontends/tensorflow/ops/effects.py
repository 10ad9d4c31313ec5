"""Operators that only act on the world around the model: an ONNX model has none, so they go, and that is recorded."""

from __future__ import annotations

import onnx_ir as ir

from trueport.fidelity import BITWISE, LOSSY
from trueport.frontends.tensorflow.source.nodes import COMPLEX, TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.frontends.tensorflow.translate.values import Translated
from trueport.mapping.declare import maps

__all__: list[str] = []

_CHECKS = "ONNX has no operator that checks a condition and stops"
_PRINTS = "an ONNX model has no place to print or log to"


@maps("Assert", domain=TF, fidelity=LOSSY, because=_CHECKS, ignores={"summarize": "how much the message shows"})
@maps("Assert", domain=COMPLEX, fidelity=LOSSY, because=_CHECKS, ignores={"summarize": "how much the message shows"})
def assert_(t: Translation, condition: Translated, data: tuple[Translated, ...]) -> None:
    t.lose("the check is gone: data that it would have refused is computed with", _CHECKS)


@maps(
    "PrintV2",
    domain=TF,
    fidelity=LOSSY,
    because=_PRINTS,
    ignores={"output_stream": "nothing is printed", "end": "nothing is printed"},
)
def print_v2(t: Translation, input: ir.Value) -> None:
    t.lose("nothing is printed", _PRINTS)


_MESSAGE = dict.fromkeys(("message", "first_n", "summarize"), "nothing is printed")


@maps("Print", domain=TF, fidelity=LOSSY, because=_PRINTS, ignores=_MESSAGE)
def print_(t: Translation, input: ir.Value, data: tuple[Translated, ...]) -> ir.Value:
    t.lose("nothing is printed", _PRINTS)
    return input


@maps("WriteSummary", domain=TF, fidelity=LOSSY, because=_PRINTS)
@maps("WriteScalarSummary", domain=TF, fidelity=LOSSY, because=_PRINTS)
@maps("WriteHistogramSummary", domain=TF, fidelity=LOSSY, because=_PRINTS)
@maps("WriteImageSummary", domain=TF, fidelity=LOSSY, because=_PRINTS)
@maps("WriteAudioSummary", domain=TF, fidelity=LOSSY, because=_PRINTS)
@maps("WriteGraphSummary", domain=TF, fidelity=LOSSY, because=_PRINTS)
@maps("FlushSummaryWriter", domain=TF, fidelity=LOSSY, because=_PRINTS)
def write_summary(t: Translation, *inputs: Translated, **attributes: object) -> None:
    t.lose("no summary is written", _PRINTS)


@maps("ControlTrigger", domain=TF, fidelity=BITWISE)
def control_trigger(t: Translation) -> None:
    """Only orders what runs."""
