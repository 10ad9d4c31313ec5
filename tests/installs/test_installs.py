"""A wheel in empty environments, with each extra alone and with distributions of other names: what each command says.

``python -m tests.installs.test_installs write [NAME…]`` writes the texts anew, to be read before they are committed.
"""

from __future__ import annotations

import shutil
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import trueport
from tests.installs.environments import Environment, build
from tests.installs.installs import INSTALLS, LOOKED_FOR
from tests.installs.models import COMMANDS, write_models
from tests.installs.transcripts import SAID, Install, transcript

pytestmark = pytest.mark.slow
_ROOT = Path(trueport.__file__).parent


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    write_models(folder)
    return folder


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "env"
    shutil.rmtree(tmp_path)  # gigabytes


def _said(install: Install, wheel: Path, models: Path, place: Path) -> str:
    environment = Environment(place, wheel, install)
    find = "import sys; from trueport.requirements import is_installed; print(*filter(is_installed, sys.argv[1:]))"
    assert set(environment.python("-c", find, *LOOKED_FOR).split()) == install.brings
    work = place.parent / "work"
    shutil.copytree(models, work)
    (work / "made").mkdir()
    return transcript(COMMANDS, lambda command: environment.trueport(command, work))


@pytest.mark.parametrize("install", INSTALLS, ids=lambda install: install.name)
def test_what_each_command_says(install: Install, built: tuple[Path, Path], models: Path, place: Path) -> None:
    assert _said(install, built[1], models, place) == install.said.read_text(encoding="utf-8")


def test_the_sdist_and_the_wheel_hold_the_whole_package(built: tuple[Path, Path]) -> None:
    sdist, wheel = built
    files = {path.relative_to(_ROOT.parent).as_posix() for path in _ROOT.rglob("*") if path.is_file()}
    files = {name for name in files if "__pycache__" not in name}
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = (name for name in names if name.endswith("/METADATA"))
        assert f"\nVersion: {trueport.__version__}\n" in archive.read(metadata).decode()
    assert "trueport/py.typed" in names
    assert files == {name for name in names if name.startswith("trueport/")}
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert files <= inside and {"pyproject.toml", "README.md", "LICENSE"} <= inside


def _write(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        dist, models = Path(folder, "dist"), Path(folder, "models")
        dist.mkdir()
        models.mkdir()
        _, wheel = build(dist)
        write_models(models)
        SAID.mkdir(exist_ok=True)
        for install in INSTALLS:
            if install.like or (names and install.name not in names):
                continue
            place = Path(folder, install.name)
            place.mkdir()
            text = _said(install, wheel, models, place / "env")
            install.said.write_text(text, encoding="utf-8")
            shutil.rmtree(place)


if __name__ == "__main__" and sys.argv[1:2] == ["write"]:
    _write(sys.argv[2:])
