"""Each case of PyTorch as a test of its own, for `make test-quick` and `make test-op`, which take a few of them.

``test_operators.py`` judges all cases by namespace, many in one module, which takes less time.
"""

from __future__ import annotations

import pytest

from tests.torch.operators.case import TARGETS, Case, all_cases
from tests.torch.operators.run import outcome

CASES = [case for case in all_cases() if isinstance(case, Case)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(case: Case) -> None:
    found = outcome(case)
    assert {target: found[target].kind for target in TARGETS} == {
        target: "refused" if target in case.cannot else "agrees" for target in TARGETS
    }, found
