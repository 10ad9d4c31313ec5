"""Where faults are put: kinds × models × nodes × forms, drawn so that kinds are about equally frequent."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import re

import numpy as np

from bench.faults.strangers.forms import FORMS
from bench.faults.strangers.inputs import draw_default
from bench.faults.strangers.kind import Half, Injected, half_of
from bench.faults.strangers.kinds import KINDS
from bench.faults.strangers.nets import NETS, load_net
from bench.faults.strangers.running import learn_facts
from bench.faults.strangers.site import Facts, walk

__all__ = ["Cell", "Choice", "Ticket", "draw_cell", "draw_tickets", "inject_cell", "sites_of"]

_ATTEMPTS = 40
"""Draws of model and node for one trial before its kind is skipped."""


@dataclasses.dataclass(frozen=True)
class Ticket:
    """A trial that is to be drawn: a worker draws it, for a faulty model may end the process that runs it."""

    number: int
    kind: str
    seed: int

    @property
    def key(self) -> str:
        return f"{self.seed}/{self.number}/{self.kind}"


@dataclasses.dataclass(frozen=True)
class Cell:
    """Where a fault is put, and the form of the target."""

    kind: str
    model: str
    node: int
    """as `walk` counts"""
    form: str
    seed: int


@dataclasses.dataclass(frozen=True)
class Choice:
    """What trials are drawn from; patterns are regular expressions, '' takes all."""

    half: Half | None = None
    kinds: str = ""
    models: str = ""
    forms: str = ""

    def kind_names(self) -> list[str]:
        return [n for n in KINDS if re.search(self.kinds, n) and self.half in (None, half_of(n))]

    def model_names(self) -> list[str]:
        return [name for name in NETS if re.search(self.models, name)]

    def form_names(self) -> list[str]:
        return [name for name in FORMS if re.search(self.forms, name)]


def sites_of(kind: str, model: str) -> list[int]:
    """Return the nodes of a model that are of an operator that the kind applies to."""
    nodes = (graph.node[position] for graph, position, _ in walk(load_net(model).graph))
    return [number for number, node in enumerate(nodes) if KINDS[kind].takes(node)]


@functools.cache
def _known(model: str) -> tuple[Facts, dict[str, np.ndarray]]:
    feeds = draw_default(NETS[model], load_net(model))
    return learn_facts(load_net(model), feeds), feeds


def inject_cell(cell: Cell) -> Injected | None:
    """Return the faulty model, the same each time; None if the node does not take the fault."""
    facts, feeds = _known(cell.model)
    seed = hashlib.sha256(f"{cell.kind}/{cell.model}/{cell.node}/{cell.seed}".encode()).digest()
    rng = np.random.default_rng(list(seed[:8]))
    return KINDS[cell.kind].inject(load_net(cell.model), cell.node, rng, facts, feeds)


def draw_tickets(count: int, seed: int, choice: Choice) -> list[Ticket]:
    """Return the kinds of the trials: all once in an order of chance, then all again."""
    rng, kinds = np.random.default_rng(seed), choice.kind_names()
    order = [kinds[n] for _ in range(-(-count // len(kinds))) for n in rng.permutation(len(kinds))] if kinds else []
    return [Ticket(number, kind, seed) for number, kind in enumerate(order[:count])]


def draw_cell(ticket: Ticket, choice: Choice) -> Cell | None:
    """Draw a model, then a node, then a form; None where no node that was drawn takes the fault."""
    models, forms = choice.model_names(), choice.form_names()
    rng = np.random.default_rng([*hashlib.sha256(ticket.key.encode()).digest()[:8]])
    places = [(model, nodes) for model in models if (nodes := sites_of(ticket.kind, model))]
    for _ in range(_ATTEMPTS if places and forms else 0):
        model, nodes = places[int(rng.integers(len(places)))]
        form, seed = forms[int(rng.integers(len(forms)))], int(rng.integers(1000))
        cell = Cell(ticket.kind, model, nodes[int(rng.integers(len(nodes)))], form, seed)
        if inject_cell(cell) is not None:
            return cell
    return None
