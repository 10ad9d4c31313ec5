"""What holds for every way through the hallway: plans are pure, files are read once, nothing is drawn unasked."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir
import pytest

import trueport
from tests.models import relu_chain
from tests.test_structure import FILES, ROOT, room
from trueport.drawing import graph as drawing
from trueport.report import artifacts
from trueport.sources.open import KINDS, load_target, open_source

ENDINGS = frozenset(
    {".onnx", ".zip", ".keras", ".h5", ".hdf5", ".pb", ".pbtxt", ".meta", ".tflite", ".pt", ".pt2", ".pth", ".ts"}
)
TARGETS = [kind.form for kind in KINDS if kind.target]


def decides_by_form(node: ast.AST) -> bool:
    """True for a comparison with the ending of a model's name."""
    words = {part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)}
    return isinstance(node, ast.Compare) and bool(words & ENDINGS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_sources_tells_forms_apart(path: Path) -> None:
    if room(path) != "sources":
        assert not [node.lineno for node in ast.walk(ast.parse(path.read_text())) if decides_by_form(node)]


@pytest.mark.parametrize("form", TARGETS)
def test_a_plan_leaves_its_program_as_it_was(form: str) -> None:
    program = open_source(relu_chain(3)).to_ir()
    before = ir.to_proto(program.model).SerializeToString(deterministic=True)
    target = load_target(form)
    target((), target.Options()).plan(program)
    assert ir.to_proto(program.model).SerializeToString(deterministic=True) == before


@pytest.mark.parametrize("form", TARGETS)
def test_a_plan_loads_no_framework(form: str, tmp_path: Path) -> None:
    """ONNX Runtime is asked which kernels it has."""
    onnx.save(relu_chain(), tmp_path / "m.onnx")
    code = (
        "import sys\n"
        "from trueport.sources.open import load_target, open_source\n"
        "program, target = open_source(sys.argv[1]).to_ir(), load_target(sys.argv[2])\n"
        "target((), target.Options()).plan(program)\n"
        "print(*{'tensorflow', 'keras', 'tf_keras', 'torch', 'ai_edge_litert'} & set(sys.modules))\n"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "m.onnx"), form]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip() == ""


def counted(counts: Counter[str], name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def counting(*args: Any, **options: Any) -> Any:
        counts[name] += 1
        return call(*args, **options)

    return counting


def test_a_conversion_reads_its_file_twice_and_infers_shapes_thrice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    onnx.save(relu_chain(5), tmp_path / "m.onnx")
    counts: Counter[str] = Counter()
    for module, name in (
        (onnx, "load"),
        (onnx.shape_inference, "infer_shapes"),
        (drawing, "onnx_graph"),
        (artifacts, "_sha256"),
    ):
        monkeypatch.setattr(module, name, counted(counts, name, getattr(module, name)))
    report = trueport.convert_file(tmp_path / "m.onnx", tmp_path / "saved")
    # The frontend and the source's runtime; the checker's types, the program's shapes, the reference's.
    assert counts == {"load": 2, "infer_shapes": 3}
    assert report.went_in is not None
    assert counts["_sha256"] > 0
