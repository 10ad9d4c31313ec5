"""Two models of any form: the same numbers? And if not, where? The calls behind ``trueport.verify`` and ``locate``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trueport.errors import OutputExists, UsageError
from trueport.mapping.registry import RECORDS
from trueport.reference.onnx.oracle import OnnxOracle
from trueport.report.diff import Difference, compare_models
from trueport.requirements import require_for_check, require_for_comparison
from trueport.runtimes.base import Model
from trueport.runtimes.child import ChildModel, Limits
from trueport.runtimes.machine import Machine, describe_machine
from trueport.runtimes.settings import settings_of
from trueport.sources.forms import is_path
from trueport.sources.open import declarations, form_of, open_source, options_of
from trueport.sources.opening import Opening
from trueport.stages import Source
from trueport.verifying.align.failures import fails
from trueport.verifying.causes.runtime import with_optimizations
from trueport.verifying.everywhere import Everywhere
from trueport.verifying.inner_values import judge_inside
from trueport.verifying.inputs.data import Data
from trueport.verifying.inputs.feeding import Feeding, feed
from trueport.verifying.inputs.feeding_mistakes import feeding_hints
from trueport.verifying.inputs.pairing import PairedModel, pair
from trueport.verifying.inputs.sizes import Dims
from trueport.verifying.judge.criteria import Asked
from trueport.verifying.judge.output import DEFAULT_K
from trueport.verifying.judge.precision import coarser
from trueport.verifying.judge.signatures import (
    CastModel,
    SignatureDifference,
    checked_allowance,
    signature_differences,
)
from trueport.verifying.judge.truth import GuardedReference
from trueport.verifying.locate.first_node import DEFAULT_MEMORY
from trueport.verifying.locate.locate_and_explain import pursue
from trueport.verifying.locate.result import Located
from trueport.verifying.reproduce.reproducer import write_reproducer
from trueport.verifying.runtime_blame import with_blame, without_optimizer
from trueport.verifying.verification import Verification
from trueport.verifying.verify import verify_runs

__all__ = ["diff", "locate", "verify"]

_PLAIN = ("level none", "builtin kernels")
"""Settings without a runtime's optimizer."""


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
    allow: Collection[str] = (),
    precision: str = "auto",
    everywhere: bool = False,
    isolate: bool = False,
    timeout: float | None = None,
    memory: int | None = None,
    ops: Sequence[Any] = (),
    signature: str | None = None,
    example_inputs: Any = None,
    dynamic_shapes: Any = None,
    trust: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> Verification:
    """Judge ``target`` by the float64 truth of ``source`` and by the source's own noise.

    Both may be an ONNX file or model, a SavedModel, a Keras model or file, a TensorFlow function, a TFLite file or its
    bytes, a PyTorch module or exported program, made by any tool.

    ``data``: inputs by the source's names: an .npz or .npy file, a folder of them, ``"module:loader"``, or anything
    that yields dicts (or tuples, or arrays); walked through once, not held. Seeded inputs are made when there are none:
    ``samples`` sets, open dims bound as ``dims`` says (``{"batch": [1, 3, 8]}``; a ``range`` for bounds).

    ``k``: how many times what rounding explains is faithful. ``strict``: nothing but the same bits is. ``rtol`` and
    ``atol``: what departs but stays within them is *within tolerance*; without them there is no such verdict.
    ``allow``: differences of inputs and outputs that do not count: ``names``, ``order``, ``dims``, ``dtypes``.

    ``precision``: a target whose weights are narrower (float16, bfloat16, int8) is judged by what that precision
    explains; ``"strict"``: by the source's, as any other.

    ``everywhere``: both models under all settings of their runtimes (instructions of the CPU, oneDNN, XLA, Grappler,
    levels of optimization, threads, kernels); ``settings`` of the result has each, the verdict is the worst.
    ``isolate``: models in processes of their own, each call limited to ``timeout`` seconds and ``memory`` bytes.

    ``example_inputs``, ``dynamic_shapes``: of a PyTorch module, as ``convert`` takes them; without an example one is
    made that fits the other model. ``trust``: run code that the files carry, and operators that touch files.
    ``progress`` is called with what is under way.
    """
    limits = _limits(isolate, timeout, memory)
    require_for_comparison(form_of(source), form_of(target), in_runtime=isolate)
    wish = Asked.of(k, strict, rtol, atol, precision)
    taken = _Taken(signature, example_inputs, dynamic_shapes, trust)
    allowed = checked_allowance(allow)
    pair_of = _pair(source, target, ops, taken, limits, allowed)
    feeding = Feeding(data, samples, seed, dims, special=samples is None)
    return _judged(pair_of, feeding, wish, progress if everywhere else None)


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
    allow: Collection[str] = (),
    precision: str = "auto",
    ops: Sequence[Any] = (),
    signature: str | None = None,
    reproduce: str | Path | None = None,
    anonymize: bool = False,
    example_inputs: Any = None,
    dynamic_shapes: Any = None,
    trust: bool = False,
) -> Located:
    """Find the first node that departs by itself, on the input that shows the largest departure.

    The source may be ONNX, a SavedModel, a Keras model, a TensorFlow function or a PyTorch module; the target
    anything that ``verify`` takes. ``memory``: bytes of values that are held beside the models. ``everything``: judge
    all values that both have, and find every node's own error; the culprit is then not the last of ``steps``.
    ``allow``, ``precision``: as in `verify`.

    ``reproduce`` names a folder that is made: the node and the target's part of it, inputs, and a script that shows
    the difference. ``anonymize``: with random numbers in the places of weights and inputs, as far as it still shows.
    """
    if reproduce is not None and Path(reproduce).exists():
        raise OutputExists("is there already", where=str(reproduce), remedy="name a folder that is not there yet")
    require_for_comparison(form_of(source), form_of(target), in_runtime=reproduce is not None)
    Asked.of(k, strict=False, rtol=None, atol=None, precision=precision)
    opened = _opened(source, target, ops, _Taken(signature, example_inputs, dynamic_shapes, trust))
    runs, model, allowed = opened.runs, opened.deployed.opened(), checked_allowance(allow)
    plain = runs[0]
    paired_inputs, outputs = pair(plain, model)
    paired = PairedModel(model, paired_inputs, outputs)
    oracle = opened.source.reference()
    # The inputs that verify makes, so that both say the same.
    inputs = list(feed(Feeding(data, samples, seed, dims, special=samples is None), plain, paired, oracle))
    settings: dict[str, Any] = {"k": k, "memory": memory, "everything": everything, "precision": precision}
    settings["declarations"] = declarations(model.runtime, ops)
    found = pursue(oracle, runs, paired, outputs, inputs, **settings)
    differences = signature_differences(plain, model, paired_inputs, outputs, allowed)
    others = _others(Opening("target", opened.target, model), paired)
    located = _with_differences(found.located, differences)
    if found.located.departs and not fails(paired, located.feeds):
        located = with_optimizations(located, oracle, runs, paired, others)
    if located.culprit is None or reproduce is None:
        return located
    if located.culprit.case is None and located.culprit.part is not None and located.culprit.causes[0].kind == "fails":
        return replace(located, reproducer="not written: the target does not run there")
    place, known = Path(reproduce), oracle.registry if isinstance(oracle, OnnxOracle) else RECORDS
    made = write_reproducer(located.culprit, located.feeds, place, registry=known, k=k, anonymize=anonymize)
    return replace(located, reproducer=str(made))


