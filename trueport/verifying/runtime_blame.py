"""Is it the runtime, not the model? A target that differs runs again with its runtime's optimizer off."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from trueport.errors import TrueportError
from trueport.fidelity import Verdict
from trueport.reference.base import Oracle
from trueport.runtimes.base import Model
from trueport.runtimes.onnxruntime import OnnxRuntimeModel
from trueport.verifying.inputs.pairing import PairedModel
from trueport.verifying.judge.criteria import Asked
from trueport.verifying.verification import Verification, badness
from trueport.verifying.verify import verify_runs

__all__ = ["with_blame", "without_optimizer"]

_OPTIMIZERS: Mapping[str, str] = {
    "onnxruntime": "ONNX Runtime's optimizer",
    "tflite": "XNNPACK",
    "tensorflow": "TensorFlow's optimizer",
}


def without_optimizer(model: Model) -> Model | None:
    """Return the same model with ONNX Runtime's optimizer off; None for other runtimes."""
    if isinstance(model, PairedModel):
        plain = without_optimizer(model.model)
        return None if plain is None else model.around(plain)
    return model.at_level("none") if isinstance(model, OnnxRuntimeModel) else None


def with_blame(
    found: Verification,
    sources: Sequence[Model],
    opened: Callable[[], Model | None],
    oracle: Oracle,
    wish: Asked,
    allowed_ulps: float = 0.0,
) -> Verification:
    """Return the same, with the runtime named if the target is faithful once its optimizer is off.

    ``opened``: the target without its runtime's optimizer, None where there is no such switch in this process; it is
    opened only if the target differs. The verdict stays: it is about the model as its users run it.
    """
    if found.verdict != Verdict.DEPARTS or not found.shown_by or wish.strict:
        return found
    name = _OPTIMIZERS.get(found.target_runtime)
    try:
        plain = opened() if name else None
        again = plain and verify_runs(sources, plain, [found.shown_by], oracle, wish=wish, allowed_ulps=allowed_ulps)
    except TrueportError:
        return found
    except Exception:  # any runtime's own error type: it does not run this way, and nothing is learned
        return found
    if not again or again.verdict != Verdict.FAITHFUL:
        return found
    worst = max(again.outputs, key=badness)
    words = f"{name}, not the model: with it off the target is faithful on the same inputs ({worst.why})"
    return replace(found, runtime_at_fault=words)
