"""One way to run any artifact: inputs and outputs by their ONNX names, inner values on request."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueport.errors import InvalidInput
from trueport.ir.artifact import InnerValue
from trueport.ir.choices import Choice
from trueport.ir.ports import Port

__all__ = ["Model", "Operation"]


@dataclass(frozen=True)
class Operation:
    """A node of a loaded model's main graph, with the model's own names for what it reads and makes."""

    name: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    operands: tuple[str, ...] = ()
    """what it reads by position, '' for what is left out; nothing where the runtime does not tell"""


class Model(ABC):
    """A loaded model.

    >>> model = trueport.load("saved_model/")  # doctest: +SKIP
    >>> model.run({"x": x})["y"]               # doctest: +SKIP
    """

    runtime: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]

    def run(self, feeds: Mapping[str, Any], *, fetch: Sequence[str] | None = None) -> dict[str, Any]:
        """Outputs by name; with ``fetch`` the named values instead, inner ones included."""
        self._check_feeds(feeds)
        return self._run(feeds, list(fetch) if fetch is not None else None)

    def inner(self) -> Mapping[str, InnerValue]:
        """Inner values that can be fetched and fed, under the source's names: the name here, and the order of axes."""
        return {}

    def segment(self, fed: Mapping[str, Any], fetch: Sequence[str], feeds: Mapping[str, Any]) -> dict[str, Any]:
        """Run only what lies between inner values that are given and others that are asked for.

        ``feeds`` are the model's own inputs, for what does not pass through the given values. A value that is both
        given and asked for is computed, and what uses it gets the given one.
        """
        raise InvalidInput(
            f"parts of a model can't be run in {self.runtime}",
            where="the model",
            remedy="trueport verify compares whole models, and runs any",
        )

    def opened(self) -> Model:
        """The same model with what it calls written out, so that every inner value has a name that can be fetched."""
        return self

    def output_values(self) -> Mapping[str, str]:
        """Outputs by name: the name under which ``inner`` has each; none where it is not known."""
        known = self.inner()
        return {port.name: port.name for port in self.outputs if port.name in known}

    def input_values(self) -> Mapping[str, InnerValue]:
        """Inputs by name: the name under which :meth:`cut` takes each, and the order of axes that it takes."""
        return {port.name: InnerValue(port.name) for port in self.inputs}

    @property
    def keeps_names(self) -> bool:
        """Whether inner values stand under the source's names, as Trueport records them."""
        return False

    def operations(self) -> Sequence[Operation]:
        """The main graph in an order in which it can be run, as far as the runtime shows it."""
        return ()

    def constants(self) -> Mapping[str, Any]:
        """Weights under the source's names, in the source's order of axes, as far as the model keeps them."""
        return {}

    def constants_of(self, tensors: Iterable[str]) -> Iterator[tuple[str, Any]]:
        """Yield what the operations that make tensors hold, those of their bodies too, by the target's own names."""
        return iter(())

    def cut(self, fed: Mapping[str, Any], fetch: str, feeds: Mapping[str, Any], place: Path) -> None:
        """Write the part between given values and one that is asked for as a model of its own, in this form."""
        raise NotImplementedError(self.runtime)

    def as_run_here(self) -> Model | None:
        """Return the model as its runtime computes it on this CPU, where that is known to be wrong, else None.

        Such a model is run in another way, which is right: see :mod:`trueport.runtimes.exact_sums`.
        """
        return None

    def choices(self, feeds: Mapping[str, Any]) -> Mapping[str, Choice]:
        """Return outputs that are indices of which the model leaves open which of equal elements they point at."""
        return {}

    @abstractmethod
    def _run(self, feeds: Mapping[str, Any], fetch: list[str] | None) -> dict[str, Any]:
        """Run with feeds that were checked."""

    def _check_feeds(self, feeds: Mapping[str, Any]) -> None:
        names = [port.name for port in self.inputs]
        for name in names:
            if name not in feeds:
                raise InvalidInput("is missing", where=f"input {name!r}", remedy=f"the model's inputs: {names}")
        for name in feeds:
            if name not in names:
                raise InvalidInput(f"there is no input {name!r}", remedy=f"the model's inputs: {names}")
        for port in self.inputs:
            _check_rank(port, feeds[port.name])


def _check_rank(port: Port, value: Any) -> None:
    shape = getattr(value, "shape", None)
    if port.kind not in ("tensor", "pair") or port.shape is None or shape is None:
        return
    fits = len(shape) == len(port.shape) and all(
        want == have for want, have in zip(port.shape, shape, strict=True) if isinstance(want, int)
    )
    if not fits:
        want = "[" + ", ".join("?" if dim is None else str(dim) for dim in port.shape) + "]"
        raise InvalidInput(f"has shape {list(shape)}, the model takes {want}", where=f"input {port.name!r}")
