"""The benchmark's faithful pairs and hidden faults: how many there are, and that hidden faults are faults."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from bench.faults.hidden.catalogue import HALVES, HIDDEN_FAULTS, select_half
from bench.faults.hidden.fault import HiddenFault, differ
from bench.faults.pairs.catalogue import choose, enumerate_pairs

pytest.importorskip("torch")
pytest.importorskip("tensorflow")


def test_at_least_300_pairs_are_enumerated_with_unique_names() -> None:
    names = [pair.name for pair in enumerate_pairs()]
    assert len(names) == len(set(names)) >= 300
    assert all(name.startswith(f"{pair.kind}/") for name, pair in zip(names, enumerate_pairs(), strict=True))


def test_chosen_pairs_are_spread_and_repeatable() -> None:
    chosen = choose(20, seed=0)
    assert [pair.name for pair in chosen] == [pair.name for pair in choose(20, seed=0)]
    assert len({pair.kind for pair in chosen}) == 20


def test_there_are_40_hidden_faults() -> None:
    assert len({fault.name for fault in HIDDEN_FAULTS}) == len(HIDDEN_FAULTS) == 40


def test_halves_are_stable_disjoint_and_spread() -> None:
    tune, report = ([fault.name for fault in select_half(half)] for half in HALVES)
    assert len(tune) == len(report) == 20
    assert not set(tune) & set(report)
    for family in {fault.family for fault in HIDDEN_FAULTS}:
        members = [fault.name for fault in HIDDEN_FAULTS if fault.family == family]
        assert abs(2 * len(set(members) & set(tune)) - len(members)) <= 1
    # A new or renamed fault may move others between the halves: the digest makes that visible.
    assert hashlib.sha256("\n".join(sorted(tune)).encode()).hexdigest()[:16] == "692a7782b9082c98"


@pytest.mark.parametrize("fault", HIDDEN_FAULTS, ids=lambda fault: fault.name)
def test_witness_shows_the_fault_and_ordinary_input_does_not(fault: HiddenFault, tmp_path: Path) -> None:
    source, target = fault.make(tmp_path)
    assert differ(source, target, fault.witness())
    assert not differ(source, target, fault.ordinary())
