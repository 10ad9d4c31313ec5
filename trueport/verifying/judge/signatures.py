"""What a caller notices beside the numbers: inputs and outputs renamed, in another order, frozen or of another dtype.

Names and order are an interface in ONNX files only, so there they count. TensorFlow's signatures sort and rename by
rules of their own, TFLite and PyTorch as well: such differences are listed and do not decide. Inputs of a TFLite model
are resized at run time, so a size in its signature is no frozen one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueport.errors import UsageError
from trueport.ir.ports import Port
from trueport.runtimes.base import Model
from trueport.verifying.inputs.pairing import Pairing, are_both_onnx

__all__ = ["ALLOWED", "CastModel", "SignatureDifference", "checked_allowance", "signature_differences"]

ALLOWED = ("names", "order", "dims", "dtypes")
_FAMILIES = (
    {"FLOAT16", "BFLOAT16", "FLOAT", "DOUBLE"},
    {"INT8", "INT16", "INT32", "INT64"},
    {"COMPLEX64", "COMPLEX128"},
)
_DTYPES = {"FLOAT16": "float16", "FLOAT": "float32", "DOUBLE": "float64"}


@dataclass(frozen=True)
class SignatureDifference:
    """One way in which the target is called otherwise than the source."""

    kind: str
    """``names``, ``order``, ``dims`` or ``dtypes``"""
    what: str
    counts: bool
    """it is part of the verdict: nobody allowed it, and models of this form promise otherwise"""

    def __str__(self) -> str:
        return self.what if self.counts else f"{self.what} (no part of the verdict)"


def checked_allowance(allow: Collection[str]) -> frozenset[str]:
    """Return the kinds that a caller allows; raises `UsageError` for one that does not exist."""
    given = {allow} if isinstance(allow, str) else set(allow)
    unknown = sorted(given - set(ALLOWED))
    if unknown:
        raise UsageError(f"expected any of {', '.join(ALLOWED)}, got {unknown[0]!r}", where="--allow")
    return frozenset(given)


def signature_differences(
    source: Model,
    target: Model,
    inputs: Sequence[Pairing],
    outputs: Sequence[Pairing],
    allow: Collection[str] = (),
) -> tuple[SignatureDifference, ...]:
    """Return how the target's inputs and outputs differ from the source's, by the pairs that were found."""
    both_onnx = are_both_onnx(source, target)
    counted = {"names": both_onnx, "order": both_onnx, "dims": target.runtime != "tflite", "dtypes": True}
    found = [
        *_side("input", source.inputs, target.inputs, inputs),
        *_side("output", source.outputs, target.outputs, outputs),
        *_frozen(source.inputs, target.inputs, inputs),
        *_numbers_of_outputs(source.outputs, target.outputs, outputs),
    ]
    return tuple(SignatureDifference(kind, what, counted[kind] and kind not in allow) for kind, what in found)


def _side(
    noun: str, source: Sequence[Port], target: Sequence[Port], pairs: Sequence[Pairing]
) -> Iterator[tuple[str, str]]:
    own, others = ({port.name: port for port in ports} for ports in (source, target))
    for pair in pairs:
        if pair.source != pair.target:
            yield "names", f"{noun} {pair.source!r} is called {pair.target!r} in the target"
    for pair in pairs:
        dtypes = own[pair.source].dtype, others[pair.target].dtype
        if dtypes[0] != dtypes[1] and any(set(dtypes) <= family for family in _FAMILIES):
            yield "dtypes", f"{noun} {pair.source!r} is {dtypes[0]} in the source, {dtypes[1]} in the target"
    places = [list(others).index(pair.target) for pair in pairs]
    if places != sorted(places):
        words = [", ".join(map(repr, ports)) for ports in (own, others)]
        yield "order", f"the {noun}s of the source are {words[0]}, those of the target {words[1]}"


def _numbers_of_outputs(
    source: Sequence[Port], target: Sequence[Port], pairs: Sequence[Pairing]
) -> Iterator[tuple[str, str]]:
    paired = {pair.source for pair in pairs}, {pair.target for pair in pairs}
    for port in source:
        if port.name not in paired[0]:
            yield "names", f"output {port.name!r} is missing in the target"
    for port in target:
        if port.name not in paired[1]:
            yield "names", f"output {port.name!r} of the target is not in the source"


def _frozen(source: Sequence[Port], target: Sequence[Port], pairs: Sequence[Pairing]) -> Iterator[tuple[str, str]]:
    own, others = ({port.name: port for port in ports} for ports in (source, target))
    for pair in pairs:
        dims, there = own[pair.source].shape, others[pair.target].shape
        if dims is None or there is None or len(dims) != len(there):
            continue
        for axis, size in enumerate(there):
            at = pair.perm[axis] if pair.perm else axis
            if isinstance(size, int) and not isinstance(dims[at], int):
                yield "dims", f"axis {at} of input {pair.source!r} is dynamic in the source, {size} in the target"


class CastModel(Model):
    """A target that takes and gives the source's dtypes: what it computes is judged, not what it is called with."""

    def __init__(self, model: Model, inputs: Mapping[str, str], outputs: Mapping[str, str]) -> None:
        """``inputs``, ``outputs``: dtypes of the source by the target's names."""
        self._model = model
        self.runtime = model.runtime
        self._inputs, self._outputs = dict(inputs), dict(outputs)
        self.inputs = tuple(replace(port, dtype=inputs.get(port.name, port.dtype)) for port in model.inputs)
        self.outputs = tuple(replace(port, dtype=outputs.get(port.name, port.dtype)) for port in model.outputs)

    @classmethod
    def around(cls, source: Model, model: Model, inputs: Sequence[Pairing], outputs: Sequence[Pairing]) -> Model:
        """Return the target with the source's dtypes where they differ; itself where they do not."""
        found = []
        for pairs, own, others in ((inputs, source.inputs, model.inputs), (outputs, source.outputs, model.outputs)):
            first, second = ({port.name: port.dtype for port in ports} for ports in (own, others))
            kinds = {p.target: first[p.source] for p in pairs if first[p.source] != second[p.target]}
            found.append({name: kind for name, kind in kinds.items() if any(kind in family for family in _FAMILIES)})
        return cls(model, *found) if any(found) else model

    def _run(self, feeds: Mapping[str, Any], fetch: list[str] | None) -> dict[str, Any]:
        taken = {port.name: port.dtype for port in self._model.inputs}
        fed = {n: _cast(value, taken[n]) if n in self._inputs else value for n, value in feeds.items()}
        made = self._model.run(fed, fetch=fetch)
        return {n: _cast(value, self._outputs[n]) if n in self._outputs else value for n, value in made.items()}


def _cast(value: Any, dtype: str) -> Any:
    return value.astype(np.dtype(_DTYPES.get(dtype, dtype.lower()))) if isinstance(value, np.ndarray) else value
