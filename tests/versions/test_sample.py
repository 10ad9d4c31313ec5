"""The sample is drawn by its seed and spread over files; cells are counted by part, whatever became of the process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.versions.results import Cell, Row, counted, keep, kept
from tests.versions.sample import drawn
from tests.versions.sets import PARTS, SETS, Part
from tests.versions.table import table

TESTS = [f"tests/a/test_{file}.py::test_{number}" for file in "xyz" for number in range(20)]
PART = Part("some", 3, ("tests/a",))


def test_every_file_has_its_share() -> None:
    chosen = drawn(TESTS, 8)
    shares = sorted(sum(name.startswith(f"tests/a/test_{file}.py") for name in chosen) for file in "xyz")
    assert shares == [2, 3, 3]


def test_the_seed_alone_decides() -> None:
    assert drawn(TESTS, 8) == drawn(reversed(TESTS), 8)
    assert drawn(TESTS, 8) != drawn(TESTS, 8, seed=1)
    assert drawn(TESTS, 8) == drawn(TESTS, 30)[:8]
    assert sorted(drawn(TESTS, 99)) == sorted(TESTS)


def test_a_part_has_the_tests_of_its_paths() -> None:
    assert PART.has("tests/a/test_x.py::test_1") and PART.has("tests/a::x")
    assert not PART.has("tests/ab/test_x.py::test_1")
    assert all(Path(path).exists() for part in PARTS for path in part.paths)


def test_what_was_drawn_and_did_not_end_has_failed() -> None:
    outcomes = [(TESTS[0], "drawn"), (TESTS[1], "drawn"), (TESTS[0], "passed"), ("tests/b.py::test", "failed")]
    lines = "\n".join(json.dumps({"test": test, "outcome": outcome, "seconds": 1}) for test, outcome in outcomes)
    assert counted(lines, PART, "abc") == Cell("abc", passed=1, failed=1, seconds=4 - 1, failures=(TESTS[1],))
    assert counted("", PART, "abc").failed == 1


def test_a_cell_is_kept(tmp_path: Path) -> None:
    cell = Cell("abc", passed=3, failed=1, known=2, failures=("a",))
    keep(cell, tmp_path / "cell.json")
    assert kept(tmp_path / "cell.json") == cell
    assert kept(tmp_path / "other.json") is None
    assert str(cell) == "3 passed, 1 failed, 2 known to fail"


@pytest.mark.parametrize(("other", "said"), [("abc", "All seen at commit abc."), ("def", "oldest: abc, def")])
def test_the_table_says_at_which_commit_its_cells_were_seen(other: str, said: str) -> None:
    versions = dict.fromkeys(("python", "tensorflow", "torch", "onnxruntime", "onnx", "numpy"), "1")
    cells = {PARTS[0].name: Cell("abc", 1), PARTS[1].name: Cell(other, 1)}
    assert said in table([Row(SETS[0], versions, cells, ""), Row(SETS[-1], {}, {}, "a conflict")])
