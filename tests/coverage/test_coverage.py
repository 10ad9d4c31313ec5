"""Every public name converts and agrees, or is refused with a reason that still holds; a name without a case fails."""

from __future__ import annotations

import pytest

from tests.coverage.case import Cannot, Case, all_cases
from tests.coverage.names import public_names
from tests.coverage.table import PAGE, page
from tests.frontends.harness import agree, traced
from trueport.errors import TrueportError
from trueport.pipeline import convert

CASES = all_cases()


@pytest.mark.parametrize("case", [c for c in CASES if isinstance(c, Case)], ids=lambda c: c.id)
def test_converts_and_agrees(case: Case) -> None:
    agree(case.make(), *case.samples, referee=case.make_referee(), **case.options)


@pytest.mark.parametrize("case", [c for c in CASES if isinstance(c, Cannot)], ids=lambda c: c.name)
def test_is_refused_with_its_reason(case: Cannot) -> None:
    source = case.make()
    function = traced(source, case.samples) if type(source).__name__ == "function" else source
    with pytest.raises(TrueportError, match=case.says or None):
        convert(function, to="onnx", verify=False)


def test_every_public_name_has_a_case() -> None:
    known = {case.name for case in CASES}
    assert not [name for name in public_names() if name not in known]


def test_no_case_is_of_a_name_that_is_gone() -> None:
    names = set(public_names())
    assert not [case.name for case in CASES if case.name not in names]


def test_the_page_is_fresh() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()
