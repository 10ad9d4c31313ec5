"""Every public name converts and agrees on both targets, or is refused with a reason that still holds."""

from __future__ import annotations

import pytest

from tests.torch.operators.case import TARGETS, Case, all_cases
from tests.torch.operators.names import public_names
from tests.torch.operators.run import outcome, outcomes
from tests.torch.operators.table import PAGE, page

CASES = [case for case in all_cases() if isinstance(case, Case)]
SPACES = ("torch.nn.functional.", "torch.special.", "torch.fft.", "torch.linalg.", "aten.", "torch.")
QUICK = (
    "torch.special.bessel_j0",
    "torch.special.chebyshev_polynomial_t",
    "torch.fft.rfft",
    "torch.linalg.solve",
    "torch.nn.functional.scaled_dot_product_attention-grouped",
    "torch.nn.functional.grid_sample-bilinear reflection False",
    "aten.index_put.default-add",
    "aten.remainder.Tensor-wholes",
    "aten.div.Tensor_mode-floor wholes",
    "torch.unique-all",
    "torch.searchsorted",
    "torch.nn.functional.unfold-all",
)


def expected(case: Case) -> dict[str, str]:
    return {target: "refused" if target in case.cannot else "agrees" for target in TARGETS}


def shortfalls(cases: list[Case]) -> list[str]:
    """What became of cases otherwise than they say, in words."""
    return [
        f"{case.id} to {target}: {found.kind}: {found.why}"
        for case, by_target in outcomes(cases)
        for target, found in by_target.items()
        if found.kind != expected(case)[target]
    ]


def test_a_sample_agrees() -> None:
    chosen = [case for case in CASES if case.id in QUICK]
    assert len(chosen) == len(QUICK)
    assert not shortfalls(chosen)


@pytest.mark.slow
@pytest.mark.parametrize("space", SPACES)
def test_every_name_of_a_namespace(space: str) -> None:
    own = [case for case in CASES if next(s for s in SPACES if case.name.startswith(s)) == space]
    assert not shortfalls(own)


def test_a_refusal_says_why() -> None:
    case = next(case for case in CASES if case.id == "torch.linalg.eigh")
    for found in outcome(case).values():
        assert found.kind == "refused"
        assert "no sign of their own" in found.why
        assert "eigvalsh" in found.why


def test_every_public_name_has_a_case() -> None:
    known = {case.name for case in all_cases()}
    assert not [name for name in public_names() if name not in known]


def test_no_case_is_of_a_name_that_is_gone() -> None:
    names = set(public_names())
    assert not [case.name for case in all_cases() if case.name not in names]


def test_no_two_cases_are_called_the_same() -> None:
    ids = [case.id for case in CASES]
    assert not [name for name in set(ids) if ids.count(name) > 1]


def test_the_page_is_fresh() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()
