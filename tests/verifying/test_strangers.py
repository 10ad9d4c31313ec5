"""The second injector: enough kinds, models and forms; kinds apply, models run, halves stay."""

from __future__ import annotations

import collections
import re

import numpy as np
import onnx
import pytest

from bench.faults.strangers.cells import Cell, Choice, draw_cell, draw_tickets, inject_cell, sites_of
from bench.faults.strangers.effect import differs, measure_effect
from bench.faults.strangers.forms import FORMS
from bench.faults.strangers.inputs import draw_default
from bench.faults.strangers.kind import half_of
from bench.faults.strangers.kinds import KINDS
from bench.faults.strangers.nets import NETS, OWN, load_net
from bench.faults.strangers.running import run_plain
from bench.faults.strangers.trials import Record, anonymous

UNTOLD = (
    "unknown: none of 14 hypotheses gives the target's numbers",
    "its result has shape [7, 2, 5], the source's has [2, 7, 5]",
    "values of the node's output differ from the source's on the same inputs by more than rounding in float64",
)
"""Sentences that explain nothing."""
PLAIN = tuple(name for name, net in NETS.items() if not net.cached)
"""Models that no framework has to export first."""


def test_there_are_enough_of_all() -> None:
    assert len(KINDS) >= 60
    assert len(NETS) >= 40
    assert len(OWN) >= 25
    assert len(FORMS) == 5


def test_halves_are_stable_and_about_equal() -> None:
    halves = collections.Counter(map(half_of, KINDS))
    assert min(halves.values()) >= 0.4 * len(KINDS)
    assert half_of("stale_input") == "tune"
    assert half_of("weight_transposed") == "report"
    assert half_of("gate_order") == "tune"


@pytest.mark.parametrize("name", PLAIN)
def test_model_is_valid_and_runs(name: str) -> None:
    model = load_net(name)
    onnx.checker.check_model(model)
    assert run_plain(model, draw_default(NETS[name], model))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NETS if name not in PLAIN])
def test_exported_model_is_valid_and_runs(name: str) -> None:
    model = load_net(name)
    onnx.checker.check_model(model)
    assert run_plain(model, draw_default(NETS[name], model))


@pytest.mark.parametrize("kind", KINDS)
def test_kind_applies_to_some_node(kind: str) -> None:
    cells = (
        Cell(kind, model, node, "kept", seed) for model in PLAIN for node in sites_of(kind, model) for seed in (0, 1)
    )
    injected = next((found for cell in cells if (found := inject_cell(cell)) is not None), None)
    assert injected is not None
    matched = [facet for facet in injected.change.facets if any(re.search(facet, text, re.I) for text in UNTOLD)]
    assert not matched, "these would take any explanation for the right one"


def test_injecting_is_repeatable_and_keeps_the_source() -> None:
    cell = Cell("weight_rows_swapped", "zoo_cnn", 0, "kept", 3)
    before = load_net("zoo_cnn").SerializeToString()
    first, second = inject_cell(cell), inject_cell(cell)
    assert first is not None and second is not None
    assert first.model.SerializeToString() == second.model.SerializeToString() != before
    assert load_net("zoo_cnn").SerializeToString() == before


def test_trials_are_repeatable_and_kinds_equally_frequent() -> None:
    choice = Choice(kinds="^bias|^slice", models="zoo_(cnn|head|audio)")
    tickets = draw_tickets(12, 5, choice)
    assert tickets == draw_tickets(12, 5, choice)
    counts = collections.Counter(ticket.kind for ticket in tickets)
    assert max(counts.values()) - min(counts.values()) <= 1
    assert [draw_cell(ticket, choice) for ticket in tickets] == [draw_cell(ticket, choice) for ticket in tickets]


@pytest.mark.parametrize("form", [name for name in FORMS if name != "saved_model"])
def test_form_shows_the_fault_and_keeps_inputs_and_outputs(form: str, tmp_path) -> None:  # type: ignore[no-untyped-def]
    injected = inject_cell(Cell("bias_zero", "zoo_cnn", 0, form, 0))
    assert injected is not None
    target = FORMS[form](injected.model, tmp_path, np.random.default_rng(0))
    for side in ("input", "output"):
        names = [[value.name for value in getattr(model.graph, side)] for model in (injected.model, target)]
        assert names[0] == names[1]
    assert measure_effect("zoo_cnn", target).changes


def test_differs_is_beyond_the_range_and_beyond_noise() -> None:
    before = np.array([1.0, -2.0, 0.5])
    assert not differs(before, before * (1 + 1e-4), [before])
    assert differs(before, before * (1 + 1e-2), [before])
    assert not differs(before, before * (1 + 1e-2), [before * (1 + 1e-3)])
    assert differs(before, np.array([1.0, np.nan, 0.5]), [before])
    assert not differs(np.array([1.0, np.inf]), np.array([1.0, 3.0]), [np.array([1.0, 2.0])])
    assert differs(before, before[:2], [before])


def test_integers_differ_unless_noise_moves_them() -> None:
    before, after = np.array([1, 2, 3]), np.array([1, 2, 4])
    assert differs(before, after, [before])
    assert not differs(before, after, [np.array([1, 2, 5])])


def test_records_of_the_report_half_tell_no_kind() -> None:
    record = Record("0/1/bias_zero", "bias_zero", model="cnn", what="bias: all zero", said="bias", error="locate: x")
    text = str(anonymous(record))
    assert "bias" not in text and "cnn" not in text
