"""What is not a regular file is refused before it is opened, wherever a command expects a file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import trueport
from tests.command_line import Cli
from tests.consent.irregular_files import KINDS, PLACES
from tests.consent.limits import limited
from tests.consent.onnx_files import relu

_QUICK = {("pipe", place) for place in PLACES} | {("device", "saved-model-values"), ("folder", "keras")}
_EVERYWHERE = [
    pytest.param(kind, place, marks=[] if (kind, place) in _QUICK else pytest.mark.slow, id=f"{place}-{kind}")
    for place in PLACES
    for kind in KINDS
    if kind != "folder" or place not in ("saved-model-asset", "saved-model-fingerprint")
]
"""A folder in the place of an asset or a fingerprint is harmless: TensorFlow opens neither."""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "saved"
    trueport.convert(relu(), to="tensorflow").save(folder)
    return folder


@pytest.mark.parametrize(("kind", "place"), _EVERYWHERE)
def test_is_refused(kind: str, place: str, saved: Path, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "other.onnx").write_bytes(relu().SerializeToString())
    if place.startswith("saved-model"):
        shutil.copytree(saved, tmp_path / "saved")
    for command in PLACES[place](tmp_path, KINDS[kind]):
        with limited(60):
            done = cli(*command)
        assert done.code == 2, f"{command}: {done}"
        assert "Traceback" not in done.err
        first, *rest = done.err.strip().splitlines()
        assert first.startswith("trueport: ")
        assert all(line.startswith("  →") for line in rest), done.err
