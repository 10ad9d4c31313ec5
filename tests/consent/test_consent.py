"""Files of strangers run nothing unless the user consents: each hostile file is refused by name, or harmless."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import trueport
from tests.command_line import Cli
from tests.consent import keras_files, onnx_files, other_files, script_files, tensorflow_files, torch_files
from tests.consent.case import Hostile
from tests.consent.limits import limited

FILES = [
    *torch_files.FILES,
    *script_files.FILES,
    *keras_files.FILES,
    *tensorflow_files.FILES,
    *onnx_files.FILES,
    *other_files.FILES,
]
_SECONDS = 600
"""A command that takes longer hangs, on a pipe or a device without end; a busy machine takes minutes for an import."""


def test_there_are_enough() -> None:
    assert len({case.name for case in [*FILES, *other_files.SHADOWS]}) >= 60


@pytest.mark.parametrize("case", FILES, ids=lambda case: case.name)
def test_nothing_runs(case: Hostile, tmp_path: Path, cli: Cli) -> None:
    folder, canary = _laid_out(tmp_path)
    for command in case.build(folder, canary):
        try:
            with limited(_SECONDS):
                done = cli(*command)
        finally:  # also where a command fails: it may have executed something before
            assert not _executed(canary), f"{command[0]} executed it"
        assert "Traceback" not in done.err
        assert (done.code, bool(case.named), case.named in done.err) == (2, True, True), f"{command[0]}: {done}"
        assert ("--trust" in done.err) == case.consent, f"{command[0]}: {done.err}"


@pytest.mark.parametrize("case", other_files.SHADOWS, ids=lambda case: case.name)
def test_modules_in_the_current_folder_hide_none(case: Hostile, tmp_path: Path) -> None:
    folder, canary = _laid_out(tmp_path)
    root = str(Path(trueport.__file__).parents[1])
    for command in case.build(folder, canary):
        start = [sys.executable, "-P", "-c", "from trueport.cli import main; main()"]
        done = subprocess.run(
            [*start, *map(str, command)],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": root},
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        assert not canary.exists(), f"{command[0]} imported it"
        assert done.returncode == 0, done.stderr


def _laid_out(tmp_path: Path) -> tuple[Path, Path]:
    """Return a folder with an honest model, and the canary's path outside of it."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "other.onnx").write_bytes(onnx_files.relu().SerializeToString())
    return folder, tmp_path / "canary"


def _executed(canary: Path) -> bool:
    """True if the canary, or a file whose name begins like it, is there: TensorFlow adds endings."""
    return any(canary.parent.glob(f"{canary.name}*"))
