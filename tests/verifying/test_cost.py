"""What verification costs: no larger inputs, no more evaluations and no more memory than the verdict needs."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from bench.faults.pairs.graph import Graph, Value, make_two
from trueport.frontends.onnx.load import load_onnx
from trueport.pipeline import convert_file
from trueport.runtimes.base import Model
from trueport.verifying.inputs.flow.flow import Flow
from trueport.verifying.inputs.flow.rules import RULES
from trueport.verifying.inputs.plan import graph_ports
from trueport.verifying.inputs.probing import Answer
from trueport.verifying.inputs.reach import search
from trueport.verifying.inputs.reach.observe import Observation, Observer
from trueport.verifying.inputs.reach.search import Reach
from trueport.verifying.inputs.size_candidates import Row, SizedGraph, sized_by
from trueport.verifying.inputs.sizes import plan_sizes


def images(channels: int, kernel: int) -> onnx.ModelProto:
    """A convolution of images, which TensorFlow wants with channels last; the batch is dynamic."""

    def write(g: Graph, x: str) -> Value:
        y = g.Relu(g.Conv(x, np.ones((4, channels, kernel, kernel), np.float32)))
        return g.Gemm(g.Flatten(y), np.ones((4 * (9 - kernel + 1) ** 2, 3), np.float32))

    return make_two({"x": ["N", channels, 9, 9]}, write, write)[0]


@pytest.mark.parametrize(("channels", "kernel"), [(1, 3), (2, 5), (3, 1)])
def test_a_conversion_is_compared_on_small_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, channels: int, kernel: int
) -> None:
    sizes, run = set[int](), Model.run

    def watched(self: Model, feeds: Mapping[str, Any], **options: Any) -> dict[str, Any]:
        sizes.add(len(feeds["x"]))
        return run(self, feeds, **options)

    monkeypatch.setattr(Model, "run", watched)
    onnx.save(images(channels, kernel), tmp_path / "images.onnx")
    report = convert_file(tmp_path / "images.onnx", tmp_path / "saved")
    assert report.comparison is not None
    assert report.comparison.coverage is not None
    assert report.comparison.coverage.nodes
    assert len(sizes) > 1
    assert max(sizes) <= 64


def test_a_graph_that_is_said_to_refuse_all_sizes_leaves_the_choice_to_the_source() -> None:
    # A window of 3 in a row of one element: no batch can be right.
    def write(g: Graph, x: str) -> Value:
        return g.Conv(x, np.ones((1, 1, 3), np.float32))

    graph = load_onnx(make_two({"x": ["N", 1, 9]}, write, write)[0]).graph
    ports = graph_ports(graph)
    misread = SizedGraph(graph, {port.name: (*sized_by(port)[:2], 1) for port in ports})
    asked: list[Row] = []

    def tried(row: Row, /, *, apart: bool = False) -> Answer:
        asked.append(row)
        return Answer(True)

    found = plan_sizes(ports, None, tried, 3, [misread])
    assert asked
    assert max(row["N"] for row in found.rows) <= 64


@pytest.mark.parametrize("length", [1, 2])
def test_sizes_that_come_out_negative_make_nothing_cheaper(length: int) -> None:
    def write(g: Graph, x: str) -> Value:
        return g.Relu(g.Conv(x, np.ones((1, 1, 4), np.float32)))

    graph = load_onnx(make_two({"x": ["N", 1, 9]}, write, write)[0]).graph
    flow = Flow(3, RULES)
    flow.run(graph, {"x": (np.array([1, 8, 512]), 1, length)})
    assert np.all(flow.violations > 0)
    assert np.all(flow.cost >= 0)


@pytest.mark.parametrize("wanted", [3, None])
@pytest.mark.parametrize("size", [9, 320])
def test_sizes_that_are_left_out_for_their_cost_are_named(size: int, wanted: int | None) -> None:
    def write(g: Graph, x: str) -> Value:
        return g.Conv(g.Conv(x, np.ones((64, 3, 3, 3), np.float32)), np.ones((64, 64, 3, 3), np.float32))

    graph = load_onnx(make_two({"x": ["N", 3, size, size]}, write, write)[0]).graph
    ports = graph_ports(graph)
    sized = SizedGraph(graph, {port.name: sized_by(port) for port in ports})

    def tried(row: Row, /, *, apart: bool = False) -> Answer:
        return Answer(True)

    found = plan_sizes(ports, None, tried, wanted, [sized])
    largest = max(row["N"] for row in found.rows)
    assert ("N above" in found.left_out) == (size == 320)
    if size == 320:
        assert largest <= (2 if wanted else 4)
        assert len(found.rows) >= 2


@pytest.mark.parametrize("dynamic", [True, False])
def test_what_a_conversion_leaves_out_is_said(tmp_path: Path, dynamic: bool) -> None:
    def write(g: Graph, x: str) -> Value:
        return g.Conv(g.Conv(x, np.ones((32, 3, 5, 5), np.float32)), np.ones((16, 32, 5, 5), np.float32))

    made = make_two({"x": ["N" if dynamic else 1, 3, 120, 120]}, write, write)[0]
    onnx.save(made, tmp_path / "large.onnx")
    report = convert_file(tmp_path / "large.onnx", tmp_path / "saved")
    assert report.comparison is not None and report.comparison.coverage is not None
    said = "not tried: sizes that cost much more (N above 2)"
    assert (said in str(report.comparison.coverage)) == dynamic
    assert bool(report.comparison.to_json()["coverage"]["left_out"]) == dynamic


@pytest.mark.parametrize("bound", [40, 200])
def test_values_of_a_sample_are_no_larger_than_memory_allows(bound: int) -> None:
    def write(g: Graph, x: str) -> Value:
        return g.Relu(g.Slice(x, np.array([0]), np.array([bound]), np.array([0])))

    graph = load_onnx(make_two({"x": ["N", 1000, 1000]}, write, write)[0]).graph
    ports = graph_ports(graph)
    sized = SizedGraph(graph, {port.name: sized_by(port) for port in ports})

    def tried(row: Row, /, *, apart: bool = False) -> Answer:
        return Answer(True)

    found = plan_sizes(ports, None, tried, None, [sized])
    assert max(row["N"] for row in found.rows) * 1_000_000 <= 2**24
    assert "N above" in found.left_out


@pytest.mark.parametrize("depth", [20, 60])
@pytest.mark.parametrize("hidden", [False, True])
def test_counting_holds_no_value_after_its_last_use(depth: int, hidden: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only to see what later operators hide are values held, up to a limit."""
    monkeypatch.setattr(search, "_MOST_HELD", 6 * 8 * 30_000)

    def write(g: Graph, x: str) -> Value:
        for _ in range(depth):
            x = g.Relu(g.Add(x, np.float32(0.5)) if hidden else g.MatMul(x, np.eye(30, dtype=np.float32)))
        return x

    graph = load_onnx(make_two({"x": [1000, 30]}, write, write)[0]).graph
    reach = Reach(graph, ())
    feeds = {"x": np.random.default_rng(0).normal(size=(1000, 30)).astype(np.float32)}
    reach.look(feeds)
    tracemalloc.start()
    try:
        reach.look(feeds)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 12 * 8 * feeds["x"].size


