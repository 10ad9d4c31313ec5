"""The sdist, the wheel that is built from it, and environments that hold nothing but what pip installs beside it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.installs.transcripts import Install, Outcome

__all__ = ["Environment", "build"]

_ROOT = Path(__file__).parents[2]
_CONSTRAINTS = (_ROOT / "constraints.txt", Path(__file__).with_name("constraints.txt"))
_BUILD_SDIST = "import sys; from setuptools import build_meta; print(build_meta.build_sdist(sys.argv[1]))"
_SOURCES = ("pyproject.toml", "README.md", "LICENSE")


def build(folder: Path) -> tuple[Path, Path]:
    """Return an sdist of the working tree, and a wheel made of the sdist."""
    tree = folder / "tree"
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(_ROOT / "trueport", tree / "trueport", ignore=ignored)
    for name in _SOURCES:
        shutil.copy(_ROOT / name, tree / name)
    _call([sys.executable, "-c", _BUILD_SDIST, str(folder)], tree)
    (sdist,) = folder.glob("*.tar.gz")
    _call([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder), str(sdist)], folder)
    (wheel,) = folder.glob("*.whl")
    return sdist, wheel


class Environment:
    """A virtual environment with a wheel and what an install brings."""

    def __init__(self, place: Path, wheel: Path, install: Install) -> None:
        self._bin = place / ("Scripts" if sys.platform == "win32" else "bin")
        wanted = f"{wheel}[{install.extra}]" if install.extra else str(wheel)
        _call([sys.executable, "-m", "venv", str(place)], place.parent)
        constraints = [word for path in _CONSTRAINTS for word in ("-c", str(path))]
        self.python("-m", "pip", "install", "--quiet", *constraints, wanted, *install.packages)

    def python(self, *words: str) -> str:
        """Return what Python prints; raises if it fails."""
        return _call([str(self._bin / "python"), *words], self._bin)

    def trueport(self, command: str, folder: Path) -> Outcome:
        """Run a command as a user does."""
        words = [str(self._bin / "trueport"), *command.split()]
        done = subprocess.run(words, cwd=folder, env=_environment(), capture_output=True, text=True, check=False)
        return Outcome.of(done.returncode, done.stdout, done.stderr)


def _call(words: Sequence[str], folder: Path) -> str:
    done = subprocess.run(words, cwd=folder, env=_environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def _environment() -> dict[str, str]:
    """Return this process's variables without those that let other packages in."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
