"""Two models of any form: the same numbers? And if not, where? The calls behind ``trueport.verify`` and ``locate``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from trueport.errors import UsageError
from trueport.fidelity import Verdict
from trueport.frontends.tensorflow.sources import Options
from trueport.runtimes.child import Limits
from trueport.verifying.asked import Asked
from trueport.verifying.data import Data
from trueport.verifying.feeding import Feeding, feed
from trueport.verifying.found import Located
from trueport.verifying.harness import feeding_hints
from trueport.verifying.judge import DEFAULT_K
from trueport.verifying.locate import DEFAULT_MEMORY
from trueport.verifying.pairing import PairedModel, pair
from trueport.verifying.pursue import pursue
from trueport.verifying.reproduce import write_reproducer
from trueport.verifying.sizes import Dims
from trueport.verifying.subjects import Running, Subject, as_source, as_target
from trueport.verifying.verify import Verification, verify_runs

__all__ = ["locate", "verify"]


def verify(
    source: Any,
    target: Any,
    *,
    data: Data | None = None,
    samples: int | None = None,
    seed: int = 0,
    dims: Dims | None = None,
    k: float | None = None,
    strict: bool = False,
    rtol: float | None = None,
    atol: float | None = None,
    thorough: bool = False,
    isolate: bool = False,
    timeout: float | None = None,
    memory: int | None = None,
    ops: Sequence[Any] = (),
    signature: str | None = None,
) -> Verification:
    """Judge ``target`` by the float64 truth of ``source`` and by the source's own noise.

    Both may be an ONNX file or model, a SavedModel, a Keras model or file, a TensorFlow function, a TFLite file or its
    bytes, made by any tool.

    ``data``: inputs by the source's names: an .npz or .npy file, a folder of them, ``"module:loader"``, or anything
    that yields dicts (or tuples, or arrays); walked through once, not held. Seeded inputs are made when there are none:
    ``samples`` sets, open dims bound as ``dims`` says (``{"batch": [1, 3, 8]}``; a ``range`` for bounds).

    ``k``: how many times what rounding explains is faithful. ``strict``: nothing but the same bits is. ``rtol`` and
    ``atol``: what departs but stays within them is *within tolerance*; without them there is no such verdict.

    ``thorough``: the source in every way that its runtime has (levels of optimization, threads, kernels) for the floor.
    ``isolate``: models in processes of their own, each call limited to ``timeout`` seconds and ``memory`` bytes.
    """
    running = Running(_limits(isolate, timeout, memory), thorough)
    wish = Asked.of(k, strict, rtol, atol)
    subject, paired = _pair(source, target, ops, Options(signature=signature), running)
    oracle = subject.make_oracle()
    feeding = Feeding(data, samples, seed, dims, special=samples is None)
    inputs = feed(feeding, subject.executions[0], paired, oracle)
    found = verify_runs(subject.executions, paired, inputs, oracle, wish=wish, allowed_ulps=subject.allowed())
    if found.verdict != Verdict.DEPARTS or isinstance(oracle, str) or strict:
        return found
    shown = found.shown_by
    hints = feeding_hints(subject.executions[0].run(shown), paired, shown, oracle.run(shown)[0], wish.k)
    return replace(found, hints=tuple(hints))


def locate(
    source: Any,
    target: Any,
    *,
    data: Data | None = None,
    samples: int | None = None,
    seed: int = 0,
    dims: Dims | None = None,
    k: float = DEFAULT_K,
    memory: int = DEFAULT_MEMORY,
    everything: bool = False,
    ops: Sequence[Any] = (),
    signature: str | None = None,
    reproduce: str | Path | None = None,
) -> Located:
    """Find the first node that departs by itself, on the input that shows the largest departure.

    The source may be ONNX, a SavedModel, a Keras model or a TensorFlow function; the target anything that ``verify``
    takes. ``memory``: bytes of values that are held beside the models. ``everything``: judge all values that both
    have, and find every node's own error; the culprit is then not the last of ``steps``.

    ``reproduce`` names a folder that is made: the node and the target's part of it, inputs, and a script that shows
    the difference.
    """
    options = Options(signature=signature)
    subject, model = as_source(source, options, ops), as_target(target, options).opened()
    plain = subject.executions[0]
    outputs = pair(plain.outputs, model.outputs, "outputs")
    paired = PairedModel(model, pair(plain.inputs, model.inputs, "inputs"), outputs)
    oracle = subject.make_oracle()
    inputs = list(feed(Feeding(data, samples, seed, dims), plain, paired, oracle))
    settings: dict[str, Any] = {"k": k, "memory": memory, "everything": everything}
    found = pursue(oracle, subject.executions, paired, outputs, inputs, **settings)
    culprit = found.located.culprit
    if culprit is not None and reproduce is not None:
        write_reproducer(culprit, found.target, found.located.feeds, Path(reproduce))
    return found.located


def _limits(isolate: bool, timeout: float | None, memory: int | None) -> Limits | None:
    if not isolate and (timeout is not None or memory is not None):
        raise UsageError("limits hold in a process of its own only", remedy="ask for isolate=True (--isolate) as well")
    return Limits(timeout, memory) if isolate else None


def _pair(
    source: Any, target: Any, ops: Sequence[Any], options: Options, running: Running | None = None
) -> tuple[Subject, PairedModel]:
    subject = as_source(source, options, ops, running)
    model = as_target(target, options, running)
    plain = subject.executions[0]
    inputs, outputs = pair(plain.inputs, model.inputs, "inputs"), pair(plain.outputs, model.outputs, "outputs")
    return subject, PairedModel(model, inputs, outputs)