def _with_differences(found: Located, differences: Sequence[SignatureDifference]) -> Located:
    """Return what was located, with the differences of inputs and outputs where no number differs."""
    counted = [difference.what for difference in differences if difference.counts]
    return found if found.departs or not counted else replace(found, departs=True, why="; ".join(counted))


def diff(first: Any, second: Any, *, signature: str | None = None, trust: bool = False) -> Difference:
    """Compare two models of one form as graphs: nodes, attributes, weights."""
    forms = [form_of(model) for model in (first, second)]
    if forms[0] != forms[1]:
        raise UsageError(
            f"one is of the form {forms[0]}, the other of {forms[1]}: their graphs have no operators in common",
            where=f"{first} and {second}",
            remedy="trueport verify compares their numbers",
        )
    require_for_check(forms[0])
    taken = _Taken(signature, None, None, trust)
    if signature is not None and "signature" not in options_of(first):
        raise UsageError("models of this form have no signatures", where="--signature")
    sources = [open_source(model, options=taken.options_for(model)) for model in (first, second)]
    return compare_models(*((source.name, source.draw(), source.weights()) for source in sources))


def _judged(compared: _Pair, feeding: Feeding, wish: Asked, everywhere: Callable[[str], None] | None) -> Verification:
    """Judge the target; ``everywhere`` is called with the setting under way, None means no settings."""
    sources, paired, oracle = compared.runs, compared.paired, compared.source.reference()
    inputs, allowed = feed(feeding, sources[0], paired, oracle), compared.source.allowed_ulps()
    if everywhere is None:
        narrowed = wish.precision == "auto" and not wish.strict
        coarse = coarser(sources[0], paired, oracle) if narrowed else None
        found = verify_runs(sources, paired, inputs, oracle, wish=wish, allowed_ulps=allowed, coarse=coarse)
    else:
        found = Everywhere(sources, paired, compared.openings, oracle, wish, allowed, everywhere).run(inputs)
    found = with_blame(found, sources, lambda: _plain_target(compared), oracle, wish, allowed)
    found = judge_inside(found, oracle, sources, paired)
    found = replace(found, differences=compared.differences, machine=_machine([*sources, paired.model]))
    shown = found.shown_by
    truth = GuardedReference(oracle)(shown)[0] if shown and not wish.strict else None
    if truth is None:
        return found
    hints = feeding_hints(sources[0].run(shown), paired, shown, truth, wish.k)
    return replace(found, hints=(*found.hints, *hints))


