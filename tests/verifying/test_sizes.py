"""Sizes of dynamic dims come from what graphs do with them, and are confirmed by runs of the source."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest

import trueport
from bench.faults.pairs.graph import Graph, Value, make_two
from trueport.fidelity import Verdict
from trueport.frontends.onnx.load import load_onnx
from trueport.ir.ports import Port
from trueport.runtimes.onnxruntime import OnnxRuntimeModel
from trueport.verifying.inputs.plan import graph_ports, plan_inputs
from trueport.verifying.inputs.probing import Answer, Prober, Says, what_outputs_say
from trueport.verifying.inputs.size_candidates import Row, SizedGraph, sized_by
from trueport.verifying.inputs.sizes import Sizes, plan_sizes


def model(dims: Mapping[str, list[int | str]], write: Callable[..., Any]) -> onnx.ModelProto:
    return make_two(dims, write, write)[0]


def sizes_of(made: onnx.ModelProto, wanted: int | None = None, **options: Any) -> tuple[Sizes, list[Row]]:
    """The rows, and the sizes that the source was run with."""
    graph, source, asked = load_onnx(made).graph, OnnxRuntimeModel(made, optimize=False), []
    ports = graph_ports(graph)
    graphs = [SizedGraph(graph, {port.name: sized_by(port) for port in ports})]

    def tried(row: Row, /, *, apart: bool = False) -> Answer:
        asked.append(row)
        feeds = {p.name: _normal([row.get(str(d), d) for d in sized_by(p)]) for p in ports}
        return Prober(source)(feeds)

    return plan_sizes(ports, None, tried, wanted, options.get("graphs", graphs)), asked


def _normal(shape: Sequence[Any]) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def lengths(found: Sizes, key: str = "T") -> set[int]:
    return {row[key] for row in found.rows}


@pytest.mark.parametrize("wanted", [3, None])
@pytest.mark.parametrize("depth", [1, 3])
def test_a_pool_behind_strides_meets_odd_and_even_sizes(depth: int, wanted: int | None) -> None:
    def write(g: Graph, x: str) -> Value:
        for _ in range(depth):
            x = g.Conv(x, np.ones((1, 1, 3), np.float32), strides=[2], pads=[1, 1])
        return g.MaxPool(x, kernel_shape=[2], strides=[2], ceil_mode=1)

    found, asked = sizes_of(model({"x": ["N", 1, "T"]}, write), wanted)
    inner = lengths(found)
    for _ in range(depth):
        inner = {(size - 1) // 2 + 1 for size in inner}
    assert {size % 2 for size in inner} == {0, 1}
    assert len(asked) == len(found.rows) + (found.empty is not None)


@pytest.mark.parametrize("length", [6, 13, 47])
def test_the_lengths_that_an_exported_recurrence_accepts_are_known_without_a_run(length: int) -> None:
    w, r = np.ones((1, 8, 3), np.float32), np.ones((1, 8, 2), np.float32)

    def write(g: Graph, x: str) -> Value:
        return g.Reshape(g.LSTM(x, w, r, hidden_size=2, outputs=3)[0], [length, 1, 2])

    found, asked = sizes_of(model({"x": ["T", 1, 3]}, write))
    assert lengths(found) == {length}
    assert len(asked) == 1


@pytest.mark.parametrize("step", [6, 32])
def test_sizes_are_searched_for_where_no_graph_says_them(step: int) -> None:
    asked = []

    def tried(row: Row, /, *, apart: bool = False) -> Answer:
        asked.append(row)
        taken = row["H"] % step == 0 and row["W"] % step == 0
        return Answer(taken, "" if taken else f"sizes {row['H']} and {row['W']}: expected multiples of {step}")

    ports = [Port("x", "tensor", "FLOAT", ("N", 3, "H", "W"), ("x",))]
    rows = plan_sizes(ports, None, tried, 5, []).rows
    assert len(rows) == 5
    assert all(row["H"] % step == 0 and row["W"] % step == 0 for row in rows)
    assert {row["H"] // step % 2 for row in rows} == {0, 1}
    assert any(row["H"] != row["W"] for row in rows)
    assert len(asked) < 60


def test_numbers_that_the_source_names_are_tried() -> None:
    def tried(row: Row, /, *, apart: bool = False) -> Answer:
        return Answer(row["T"] == 437, f"Got: {row['T']} Expected: 437")

    ports = [Port("x", "tensor", "FLOAT", (1, "T"), ("x",))]
    assert [row["T"] for row in plan_sizes(ports, None, tried, None, []).rows] == [437]


def test_a_table_of_positions_is_used_up_to_its_last_row() -> None:
    table = np.arange(74, dtype=np.float32).reshape(37, 2)

    def write(g: Graph, x: str) -> Value:
        places = g.Range(np.int64(0), g.Gather(g.Shape(x), np.int64(1)), np.int64(1))
        return g.Add(x, g.Gather(g.store(table), places, axis=0))

    found, _ = sizes_of(model({"x": ["N", "T", 2]}, write))
    assert max(lengths(found)) == 37
    assert not found.refused


def test_what_only_the_target_cuts_is_reached() -> None:
    source, target = make_two(
        {"x": ["N", "T"]},
        lambda g, x: g.ReduceMean(x, [1]),
        lambda g, x: g.ReduceMean(g.Slice(x, [0], [64], [1]), [1]),
    )
    assert trueport.verify(source, target).verdict == Verdict.DEPARTS


def test_sizes_that_kill_the_process_are_not_tried() -> None:
    """ONNX Runtime divides integers by zero there, and its Einsum crashes on an empty tensor."""

    def write(g: Graph, x: str) -> Value:
        blocks = g.Div(g.Gather(g.Shape(x), [1]), [8])
        kept = g.Slice(x, [0], g.Div(g.Gather(g.Shape(x), [1]), blocks), [1])
        return g.Einsum(kept, kept, equation="ni,nj->n")

    found, asked = sizes_of(model({"x": ["N", "T"]}, write))
    assert min(row["T"] for row in asked) >= 8
    assert min(row["N"] for row in asked) >= 1
    assert len(lengths(found)) >= 3


def test_a_crash_in_a_child_is_an_answer() -> None:
    made = model({"x": ["N", 3, 4]}, lambda g, x: g.Einsum(x, x, equation="nij,nkj->nik"))
    prober = Prober(OnnxRuntimeModel(made, optimize=False))
    try:
        assert prober.apart({"x": _normal([2, 3, 4])})
        answer = prober.apart({"x": _normal([0, 3, 4])})
        assert prober.deaths or answer, "where this version of ONNX Runtime does not crash there is nothing to survive"
        assert answer or "died" in answer.why
    finally:
        prober.close()


def test_sizes_with_which_a_network_collapses_are_left_out_unless_nothing_else_is() -> None:
    def tried(row: Row, /, *, apart: bool = False) -> Answer:
        return Answer(True, "", {"y": Says.CONSTANT if row["T"] < most else Says.MUCH})

    ports = [Port("x", "tensor", "FLOAT", (1, "T"), ("x",))]
    most = 7
    assert min(row["T"] for row in plan_sizes(ports, None, tried, 4, []).rows) >= 7
    most = 1 << 40
    assert len(plan_sizes(ports, None, tried, 4, []).rows) == 4


def test_outputs_that_say_nothing() -> None:
    outputs = {
        "nan": np.full(3, np.nan),
        "empty": np.zeros((0, 4)),
        "constant": np.full(3, 0.5),
        "one": np.zeros(1),
        "index": np.zeros(3, np.int64),
        "some": np.array([np.nan, 1.0]),
        "words": ["a"],
    }
    assert what_outputs_say(outputs) == {
        "nan": Says.NOTHING,
        "empty": Says.NOTHING,
        "constant": Says.CONSTANT,
        "one": Says.ONE_NUMBER,
        "index": Says.MUCH,
        "some": Says.MUCH,
    }


def test_dims_that_have_to_add_up_do() -> None:
    def write(g: Graph, past: str, new: str, mask: str) -> Value:
        return g.Add(g.Concat(past, new, axis=1), mask)

    made = model({"past": [1, "P", 4], "new": [1, "S", 4], "mask": [3, "M", 1]}, write)
    found, asked = sizes_of(made)
    assert not found.refused
    assert sum(row["M"] == row["P"] + row["S"] and row["P"] != row["S"] for row in found.rows) >= 2
    assert len(asked) <= 11


def test_a_look_takes_few_rows_and_the_user_decides_sizes() -> None:
    made = model({"x": ["N", "T"]}, lambda g, x: g.Relu(x))
    few, asked = sizes_of(made, 3)
    assert len(few.rows) == len(asked) == 3
    a, b = few.rows[1], few.rows[2]
    assert a["N"] % a["T"] and a["T"] % a["N"], "an axis taken for another would not show"
    assert a != b and few.empty is None
    graph = load_onnx(made).graph
    plan = plan_inputs(graph_ports(graph), graph, dims={"T": [4, 9]}, accepts=lambda _: True, rows=4)
    assert {row["T"] for row in plan.sizes.rows} == {4, 9}
    assert [row["T"] for row in plan.sizes.rows][:2] == [4, 9]


def test_the_reason_why_all_inputs_are_rejected_is_told() -> None:
    def write(g: Graph, x: str) -> Value:
        return g.Reshape(x, [7, 5])

    made = model({"x": ["rows", 2]}, write)
    found = trueport.verify(made, made, dims={"rows": [3]})
    assert found.verdict is None
    assert "rejects all" in found.skipped and "Input shape:{3,2}, requested shape:{7,5}" in found.skipped
    assert "--data" in found.skipped and "--dims rows=" in found.skipped


def test_an_empty_batch_is_compared_where_the_source_takes_it() -> None:
    def write(g: Graph, x: str, least: int) -> Value:
        count = g.Cast(g.Max(g.Gather(g.Shape(x), np.int64(0)), np.int64(least)), to=1)
        return g.Div(g.ReduceSum(x, [0]), count)

    source, target = make_two({"x": ["N", 3]}, lambda g, x: write(g, x, 1), lambda g, x: write(g, x, 0))
    found = trueport.verify(source, target)
    assert found.verdict == Verdict.DEPARTS
    assert found.shown_by["x"].shape == (0, 3)
    assert trueport.verify(source, source).verdict == Verdict.FAITHFUL
