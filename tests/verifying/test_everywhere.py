"""Both models under other settings of their runtimes: each is judged, the worst decides, and nothing is left unsaid."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

import trueport
from tests.models import relu_chain
from trueport.cli.app import app
from trueport.errors import RunFailed
from trueport.fidelity import Verdict
from trueport.ir.ports import Port
from trueport.report.schema import load_schema
from trueport.report.verification import render
from trueport.runtimes.base import Model
from trueport.runtimes.settings import SETTINGS, NotShown, Setting, settings_of
from trueport.sources.opening import Opening
from trueport.verifying import everywhere
from trueport.verifying.everywhere import Everywhere
from trueport.verifying.inputs.pairing import PairedModel, Pairing
from trueport.verifying.judge.criteria import Asked
from trueport.verifying.verification import Verification

X = np.linspace(0.1, 1, 6, dtype=np.float32)
Run = Callable[[np.ndarray], np.ndarray]


class Fake(Model):
    """Computes what it is told to, under whatever name of a runtime."""

    inputs = (Port("x", "tensor", "FLOAT", (6,), ("x",)),)
    outputs = (Port("y", "tensor", "FLOAT", (6,), ("y",)),)

    def __init__(self, runtime: str, run: Run) -> None:
        self.runtime = runtime
        self._compute = run

    def _run(self, feeds: Mapping[str, Any], fetch: list[str] | None) -> dict[str, Any]:
        return {"y": self._compute(feeds["x"])}


class FakeOpening(Opening):
    """Opens fakes by the setting's name; all others do as the plain one."""

    special: Mapping[str, Run | str | Exception]

    def why_not(self, setting: Setting) -> str:
        found = self.special.get(setting.name, "")
        return found if isinstance(found, str) else ""

    def open(self, setting: Setting) -> Model:
        found = self.special.get(setting.name, root)
        if isinstance(found, Exception):
            raise found
        assert not isinstance(found, str)
        return Fake(setting.runtime, found)


class Counting:
    """The float64 reference; counts how often it is asked."""

    name = "float64 (NumPy)"
    shares = "nothing"
    asked = 0

    def run(self, feeds: Mapping[str, Any]) -> Any:
        self.asked += 1
        exact = np.sqrt(feeds["x"].astype(np.float64))
        return {"y": exact}, [{"y": exact * (1 + 2.0**-24)}]

    def more(self, feeds: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [{"y": np.sqrt(feeds["x"].astype(np.float64)) * (1 - 2.0**-24)}]


def root(x: np.ndarray) -> np.ndarray:
    return np.sqrt(x)


def scaled(x: np.ndarray) -> np.ndarray:
    return np.sqrt(x) * np.float32(1.001)


def fails(x: np.ndarray) -> np.ndarray:
    raise ValueError("no kernel for it")


def dies(x: np.ndarray) -> np.ndarray:
    raise RunFailed("the process that ran the model died (SIGILL)", where="m")


def compared(
    source: Mapping[str, Any] | None = None, target: Mapping[str, Any] | None = None, oracle: Any = None
) -> Verification:
    """ONNX Runtime against TensorFlow, with what either does differently under some settings."""
    models = Fake("onnxruntime", root), Fake("tensorflow", root)
    openings = tuple(
        FakeOpening(role, None, model)  # type: ignore[arg-type]
        for role, model in zip(("source", "target"), models, strict=True)
    )
    for opening, special in zip(openings, (source, target), strict=True):
        object.__setattr__(opening, "special", special or {})
    paired = PairedModel(models[1], [Pairing("x", "x", shape=(6,))], [Pairing("y", "y")])
    said: list[str] = []
    asked = Everywhere([models[0]], paired, (openings[0], openings[1]), oracle or Counting(), Asked(), 0, said.append)
    found = asked.run([{"x": X}, {"x": X * 3}])
    assert said[0] == "verify: source" and "verify: target, tensorflow, oneDNN off" in said
    assert len(found.settings) == len(settings_of("onnxruntime")) + len(settings_of("tensorflow"))
    return found


def verdicts(found: Verification, of: str = "target") -> dict[str, Verdict | None]:
    return {one.name: one.verdict for one in found.settings if one.of == of}


def test_faithful_under_all_settings() -> None:
    oracle = Counting()
    found = compared(oracle=oracle)
    assert found.verdict == Verdict.FAITHFUL and found.worst_setting is None
    assert set(verdicts(found).values()) == set(verdicts(found, "source").values()) == {Verdict.FAITHFUL}
    assert oracle.asked == found.samples == 2, "the reference is computed once per sample"
    assert found.executions == 1 + len(settings_of("onnxruntime")), "the source's runs belong to the noise floor"


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (scaled, "× what rounding explains"),
        (fails, "the target fails: ValueError: no kernel for it"),
        (dies, "the target fails: RunFailure: the process that ran the model died (SIGILL)"),
    ],
    ids=["differs", "fails", "dies"],
)
def test_the_worst_setting_decides_and_is_named(run: Run, why: str) -> None:
    found = compared(target={"oneDNN off": run})
    assert found.outputs[0].verdict == Verdict.FAITHFUL, "as it runs here"
    assert found.verdict == Verdict.DEPARTS
    worst = found.worst_setting
    assert worst is not None and worst.name == "oneDNN off" and why in worst.why
    assert [name for name, verdict in verdicts(found).items() if verdict != Verdict.FAITHFUL] == ["oneDNN off"]
    assert str(found).startswith(f"not faithful under tensorflow, oneDNN off: {worst.said}")
    lines = render(found).splitlines()
    assert lines[0] == f"not faithful under tensorflow, oneDNN off: {worst.said}"
    assert "tried       2 inputs; also under 9 settings of the target" in "\n".join(lines)