def _plain_target(compared: _Pair) -> Model | None:
    """Return the target with its runtime's optimizer off, as far as that needs no process of its own."""
    opening = compared.openings[1]
    for setting in settings_of(opening.model.runtime):
        if setting.name in _PLAIN and not opening.why_not(setting):
            return compared.paired.around(opening.open(setting))
    return without_optimizer(compared.paired)


def _machine(models: Sequence[Model]) -> Machine:
    """Return this machine, with what the children that ran models had loaded."""
    children = [model.machine() for model in models if isinstance(model, ChildModel)]
    return functools.reduce(Machine.merged, children, describe_machine())


def _others(opening: Opening, paired: PairedModel) -> Iterator[tuple[str, Callable[[], Model]]]:
    """Yield other ways to run a target, called with the source's names."""
    for setting in settings_of(opening.model.runtime):
        if setting.optimization and not opening.why_not(setting):
            opened = functools.partial(opening.open, setting)
            yield f"{setting.runtime}, {setting.name}", lambda opened=opened: paired.around(opened())  # type: ignore[misc]


def _limits(isolate: bool, timeout: float | None, memory: int | None) -> Limits | None:
    if not isolate and (timeout is not None or memory is not None):
        raise UsageError("limits hold in a process of its own only", remedy="ask for isolate=True (--isolate) as well")
    return Limits(timeout, memory) if isolate else None


@dataclass(frozen=True)
class _Taken:
    """What a caller says about both models; each form takes what it knows."""

    signature: str | None
    example_inputs: Any
    dynamic_shapes: Any
    trust: bool

    def options_for(self, model: Any) -> dict[str, Any]:
        """Return the options that a model of this form has."""
        # Trust is about code in files: a model in memory has run its own already.
        known = options_of(model) - (set() if is_path(model) else {"trust"})
        return {name: value for name, value in vars(self).items() if name in known and value is not None}


@dataclass(frozen=True)
class _Opened:
    """Both models, as sources and as they run."""

    source: Source
    target: Source
    runs: Sequence[Model]
    deployed: Model


def _opened(source: Any, target: Any, ops: Sequence[Any], taken: _Taken, limits: Limits | None = None) -> _Opened:
    """Open both; what has no example of its inputs takes one that fits the other's."""
    first, second = (
        open_source(model, ops=ops, options=taken.options_for(model), limits=limits) for model in (source, target)
    )
    if first.needs_example and not second.needs_example:
        deployed = second.deployed(exact_sums=True)
        first = first.with_example(deployed)
        return _Opened(first, second, first.runs(), deployed)
    runs = first.runs()
    second = second.with_example(runs[0])
    return _Opened(first, second, runs, second.deployed(exact_sums=True))


@dataclass(frozen=True)
class _Pair:
    """Source and target, opened, and how."""

    source: Source
    runs: Sequence[Model]
    paired: PairedModel
    openings: tuple[Opening, Opening]
    differences: tuple[SignatureDifference, ...]


def _pair(
    source: Any,
    target: Any,
    ops: Sequence[Any],
    taken: _Taken,
    limits: Limits | None,
    allow: Collection[str],
) -> _Pair:
    """Open both and pair their inputs and outputs; ``allow``: differences between these that do not count."""
    found = _opened(source, target, ops, taken, limits)
    plain, model = found.runs[0], found.deployed
    inputs, outputs = pair(plain, model)
    openings = (Opening("source", found.source, plain), Opening("target", found.target, model))
    differences = signature_differences(plain, model, inputs, outputs, allow)
    called = CastModel.around(plain, model, inputs, outputs if "dtypes" in allow else ())
    return _Pair(found.source, found.runs, PairedModel(called, inputs, outputs), openings, differences)
