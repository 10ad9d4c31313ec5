"""The converters that are compared, each in an environment of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import venv
from dataclasses import dataclass, replace
from pathlib import Path

from bench.child import Outcome, run

__all__ = ["LIMIT", "OURS", "OURS_VERIFIED", "PEERS", "TF2ONNX", "Converted", "Tool", "convert", "reason_file"]

HERE = Path(__file__).parent
LIMIT = 180.0
"""seconds that processors may work for one conversion, unless told otherwise"""


@dataclass(frozen=True)
class Tool:
    """A converter: the script that calls it, and what its environment holds."""

    name: str
    script: str
    packages: tuple[str, ...] = ()
    """none: this interpreter's own environment"""
    arguments: tuple[str, ...] = ()

    def interpreter(self) -> str:
        """The environment's Python, made at first use."""
        if not self.packages:
            return sys.executable
        folder = HERE / ".envs" / self.name
        stamp = folder / "ready"
        if not stamp.exists() or stamp.read_text() != "\n".join(self.packages):
            venv.create(folder, with_pip=True, clear=True)
            pip = [str(folder / "bin/python"), "-m", "pip", "install", "--quiet", *self.packages]
            subprocess.run(pip, check=True, capture_output=True)
            stamp.write_text("\n".join(self.packages))
        return str(folder / "bin/python")


OURS = Tool("trueport", "ours.py")
OURS_VERIFIED = Tool("trueport, verified", "ours.py", arguments=("verify",))
PEERS = (
    Tool("onnx2tf", "onnx2tf.py", ("onnx2tf==1.29.24",)),
    # The newest of what it was written for: it uses modules that later releases no longer have.
    Tool(
        "onnx-tf",
        "onnx_tf.py",
        (
            "onnx-tf==1.10.0",
            "onnx==1.14.1",
            "tensorflow-cpu==2.15.1",
            "tensorflow-addons==0.23.0",
            "tensorflow-probability==0.23.0",
            "numpy<2",
            "setuptools<80",
        ),
    ),
)
TF2ONNX = Tool(
    "tf2onnx",
    "tf2onnx.py",
    # The TensorFlow that writes the SavedModels; it uses names that NumPy 2 no longer has.
    ("tf2onnx==1.17.0", "tensorflow-cpu==2.21.0", "onnx==1.17.0", "numpy<2"),
)


@dataclass(frozen=True)
class Converted:
    """One conversion: the whole process, and the function alone."""

    outcome: Outcome
    seconds: float = float("nan")
    cpu: float = float("nan")

    @property
    def failure(self) -> str:
        return self.outcome.failure


def reason_file(folder: Path) -> Path:
    """Where it is kept why a conversion failed."""
    return folder.parent / f"{folder.name}.failure"


def convert(tool: Tool, model: Path, folder: Path, limit: float = LIMIT) -> Converted:
    """Convert in a fresh process; an older result is removed before, and beside a failed one stands why it failed.

    ``folder`` is a SavedModel's, or the path of an ONNX file when the model is a SavedModel.
    """
    _remove(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    reason = reason_file(folder)
    reason.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        result = Path(scratch) / "result.json"
        script = HERE / "converters" / tool.script
        command = [tool.interpreter(), str(script), str(model.absolute()), str(folder.absolute()), str(result)]
        outcome = run([*command, *tool.arguments], limit=limit, folder=Path(scratch))
        if outcome.failure or not result.exists():
            _remove(folder)
            outcome = replace(outcome, failure=outcome.failure or "no result")
            reason.write_text(outcome.failure)
            return Converted(outcome)
        spent = json.loads(result.read_text())
        return Converted(outcome, spent["seconds"], spent.get("cpu", float("nan")))


def _remove(made: Path) -> None:
    if made.is_file():
        made.unlink()
    shutil.rmtree(made, ignore_errors=True)
