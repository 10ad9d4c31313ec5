"""Packages that are absent, simulated: a command that lacks one says so before it reads or loads anything."""

from __future__ import annotations

import fnmatch
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import onnxruntime
import pytest
import tomllib

import trueport
from tests.installs.installs import INSTALLS, LOOKED_FOR
from tests.installs.kernels import text as kernel_table
from tests.installs.models import COMMANDS, write_models
from tests.installs.transcripts import REFUSED, SAID, Install, Outcome, parse
from trueport.requirements import CAPTURE, RUN, RUN_SOURCE, WRITE, is_installed
from trueport.runtimes.ort_kernels import FILE
from trueport.sources.open import KINDS

_ROOT = Path(__file__).parents[2]
_FILES = ("model.onnx", "model.keras", "model.pt2", "model.tflite", "saved/saved_model.pb", "converted/saved_model.pb")


def _run(hidden: frozenset[str], commands: list[str], folder: Path) -> list[tuple[Outcome, list[str]]]:
    """What commands say where packages are absent, and which of the others they loaded."""
    words = [json.dumps(sorted(hidden)), json.dumps(commands), json.dumps(sorted(LOOKED_FOR))]
    path = os.pathsep.join([str(_ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "tests.installs.without", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    return [(Outcome.of(code, out, err), loaded) for code, out, err, loaded in json.loads(done.stdout)]


def _project() -> dict[str, Any]:
    return tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    write_models(folder)
    return folder


@pytest.mark.parametrize("install", INSTALLS, ids=lambda install: install.name)
def test_what_is_missing_is_said_before_anything_is_read(install: Install, tmp_path: Path) -> None:
    """The files are empty: whoever opened one would fail in another way."""
    for name in _FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    said = parse(install.said.read_text(encoding="utf-8"))
    expected = {command: outcome for command, outcome in said.items() if outcome.code == REFUSED}
    answers = _run(LOOKED_FOR - install.brings, list(expected), tmp_path)
    assert {command: answer[0] for command, answer in zip(expected, answers, strict=True)} == expected
    assert [loaded for _, loaded in answers] == [[]] * len(expected)
    assert {path.name for path in tmp_path.iterdir()} == {Path(name).parts[0] for name in _FILES}


@pytest.mark.parametrize("install", INSTALLS, ids=lambda install: install.name)
def test_all_that_is_said_of_a_missing_package_is_one_line(install: Install) -> None:
    said = parse(install.said.read_text(encoding="utf-8"))
    assert list(said) == list(COMMANDS)
    line = r"trueport: .+ needs .+, which (is|are) not installed: pip install 'trueport\[[a-z,]+\]'.*"
    for command, outcome in said.items():
        assert outcome.code in (0, REFUSED), command
        assert outcome.code == 0 or re.fullmatch(line, outcome.text), command


@pytest.mark.parametrize("source", ["model.keras", "model.pt2"])
def test_an_onnx_file_is_written_without_onnx_runtime(source: str, models: Path, tmp_path: Path) -> None:
    command = f"convert {models / source} -o made.onnx --no-verify"
    ((outcome, loaded),) = _run(frozenset({"onnxruntime"}), [command], tmp_path)
    assert outcome == Outcome(0, f"{models / source} → made.onnx: exact by declaration")
    assert "onnxruntime" not in loaded
    trueport.convert_file(models / source, tmp_path / "again.onnx", verify=False)
    assert (tmp_path / "made.onnx").read_bytes() == (tmp_path / "again.onnx").read_bytes()


def test_the_stored_kernels_are_those_of_onnx_runtime() -> None:
    stored = FILE.read_text(encoding="utf-8")
    if json.loads(stored)["onnxruntime"] != onnxruntime.__version__:
        pytest.skip(f"the stored table is of {json.loads(stored)['onnxruntime']}")
    assert stored == kernel_table(), "run `python -m tests.installs.kernels write`"


def test_a_folder_is_not_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder `torch` beside the model is found by Python as a namespace package."""
    (tmp_path / "some_framework").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    assert not is_installed("some_framework")
    (tmp_path / "some_framework" / "__init__.py").touch()
    assert is_installed("some_framework")


def test_what_a_user_is_told_to_install_is_an_extra() -> None:
    declared = set(_project()["project"]["optional-dependencies"])
    texts = "".join(path.read_text(encoding="utf-8") for path in SAID.iterdir())
    named = {extra for found in re.findall(r"trueport\[([a-z,]+)\]", texts) for extra in found.split(",")}
    assert named <= declared
    assert {install.extra for install in INSTALLS if install.extra in declared} == declared - {"dev"}


def test_version_and_help_need_no_framework(tmp_path: Path) -> None:
    commands = ["--version", "-h", "--help", "convert -h"]
    (version, *helps) = _run(LOOKED_FOR, commands, tmp_path)
    assert version == (Outcome(0, f"trueport {trueport.__version__}"), [])
    assert [(answer.code, bool(answer.text), loaded) for answer, loaded in helps] == [(0, True, [])] * 3


def test_the_version_stands_in_one_file() -> None:
    project = _project()
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "trueport.__version__"}
    holders = [path for path in (_ROOT / "trueport").rglob("*.py") if f'"{trueport.__version__}"' in path.read_text()]
    assert [path.name for path in holders] == ["__init__.py"]


def test_package_data_names_every_file_that_is_no_module() -> None:
    declared = [
        f"{package.replace('.', '/')}/{pattern}"
        for package, patterns in _project()["tool"]["setuptools"]["package-data"].items()
        for pattern in patterns
    ]
    for path in (_ROOT / "trueport").rglob("*"):
        name = path.relative_to(_ROOT).as_posix()
        if path.is_file() and path.suffix != ".py" and "__pycache__" not in name:
            assert any(fnmatch.fnmatchcase(name, pattern) for pattern in declared), name


def test_every_target_has_its_needs() -> None:
    assert set(WRITE) == {kind.form for kind in KINDS if kind.target}
    assert set(CAPTURE) <= set(RUN_SOURCE) and set(WRITE) <= set(RUN)
