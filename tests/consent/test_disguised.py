"""A hostile file stays refused in disguise: nothing in it is executed, and no command fails in another way."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import Cli
from tests.consent.disguised_files import FILES
from tests.consent.limits import limited
from tests.consent.onnx_files import relu


@pytest.mark.parametrize("name", FILES)
def test_nothing_runs(name: str, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, canary = tmp_path / "folder", tmp_path / "canary"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    (folder / "other.onnx").write_bytes(relu().SerializeToString())
    for command in FILES[name](folder, canary):
        try:
            with limited(300):
                done = cli(*command)
        finally:
            assert not any(tmp_path.glob("canary*")), f"{command[0]} executed it"
        assert done.code == 2, f"{command[0]}: {done}"
        assert "Traceback" not in done.err
