"""Environments, one per set of versions, each built by pip in one go."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.versions.sets import TOOLS, Set

__all__ = ["ROOT", "SHOWN", "build", "folder_of", "installed_versions", "python_of"]

ROOT = Path(__file__).resolve().parents[2]
SHOWN = ("tensorflow", "torch", "onnxruntime", "onnx", "numpy")
_CAUSES = "The conflict is caused by:"
_SOURCES = ("pyproject.toml", "README.md", "LICENSE")


def folder_of(chosen: Set, cache: Path) -> Path:
    """Return where the set's environment is kept."""
    return cache / re.sub(r"[^a-z0-9.]+", "-", chosen.name.lower())


def python_of(chosen: Set, cache: Path) -> Path:
    """Return the interpreter of a set's environment."""
    return folder_of(chosen, cache) / "bin" / "python"


def build(chosen: Set, cache: Path) -> str:
    """Make the set's environment, unless it is there; return the reason if pip cannot, else an empty text.

    What was asked for is kept in the environment, so that a set that is changed is built again.
    """
    folder = folder_of(chosen, cache)
    asked = json.dumps([chosen.python, chosen.extras, *chosen.requires, *TOOLS, _requirements()])
    ready = folder / ".ready"
    if ready.exists() and ready.read_text("utf-8") == asked:
        return ""
    base = _interpreter(chosen.python)
    if base is None:
        return f"Python {chosen.python} is not installed"
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([base, "-m", "venv", folder], check=True)
    pip: Sequence[str | Path] = [python_of(chosen, cache), "-m", "pip"]
    subprocess.run([*pip, "install", "--quiet", "--upgrade", "pip"], check=True, stderr=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as tree:
        _copy_sources(Path(tree))
        wanted = [f"{tree}[{chosen.extras}]", *chosen.requires, *TOOLS]
        # pip resolves everything before it installs anything, so a conflict leaves nothing behind.
        install = [*pip, "install", "--prefer-binary", "--progress-bar", "off", *wanted]
        done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode:
        shutil.rmtree(folder)
        return _conflict_of(done.stdout, done.stderr)
    # The tests import the package from this folder.
    subprocess.run([*pip, "uninstall", "--quiet", "--yes", "trueport"], check=True)
    ready.write_text(asked, "utf-8")
    return ""


def _requirements() -> str:
    """Return what the package asks for: the lines of pyproject.toml up to its tools."""
    return (ROOT / "pyproject.toml").read_text("utf-8").partition("[tool.")[0]


def _copy_sources(tree: Path) -> None:
    """Copy what the package is built from, so that building leaves nothing in this folder."""
    shutil.copytree(ROOT / "trueport", tree / "trueport", ignore=shutil.ignore_patterns("__pycache__"))
    for name in _SOURCES:
        shutil.copy(ROOT / name, tree / name)


def _conflict_of(printed: str, errors: str) -> str:
    """Return what pip says about a set that it cannot resolve, on one line."""
    causes = printed.partition(_CAUSES)[2].strip().partition("\n\n")[0].splitlines()
    refusals = [line.removeprefix("ERROR: ") for line in errors.splitlines() if line.startswith("ERROR: ")]
    lines = causes or refusals or errors.splitlines()[-3:]
    return "; ".join(dict.fromkeys(line.strip().replace("|", "or") for line in lines))[:400]


def _interpreter(version: str) -> str | None:
    """Return the path of an interpreter that starts, from PATH or from pyenv."""
    rooms = sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob(f"versions/{version}.*/bin/python"))
    for candidate in (f"python{version}", *map(str, rooms)):
        path = shutil.which(candidate)
        code = "import sys; print('%d.%d' % sys.version_info[:2])"
        started = path and subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)
        if started and started.stdout.strip() == version:
            return path
    return None


def installed_versions(python: Path) -> dict[str, str]:
    """Return the versions of an environment: Python's, and those of the packages that the table shows."""
    code = (
        "import importlib.metadata as m, json, platform\n"
        f"found = {{name: m.version(name).partition('+')[0] for name in {SHOWN!r}}}\n"
        "print(json.dumps({'python': platform.python_version(), **found}))"
    )
    return dict(json.loads(subprocess.run([python, "-c", code], capture_output=True, check=True).stdout))