def test_what_is_not_run_is_listed_with_the_reason() -> None:
    special = {
        "oneDNN with AVX512_CORE": "this CPU has no AVX512F",
        "oneDNN on": NotShown("this build of TensorFlow does not turn oneDNN on"),
        "1 thread": OSError("no memory"),
        "XLA": fails,
    }
    found = compared(target=special)
    assert found.verdict == Verdict.FAITHFUL
    assert {one.name: one.why for one in found.settings if one.verdict is None} == {
        "oneDNN with AVX512_CORE": "this CPU has no AVX512F",
        "oneDNN on": "this build of TensorFlow does not turn oneDNN on",
        "1 thread": "does not start: OSError: no memory",
        "XLA": "XLA can't compile it: ValueError: no kernel for it",
    }
    lines = render(found).splitlines()
    assert "also under 5 settings of the target (4 not run)" in render(found)
    assert any(
        line.split()
        == ["target", "tensorflow", "1", "thread", "not", "run", "does", "not", "start:", "OSError:", "no", "memory"]
        for line in lines
    )
    jsonschema.validate(json.loads(render(found, json=True)), load_schema("verification-1"))


def test_a_source_that_differs_by_itself_hides_nothing() -> None:
    """A factory that draws new weights in each process would make any target look faithful."""
    found = compared(source={"level all": scaled, "1 thread": fails}, target={"without Grappler": scaled})
    assert verdicts(found, "source")["level all"] == Verdict.DEPARTS
    assert verdicts(found, "source")["1 thread"] is None
    assert found.executions == 1 + len(settings_of("onnxruntime")) - 2
    assert found.worst_setting is not None and found.worst_setting.name == "without Grappler"
    assert any("source, onnxruntime, level all: not faithful" in hint for hint in found.hints)
    assert compared(source={"level all": scaled}).verdict == Verdict.FAITHFUL, "the target alone is judged"


def test_names_of_settings_are_unique() -> None:
    assert len({(one.runtime, one.name) for one in SETTINGS}) == len(SETTINGS)


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """``only("XLA", …)``: no other settings, for each process of TensorFlow costs seconds."""

    def limit(*names: str) -> None:
        monkeypatch.setattr(
            everywhere, "settings_of", lambda runtime: [one for one in settings_of(runtime) if one.name in names]
        )

    return limit


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    import keras

    place = tmp_path_factory.mktemp("everywhere")
    (place / "everywhere_nets.py").write_text(NETS)
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(5, "relu"), keras.layers.Dense(3, "softmax")])
    model.save(place / "m.keras")
    trueport.convert_file(place / "m.keras", place / "m.onnx")
    trueport.convert_file(place / "m.onnx", place / "saved")
    before = Path.cwd()
    os.chdir(place)
    yield place
    os.chdir(before)


NETS = """
import torch


def build():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Tanh())


def drawn():
    return torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Tanh())
"""


def run_under(found: Verification) -> set[tuple[str, str]]:
    assert all(one.verdict for one in found.settings), [str(one) for one in found.settings]
    return {(one.of, one.name) for one in found.settings}


def test_onnx_to_savedmodel(folder: Path, only: Callable[..., None]) -> None:
    only("oneDNN off", "XLA", "level none", "2 threads")
    found = trueport.verify(folder / "m.onnx", folder / "saved", samples=2, everywhere=True)
    assert found.verdict == Verdict.FAITHFUL
    target = {("target", "oneDNN off"), ("target", "XLA"), ("target", "2 threads")}
    assert run_under(found) == {("source", "level none"), ("source", "2 threads"), *target}


