"""Whenever the writer dies or the disk is full: the old artifact or the new one, whole, and the next run cleans up."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnx.helper as oh
import onnxruntime as ort
import pytest
import tensorflow as tf
from onnx import TensorProto, numpy_helper

from tests.backends.crashes import (
    ENOSPC,
    KILL,
    Call,
    Scene,
    changing_calls,
    digest,
    leftovers,
    run_writer,
    why_no_strace,
)
from tests.models import model_of

pytestmark = pytest.mark.skipif(bool(why_no_strace()), reason=why_no_strace() or "strace works")

X = np.arange(6, dtype=np.float32).reshape(2, 3)
OLD, NEW = 2.0, 3.0
WIDTH = 400
"""Columns of the weight: it is large enough for a data file of its own."""


def write_graph(folder: Path, factor: float, data: str) -> Path:
    """Write y = x @ w with w in a file of its own; all elements of w are ``factor``."""
    folder.mkdir()
    weight = numpy_helper.from_array(np.full((3, WIDTH), factor, np.float32), "w")
    ends = [
        oh.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", [2, 3]), ("y", [2, WIDTH]))
    ]
    model = model_of([oh.make_node("MatMul", ["x", "w"], ["y"])], ends[:1], ends[1:], initializers=[weight])
    onnx.save(model, folder / "out.onnx", save_as_external_data=True, location=data, size_threshold=0)
    return folder


def write_saved_model(folder: Path, factor: float) -> Path:
    class Scaled(tf.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.w = tf.Variable(tf.fill([3, WIDTH], factor))

        @tf.function(input_signature=[tf.TensorSpec([2, 3])])  # type: ignore[untyped-decorator]
        def __call__(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
            return {"y": x @ self.w}

    module = Scaled()
    tf.saved_model.save(module, str(folder / "out"), signatures=module.__call__)
    return folder


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """By form, the folders of an old and a new artifact."""
    base = tmp_path_factory.mktemp("ready")
    return {
        "onnx": (
            write_graph(base / "old.onnx", OLD, "out.onnx.0000aaaa.data"),
            write_graph(base / "new.onnx", NEW, "out.onnx.0000bbbb.data"),
        ),
        "tensorflow": (write_saved_model(base / "old", OLD), write_saved_model(base / "new", NEW)),
    }


def _scene(ready: dict[str, tuple[Path, Path]], form: str, overwrite: bool, exchange: bool = True) -> Scene:
    old, new = ready[form]
    return Scene(old, new, "out.onnx" if form == "onnx" else "out", form, overwrite, exchange)


_FACTORS: dict[str, float] = {}
"""of SavedModels that were loaded, by digest: the same bytes give the same numbers"""


def factor_of(output: Path) -> float:
    """Load the artifact in its own runtime, run it and return the factor that it applies."""
    if output.is_dir():
        key = digest(output)
        if key not in _FACTORS:
            got = tf.saved_model.load(str(output)).signatures["serving_default"](tf.constant(X))["y"].numpy()
            _FACTORS[key] = _common_factor(got)
        return _FACTORS[key]
    onnx.load(output)
    session = ort.InferenceSession(output, providers=["CPUExecutionProvider"])
    return _common_factor(session.run(None, {"x": X})[0])


def _common_factor(got: np.ndarray) -> float:
    factors = got / X.sum(1, keepdims=True)
    assert np.all(factors == factors[0, 0]), "a mixture of two artifacts"
    return float(factors[0, 0])


def _state(output: Path) -> str:
    """Return which artifact has the name, after it has been run: old, new or none."""
    return {OLD: "old", NEW: "new"}[factor_of(output)] if os.path.lexists(output) else "none"


def _crash(scene: Scene, call: Call, what: str, folder: Path) -> str:
    """Inject one fault, check what it left, let the next run end the work; return the state after the fault."""
    output = scene.prepare(folder)
    done = run_writer(scene, output, f"{call.name}:{what}:when={call.number}")
    state = _state(output)
    if what == KILL:
        assert done.returncode < 0 or done.returncode == 137, f"{call} was not reached: {done.stderr}"
    else:
        assert done.returncode in (0, 2), done.stderr
        assert "Traceback" not in done.stderr
        assert (state == "new") == (done.returncode == 0), state
        assert not leftovers(folder)
    # Between the two renames that stand for an exchange, a folder has no name; only a kill can leave it so.
    between = scene.target == "tensorflow" and not scene.exchange and what == KILL
    assert state in (("old", "new", *["none"] * between) if scene.overwrite else ("none", "new")), state
    _finish(scene, output, state)
    return state


def _finish(scene: Scene, output: Path, state: str) -> None:
    """A run without --overwrite recovers and touches nothing else; the next one writes and leaves nothing behind."""
    careful = run_writer(Scene(scene.old, scene.new, scene.name, scene.target, overwrite=False), output)
    expected = "old" if scene.overwrite and state == "none" else "new" if state == "none" else state
    assert careful.returncode == (0 if state == "none" and not scene.overwrite else 2), careful.stderr
    assert _state(output) == expected
    last, other = ("new", scene.new) if expected == "old" else ("old", scene.old)
    assert run_writer(Scene(scene.old, other, scene.name, scene.target, overwrite=True), output).returncode == 0
    assert _state(output) == last
    assert sorted(os.listdir(output.parent)) == sorted(item.name for item in other.iterdir())


SCENES = [
    pytest.param("onnx", False, True, id="new file"),
    pytest.param("onnx", True, True, id="replaced file"),
    pytest.param("onnx", True, False, id="replaced file, no renameat2"),
    pytest.param("tensorflow", False, True, id="new folder"),
    pytest.param("tensorflow", True, True, id="exchanged folder"),
    pytest.param("tensorflow", True, False, id="folder set aside, no renameat2"),
]


@pytest.mark.slow
@pytest.mark.parametrize("what", [KILL, ENOSPC])
@pytest.mark.parametrize(("form", "overwrite", "exchange"), SCENES)
def test_at_every_call(
    form: str, overwrite: bool, exchange: bool, what: str, ready: dict[str, tuple[Path, Path]], tmp_path: Path
) -> None:
    scene = _scene(ready, form, overwrite, exchange)
    calls = [call for call in changing_calls(scene, tmp_path / "plain") if what == KILL or call.may_fill_the_disk]
    states = Counter(_crash(scene, call, what, tmp_path / f"{index}") for index, call in enumerate(calls))
    print(f"{form}, overwrite {overwrite}, renameat2 {exchange}, {what}: {len(calls)} injections, {dict(states)}")
    assert len(calls) > 10
    assert "new" in states or what == ENOSPC


@pytest.mark.parametrize("what", [KILL, ENOSPC])
@pytest.mark.parametrize(("form", "overwrite", "exchange"), SCENES)
def test_at_the_last_rename(
    form: str, overwrite: bool, exchange: bool, what: str, ready: dict[str, tuple[Path, Path]], tmp_path: Path
) -> None:
    """The call that gives the output its name: before it the old one is there."""
    scene = _scene(ready, form, overwrite, exchange)
    renames = [call for call in changing_calls(scene, tmp_path / "plain") if call.name.startswith("rename")]
    state = _crash(scene, renames[-1], what, tmp_path / "crashed")
    set_aside = form == "tensorflow" and not exchange and what == KILL
    assert state == ("old" if overwrite and not set_aside else "none")
