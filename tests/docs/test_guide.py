"""The guide to a new operator holds to the letter: its declarations and rows, put where it says, pass."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "CONTRIBUTING.md"
FILES = (
    "trueport/backends/tensorflow/ops/microsoft/kin.py",
    "tests/grid/test_contrib.py",
    "trueport/frontends/tensorflow/ops/shape.py",
    "tests/frontends/test_shape.py",
)
"""Where the blocks of code of the guide belong, in its order."""
_BLOCK = re.compile(r"^ +```python no-run\n(.*?)^ +```", re.MULTILINE | re.DOTALL)
_TEST = re.compile(r"^def (test_\w+)", re.MULTILINE)


def blocks() -> list[str]:
    return [textwrap.dedent(block) for block in _BLOCK.findall(GUIDE.read_text(encoding="utf-8"))]


def test_the_guide_names_the_files() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    assert len(blocks()) == len(FILES)
    for file in FILES:
        assert Path(file).name in text and (ROOT / file).exists()


def test_the_examples_are_of_operators_that_are_missing() -> None:
    declared = re.findall(r'@maps\("(\w+)"', "".join(blocks()))
    assert len(declared) == 2
    for file, operator in zip(FILES[::2], declared, strict=True):
        assert all(
            f'"{operator}"' not in path.read_text(encoding="utf-8") for path in (ROOT / file).parent.glob("*.py")
        )


@pytest.mark.slow
def test_the_examples_pass(tmp_path: Path) -> None:
    for folder in ("trueport", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for file, block in zip(FILES, blocks(), strict=True):
        with (tmp_path / file).open("a", encoding="utf-8") as module:
            module.write(f"\n\n{block}")
    tests = [f"{file}::{name}" for file, block in zip(FILES, blocks(), strict=True) for name in _TEST.findall(block)]
    assert len(tests) == 2
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *tests],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
