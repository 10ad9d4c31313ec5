"""Each error message, whole, as a user sees it; a place that raises one and has no case fails.

The texts stand in ``messages/``, one file per case. ``python -m tests.errors.test_errors write`` writes them anew, to
be read before they are committed; ``write rank handler`` only those whose names hold one of these words.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.errors import (
    cases_backends,
    cases_captures,
    cases_consent,
    cases_files,
    cases_outputs,
    cases_passes,
    cases_running,
    cases_tensorflow,
    cases_tensorflow_more,
    cases_tensorflow_ops,
    cases_torch,
    cases_torch_ops,
    cases_usage,
    cases_verifying,
)
from tests.errors.case import Case
from tests.errors.sites import Site, all_sites, recorded
from trueport.errors import TrueportError

MESSAGES = Path(__file__).parent / "messages"
WITHOUT_CASE = Path(__file__).parent / "without_case.txt"
_MODULES = (
    cases_files,
    cases_outputs,
    cases_usage,
    cases_running,
    cases_tensorflow,
    cases_tensorflow_more,
    cases_tensorflow_ops,
    cases_torch,
    cases_torch_ops,
    cases_backends,
    cases_passes,
    cases_verifying,
    cases_consent,
    cases_captures,
)
CASES = [case for module in _MODULES for case in module.CASES]
_ROOT = Path(__file__).parents[2]
_SEEN: dict[str, set[Site]] = {}


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def shown(case: Case, folder: Path) -> str:
    """What stands on stderr: of a command what it prints, of a function the error that ends the program."""
    stderr = StringIO()
    with _inside(folder), recorded() as sites, redirect_stderr(stderr), redirect_stdout(StringIO()):
        try:
            case.provoke()
        except SystemExit as stop:
            assert stop.code == 2, f"exit code {stop.code}"
        except TrueportError as error:
            stderr.write(f"{type(error).__module__}.{type(error).__name__}: {error}\n")
        else:
            raise AssertionError("there was no error")
    _SEEN[case.name] = sites
    return _lasting(stderr.getvalue(), folder)


def _lasting(text: str, folder: Path) -> str:
    """Without what differs from machine to machine and from run to run."""
    for path, word in ((folder, "."), (_ROOT, "<project>"), (Path(tempfile.gettempdir()), "<tmp>")):
        text = text.replace(str(path.resolve()), word).replace(str(path), word)
    text = text.replace(f"onnx {onnx.__version__}", "onnx <version>").replace(np.__version__, "<numpy>")
    text = re.sub(r'(\.py:|\.py", line )\d+', r"\1<line>", text)
    text = re.sub(r"held \d+ MB", "held <some> MB", text)
    # TorchScript numbers the types of a process.
    text = re.sub(r"/___torch_mangle_\d+", "", text)
    return re.sub(r"0x[0-9a-f]{6,}", "0x…", text)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_message_whole(case: Case, tmp_path: Path) -> None:
    assert shown(case, tmp_path) == _file(case).read_text(encoding="utf-8")


def test_every_message_has_place_reason_and_remedy_on_one_screen() -> None:
    for case in CASES:
        text = _file(case).read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 24, case.name
        assert "Traceback" not in text, case.name


def test_no_message_outlives_its_case() -> None:
    assert {path.stem for path in MESSAGES.iterdir()} == {_file(case).stem for case in CASES}


def test_every_place_that_raises_has_a_case(tmp_path: Path) -> None:
    """What has none yet is listed, and nothing else: a new place fails here until it has a case."""
    for case in CASES:
        if case.name not in _SEEN:  # the cases above may have run in another process
            (tmp_path / case.name).mkdir()
            shown(case, tmp_path / case.name)
    listed = set(_listed())
    assert (sorted(_uncovered() - listed), sorted(listed - _uncovered())) == ([], []), "new places; lines to take out"


def _listed() -> dict[str, str]:
    """Places without a case, one a line; ``# why`` behind one says why no user comes by it."""
    lines = (line.partition(" # ") for line in WITHOUT_CASE.read_text(encoding="utf-8").splitlines())
    return {place: why for place, _, why in lines}


def _uncovered() -> set[str]:
    seen = {site for sites in _SEEN.values() for site in sites}
    return {str(site) for site in set(all_sites().values()) - seen}


def _file(case: Case) -> Path:
    return MESSAGES / f"{case.name}.txt"


def _write(parts: list[str]) -> None:
    """Of cases whose name holds one of some parts, or of all; then the list of places as well."""
    for case in [case for case in CASES if not parts or any(part in case.name for part in parts)]:
        with tempfile.TemporaryDirectory() as folder:
            try:
                text = shown(case, Path(folder))
            except Exception as error:
                print(f"{case.name}: {type(error).__name__}: {error}"[:300], file=sys.__stderr__)
                continue
        _file(case).write_text(text, encoding="utf-8")
    if not parts:
        reasons = _listed()
        lines = [f"{place} # {why}" if (why := reasons.get(place)) else place for place in sorted(_uncovered())]
        WITHOUT_CASE.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        print(f"{len(CASES)} cases; {len(set(all_sites().values()))} places, {len(_uncovered())} without a case")


if __name__ == "__main__" and sys.argv[1:2] == ["write"]:
    _write(sys.argv[2:])