@pytest.mark.parametrize("source", ["saved", "m.keras"])
def test_tensorflow_to_onnx(source: str, folder: Path, only: Callable[..., None]) -> None:
    only("without Grappler", "level all")
    found = trueport.verify(folder / source, folder / "m.onnx", samples=2, everywhere=True)
    assert found.verdict == Verdict.FAITHFUL
    assert run_under(found) == {("source", "without Grappler"), ("target", "level all")}


def test_pytorch_to_savedmodel(folder: Path, only: Callable[..., None], tmp_path: Path) -> None:
    only("kernels for default", "oneDNN on")
    trueport.convert_file("everywhere_nets:build", tmp_path / "saved", example_inputs="input=float32[2,6]")
    found = trueport.verify("everywhere_nets:build", tmp_path / "saved", samples=2, everywhere=True)
    assert found.verdict == Verdict.FAITHFUL
    results = {(one.of, one.name): one.verdict for one in found.settings}
    assert results[("source", "kernels for default")] == Verdict.FAITHFUL
    assert set(results) == {("source", "kernels for default"), ("target", "oneDNN on")}


def test_a_module_with_other_weights_in_each_process_is_no_noise(
    folder: Path, only: Callable[..., None], tmp_path: Path
) -> None:
    only("1 thread", "level none")
    trueport.convert_file("everywhere_nets:build", tmp_path / "m.onnx", example_inputs="input=float32[2,6]")
    found = trueport.verify("everywhere_nets:drawn", tmp_path / "m.onnx", samples=2, everywhere=True)
    assert found.verdict == Verdict.DEPARTS
    assert found.executions == 1 and verdicts(found, "source") == {"1 thread": Verdict.DEPARTS}


def test_models_in_memory_say_what_is_not_run(folder: Path) -> None:
    import keras

    model = keras.models.load_model(folder / "m.keras")
    found = trueport.verify(model, onnx.load(folder / "m.onnx"), samples=2, everywhere=True)
    assert found.verdict == Verdict.FAITHFUL
    assert set(verdicts(found).values()) == {Verdict.FAITHFUL}
    source = verdicts(found, "source")
    assert source.pop("XLA") == Verdict.FAITHFUL and set(source.values()) == {None}
    reasons = {one.why for one in found.settings if one.verdict is None and "with" not in one.name.split()}
    assert reasons == {"the model is in memory: save it"}


def test_isolated_models_run_in_processes_of_their_own(tmp_path: Path, only: Callable[..., None]) -> None:
    only("level none")
    onnx.save(relu_chain(), tmp_path / "m.onnx")
    found = trueport.verify(tmp_path / "m.onnx", tmp_path / "m.onnx", samples=2, everywhere=True, isolate=True)
    assert found.verdict == Verdict.FAITHFUL and run_under(found) == {
        ("source", "level none"),
        ("target", "level none"),
    }
    assert found.machine is not None and "onnxruntime" in found.machine.versions


def test_the_command_prints_a_line_per_setting(tmp_path: Path) -> None:
    onnx.save(relu_chain(), tmp_path / "m.onnx")
    command = ["verify", str(tmp_path / "m.onnx"), str(tmp_path / "m.onnx"), "--everywhere", "--samples", "2"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[0] == "faithful: no error in any output"
    assert "  tried       2 inputs; also under 6 settings of the target" in lines
    assert sum(line.split()[:2] == ["target", "onnxruntime"] for line in lines) == len(settings_of("onnxruntime"))
    assert any(line.startswith("  machine     ") for line in lines)
    data = json.loads(CliRunner().invoke(app, [*command, "--json"]).output)
    jsonschema.validate(data, load_schema("verification-1"))
    assert len(data["settings"]) == 12 and data["machine"]["threads"] >= 1


@pytest.mark.slow
def test_the_whole_grid(folder: Path, tmp_path: Path) -> None:
    trueport.convert_file("everywhere_nets:build", tmp_path / "saved", example_inputs="input=float32[2,6]")
    for source, target in [("everywhere_nets:build", tmp_path / "saved"), (folder / "m.keras", folder / "m.onnx")]:
        found = trueport.verify(source, target, samples=2, everywhere=True)
        assert found.verdict == Verdict.FAITHFUL
        left_out = [one for one in found.settings if one.verdict is None]
        assert all(
            one.why.startswith(("this CPU has no", "the system does not list", "this build")) for one in left_out
        )
        for of, runtime in (("source", found.source_runtime), ("target", found.target_runtime)):
            assert list(verdicts(found, of)) == [one.name for one in settings_of(runtime)]
