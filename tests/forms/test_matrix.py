"""Every pair of a source and a target works, or is refused in the same kind of words; the page shows what was seen."""

from __future__ import annotations

from pathlib import Path

from tests.forms.matrix import PAGE, cells, page


def test_every_pair_works_or_is_refused(tmp_path: Path) -> None:
    found = list(cells(tmp_path))
    assert {outcome for *_, outcome in found} <= {"yes", "refused"}, found
    assert page(found) == PAGE.read_text(encoding="utf-8"), "python -m tests.forms.matrix write"