@pytest.mark.parametrize("target", ["tensorflow", "tflite"])
def test_check_waits_for_no_module_that_only_a_comparison_needs(tmp_path: Path, target: str) -> None:
    onnx.save(images(1, 3), tmp_path / "images.onnx")
    code = (
        "import sys; from trueport.pipeline import check; check(sys.argv[1], sys.argv[2]);"
        "needless = ('trueport.reference', 'trueport.verifying.inputs.reach', 'multiprocessing.connection');"
        "print(*(name for name in sys.modules if name.startswith(needless)))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "images.onnx"), target]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    assert said.stdout.split() == []


@pytest.mark.parametrize(("element", "evaluations"), [(np.float32, 1), (np.int64, 3)])
def test_a_graph_without_decisions_is_evaluated_once(
    element: type, evaluations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Sums of 64-bit integers decide: they may need more than 32 bits.
    kind = "float" if element is np.float32 else "int64"
    text = f'<ir_version: 10, opset_import: ["" : 21]> a ({kind}[3] x) => ({kind}[3] y) {{ y = Add(x, x) }}'
    reach = Reach(load_onnx(onnx.parser.parse_model(text)).graph, ())
    asked: list[Any] = []
    observe = Observer.observe

    def watched(self: Observer, feeds: Mapping[str, Any], **options: Any) -> Observation:
        asked.append(feeds)
        return observe(self, feeds, **options)

    monkeypatch.setattr(Observer, "observe", watched)
    seen = [reach.look({"x": np.ones(3, element)}) for _ in range(3)]
    assert len(asked) == evaluations
    assert len({len(one.counts) for one in seen}) == 1
