"""Indices among equal elements: which one is given, from PyTorch, TensorFlow and ONNX.

Where the source says which (or always gives the same), the target gives the same index. Where PyTorch leaves it open,
any index of an equal element is right, and `verify` says so; docs/order.md lists both.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort
import pytest
import tensorflow as tf
import torch

import trueport
from tests.cells import grid
from tests.families.orders import Runs, is_same, run_onnx_in_tensorflow, run_tensorflow, run_torch, tied
from tests.torch.speed import one_registry
from trueport.fidelity import Verdict

SIZES = (1, 7, 16, 17, 100, 1000)
DTYPES = ("float32", "int64")
Along = Callable[[Any, int], Any]
ALWAYS_THE_SAME: Mapping[str, Along] = {
    "max": lambda x, d: x.max(d)[1],
    "min": lambda x, d: x.min(d)[1],
    "argmax": torch.argmax,
    "argmin": torch.argmin,
    "sort-stable": lambda x, d: x.sort(dim=d, stable=True)[1],
    "sort-stable-descending": lambda x, d: x.sort(dim=d, stable=True, descending=True)[1],
    "argsort-stable": lambda x, d: x.argsort(dim=d, stable=True),
    "median": lambda x, d: x.median(d)[1],
    "nanmedian": lambda x, d: x.nanmedian(d)[1],
    "cummax": lambda x, d: x.cummax(d)[1],
    "cummin": lambda x, d: x.cummin(d)[1],
    "mode-value": lambda x, d: x.mode(d)[0],
    "unique-of-rows": lambda x, d: torch.unique(x, dim=d, return_inverse=True)[1],
}
LEFT_OPEN: Mapping[str, Along] = {
    "topk": lambda x, d: x.topk((x.shape[d] + 1) // 2, d)[1],
    "topk-one": lambda x, d: x.topk(1, d)[1],
    "topk-least": lambda x, d: x.topk((x.shape[d] + 1) // 2, d, largest=False)[1],
    "sort": lambda x, d: x.sort(dim=d)[1],
    "argsort": lambda x, d: x.argsort(dim=d),
    "kthvalue": lambda x, d: x.kthvalue((x.shape[d] + 1) // 2, d, keepdim=True)[1],
    "mode": lambda x, d: x.mode(d, keepdim=True)[1],
}
WHOLE: Mapping[str, Callable[[torch.Tensor], Any]] = {
    "argmax": torch.argmax,
    "argmin": torch.argmin,
    "unique-inverse": lambda x: torch.unique(x, return_inverse=True)[1],
    # Of other data: ONNX Runtime 1.31 fails to start where it merges two Unique of the same.
    "unique-counts": lambda x: torch.unique(x.flip(0), return_counts=True)[1],
    "searchsorted": lambda x: torch.searchsorted(x[0].sort()[0], x),
    "searchsorted-right": lambda x: torch.searchsorted(x[0].sort()[0], x, right=True),
}


@pytest.fixture(autouse=True, scope="module")
def exporter_reads_its_library_once() -> Iterator[None]:
    with one_registry():
        yield


def functions() -> dict[str, Callable[[torch.Tensor], Any]]:
    found = dict(WHOLE)
    for name, along in {**ALWAYS_THE_SAME, **LEFT_OPEN}.items():
        found |= {f"{name}/{axis}": functools.partial(_along, along, axis) for axis in (0, 1)}
    return found


def _along(along: Along, axis: int, x: torch.Tensor) -> Any:
    return along(x, axis)


@functools.cache
def converted(to: str, dtype: str, count: int) -> tuple[np.ndarray, Mapping[str, np.ndarray], Runs]:
    x = tied(count, dtype)
    with torch.no_grad():
        want = {name: function(torch.from_numpy(x)).numpy() for name, function in functions().items()}
    return x, want, run_torch(functions(), x, to)


@grid(
    {
        f"{to}-{dtype}-{count}-{name}": (to, dtype, count, name)
        for to in ("onnx", "tensorflow")
        for dtype in DTYPES
        for count in SIZES
        for name in functions()
    },
    quick=2,
)
def test_torch(cell: tuple[str, str, int, str]) -> None:
    to, dtype, count, name = cell
    x, want, runs = converted(to, dtype, count)
    for way, results in runs.items():
        got = results[name]
        kind, _, axis = name.partition("/")
        if kind not in LEFT_OPEN:
            assert is_same(got, want[name]), (way, got, want[name])
            continue
        chosen, expected = (np.take_along_axis(x, index, int(axis)) for index in (got, want[name]))
        assert is_same(chosen, expected), (way, chosen, expected)
        ordered = np.sort(got, int(axis))
        assert np.all(np.diff(ordered, axis=int(axis)) > 0), "an element is chosen twice"


TF_FUNCTIONS: Mapping[str, Callable[[Any], Any]] = {
    **{f"argmax/{axis}": functools.partial(tf.argmax, axis=axis) for axis in (0, 1)},
    **{f"argmin/{axis}": functools.partial(tf.argmin, axis=axis) for axis in (0, 1)},
    **{f"argsort/{axis}": functools.partial(tf.argsort, axis=axis, stable=True) for axis in (0, 1)},
    "argsort-descending": lambda x: tf.argsort(x, 1, direction="DESCENDING", stable=True),
    "top_k-one": lambda x: tf.math.top_k(x, 1)[1],
    "top_k": lambda x: tf.math.top_k(x, (x.shape[1] + 1) // 2)[1],
    "top_k-of-all": lambda x: tf.math.top_k(x, x.shape[1])[1],
    "unique": lambda x: tf.unique(tf.reshape(x, [-1]))[0],
    "unique-index": lambda x: tf.unique(tf.reshape(x, [-1]))[1],
    "searchsorted": lambda x: tf.searchsorted(tf.sort(x[0]), x[1]),
    "searchsorted-right": lambda x: tf.searchsorted(tf.sort(x[0]), x[1], side="right"),
}


@functools.cache
def converted_tensorflow(dtype: str, count: int) -> tuple[Mapping[str, np.ndarray], Runs]:
    x = tied(count, dtype)
    want = {name: function(tf.constant(x)).numpy() for name, function in TF_FUNCTIONS.items()}
    return want, run_tensorflow(TF_FUNCTIONS, x)


@grid(
    {
        f"{dtype}-{count}-{name}": (dtype, count, name)
        for dtype in (*DTYPES, "int32")
        for count in SIZES
        for name in TF_FUNCTIONS
    },
    quick=2,
)
def test_tensorflow_to_onnx(cell: tuple[str, int, str]) -> None:
    dtype, count, name = cell
    want, runs = converted_tensorflow(dtype, count)
    for way, results in runs.items():
        assert is_same(results[name], want[name]), (way, results[name], want[name])


_ONNX_NODES = {
    **{f"{op}_{axis}": f"{op}<axis={axis}, keepdims=0>(x)" for op in ("ArgMax", "ArgMin") for axis in (0, 1)},
    **{f"{op}_last": f"{op}<axis=1, keepdims=0, select_last_index=1>(x)" for op in ("ArgMax", "ArgMin")},
    **{f"TopK_{name}": f"TopK<axis=1>(x, {name})" for name in ("one", "half", "all")},
    **{f"TopK_least_{name}": f"TopK<axis=1, largest=0>(x, {name})" for name in ("one", "half", "all")},
    "TopK_first_axis": "TopK<axis=0>(x, nine)",
    "Unique_sorted": "Unique<sorted=1>(x)",
    "Unique_as_found": "Unique<sorted=0>(x)",
}


def onnx_model(count: int, dtype: str) -> Any:
    """One model of all nodes; the indices are the outputs, of Unique the inverse ones."""
    lines, outputs = [], []
    for name, call in _ONNX_NODES.items():
        parts = {"TopK": f"{name}_values, {name}", "Uniq": f"{name}_values, {name}_first, {name}"}
        lines.append(f"{parts.get(name[:4], name)} = {call}")
        dims = f"{name}_a" if name.startswith(("Arg", "Unique")) else f"{name}_a, {name}_b"
        outputs.append(f"int64[{dims}] {name}")
    kind = {"float32": "float", "int64": "int64"}[dtype]
    counts = {"one": 1, "half": (count + 1) // 2, "all": count, "nine": 9}
    constants = ", ".join(f"int64[1] {name} = {{{value}}}" for name, value in counts.items())
    head = f'<ir_version: 10, opset_import: ["": 21]> g ({kind}[9,{count}] x) => ({", ".join(outputs)}) <{constants}>'
    return onnx.parser.parse_model(f"{head} {{ {' '.join(lines)} }}")


@functools.cache
def converted_onnx(dtype: str, count: int) -> tuple[Mapping[str, np.ndarray], Mapping[str, np.ndarray]]:
    x, model = tied(count, dtype), onnx_model(count, dtype)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return dict(zip(_ONNX_NODES, session.run(list(_ONNX_NODES), {"x": x}), strict=True)), run_onnx_in_tensorflow(
        model, x
    )


@grid(
    {f"{dtype}-{count}-{name}": (dtype, count, name) for dtype in DTYPES for count in SIZES for name in _ONNX_NODES},
    quick=2,
)
def test_onnx_to_tensorflow(cell: tuple[str, int, str]) -> None:
    dtype, count, name = cell
    source, target = converted_onnx(dtype, count)
    assert is_same(target[name], source[name]), (target[name], source[name])


class Applies(torch.nn.Module):
    def __init__(self, function: Callable[[torch.Tensor], Any]) -> None:
        super().__init__()
        self._function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self._function(x)


_VERIFIED: Mapping[str, tuple[Callable[[torch.Tensor], Any], str]] = {
    "topk": (lambda x: x.topk(9)[1], "torch.topk"),
    "sort": (lambda x: x.sort()[1], "torch.sort without stable=True"),
    "argsort": (lambda x: x.argsort(0), "torch.sort without stable=True"),
    "kthvalue": (lambda x: x.kthvalue(40)[1], "torch.kthvalue"),
    "mode": (lambda x: x.mode()[1], "torch.mode"),
    "views": (lambda x: x.topk(9)[1].t().reshape(3, -1)[:, 1:].to(torch.int32), "torch.topk"),
}


@grid(
    {
        f"{name}-{dtype}-{to}": (name, dtype, to)
        for name in _VERIFIED
        for dtype in DTYPES
        for to in ("onnx", "tensorflow")
    },
    quick=3,
)
def test_verify_takes_ties_that_the_source_leaves_open(cell: tuple[str, str, str]) -> None:
    """The report says how many they are, and which operator leaves them open."""
    name, dtype, to = cell
    function, operator = _VERIFIED[name]
    module, x = Applies(function).eval(), tied(100, dtype)
    made = trueport.convert(module, to=to, example_inputs=(torch.from_numpy(x),), data=[{"x": x}])
    assert made.report.verdict == Verdict.FAITHFUL
    (output,) = made.report.comparison.outputs
    said = f"indices are others among equal elements: {operator} does not say which of them it gives"
    # PyTorch's kernel for some CPU may happen to give the first of equals.
    assert output.why == "equal" or output.why.endswith(said), output.why


def _topk_file(folder: Path, body: str) -> Path:
    head = '<ir_version: 10, opset_import: ["": 21]> g (float[9,100] x) => (int64[9,3] output) <int64[1] k = {3}>'
    onnx.save(onnx.parser.parse_model(f"{head} {{ {body} }}"), folder / "target.onnx")
    return folder / "target.onnx"


_BODIES = {
    "first": ("v, output = TopK(x, k)", Verdict.FAITHFUL),
    "least": ("v, output = TopK<largest=0>(x, k)", Verdict.DEPARTS),
    "one-wrong": (
        "v, i = TopK(x, k) s = Constant<value_ints=[0,0,1]>() z = Constant<value_ints=[9,3]>() w = ArgMin<axis=1>(x) "
        "e = Expand(w, z) c = Cast<to=9>(s) output = Where(c, e, i)",
        Verdict.DEPARTS,
    ),
    "twice-the-same": (
        "a = ArgMax<axis=1>(x) z = Constant<value_ints=[9,3]>() output = Expand(a, z)",
        Verdict.DEPARTS,
    ),
    "outside": (
        "v, i = TopK(x, k) h = Constant<value_ints=[100]>() output = Add(i, h)",
        Verdict.DEPARTS,
    ),
}


@pytest.mark.parametrize("name", _BODIES)
def test_only_indices_of_equal_elements_are_ties(name: str, tmp_path: Path) -> None:
    body, verdict = _BODIES[name]
    module, x = Applies(lambda x: x.topk(3)[1]).eval(), tied(100, "float32")
    found = trueport.verify(module, _topk_file(tmp_path, body), data=[{"x": x}], example_inputs=(torch.from_numpy(x),))
    assert found.verdict == verdict, str(found)


def test_a_stable_sort_leaves_nothing_open(tmp_path: Path) -> None:
    """A target that gives the last of equals first is not faithful."""
    head = '<ir_version: 10, opset_import: ["": 21]> g (int64[9,100] x) => (int64[9,100] output) '
    body = (
        "<int64[1] k = {100}, int64[1] a = {1}, int64[1] f = {-1}, int64[1] e = {-1000}> "
        "{ r = Slice(x, f, e, a, f) v, i = TopK<largest=0>(r, k) n = Constant<value_int=99>() output = Sub(n, i) }"
    )
    onnx.save(onnx.parser.parse_model(head + body), tmp_path / "last.onnx")
    x = tied(100, "int64")
    verdicts = [
        trueport.verify(
            Applies(function).eval(),
            tmp_path / "last.onnx",
            data=[{"x": x}],
            example_inputs=(torch.from_numpy(x),),
        ).verdict
        for function in (lambda x: x.sort(stable=True)[1], lambda x: x.sort()[1])
    ]
    assert verdicts == [Verdict.DEPARTS, Verdict.FAITHFUL]


_UNSORTED: Mapping[str, Callable[[], Any]] = {
    "torch": lambda: Applies(lambda x: x.topk(9, sorted=False)[1]).eval(),
    "torch, sorted": lambda: Applies(lambda x: x.topk(9)[1]).eval(),
    "tensorflow": lambda: lambda x: tf.math.top_k(x, 9, sorted=False)[0],
    "tensorflow, sorted": lambda: lambda x: tf.math.top_k(x, 9)[0],
}


@pytest.mark.parametrize(
    ("name", "to"),
    [(name, to) for name in _UNSORTED for to in ("onnx", "tensorflow") if to == "onnx" or name.startswith("torch")],
)
def test_check_notes_an_order_that_the_source_leaves_open(name: str, to: str) -> None:
    source, x = _UNSORTED[name](), tied(100, "float32")
    options: dict[str, Any] = {"example_inputs": (torch.from_numpy(x),)} if name.startswith("torch") else {}
    if not options:
        source = tf.function(source, input_signature=[tf.TensorSpec(x.shape, x.dtype, "x")])
    noted = "unsorted-top-k" in {remark.rule for remark in trueport.check(source, to, **options).remarks}
    assert noted == ("sorted" not in name)


_CHOSEN: Mapping[str, Callable[[torch.Tensor], Any]] = {
    "indices": lambda x: x.topk(9, sorted=False)[1],
    "values": lambda x: x.topk(9, sorted=False)[0],
    "both": lambda x: tuple(x.topk(9, sorted=False)),
    "views": lambda x: tuple(part.t().reshape(3, -1) for part in x.topk(9, sorted=False)),
    "first axis": lambda x: tuple(x.topk(5, 0, largest=False, sorted=False)),
}


def _drawn(count: int, kind: str) -> np.ndarray:
    if kind == "tied":
        return tied(count, "float32")
    return np.random.default_rng(count).standard_normal((9, count)).astype(np.float32)


@grid(
    {
        f"{name}-{kind}-{count}-{to}": (name, kind, count, to)
        for name in _CHOSEN
        for kind in ("tied", "distinct")
        for count in (13, 17, 40)
        for to in ("onnx", "tensorflow")
    },
    quick=3,
)
def test_an_order_that_the_source_leaves_open_is_no_difference(cell: tuple[str, str, int, str]) -> None:
    name, kind, count, to = cell
    module, x = Applies(_CHOSEN[name]).eval(), _drawn(count, kind)
    made = trueport.convert(module, to=to, example_inputs=(torch.from_numpy(x),), data=[{"x": x}])
    assert made.report.verdict == Verdict.FAITHFUL, str(made.report.comparison)


_ORDERS = {
    "ascending": ("v, i = TopK<largest=1>(x, k) output_0 = Slice(v, f, e, a, f) output_1 = Slice(i, f, e, a, f)", True),
    "values ascending": ("v, output_1 = TopK(x, k) output_0 = Slice(v, f, e, a, f)", False),
    "indices ascending": ("output_0, i = TopK(x, k) output_1 = Slice(i, f, e, a, f)", False),
    "least": ("output_0, output_1 = TopK<largest=0>(x, k)", False),
    "one twice": (
        "v, i = TopK(x, k) t = Tile(a2, r) c = Equal(t, z) m = ReduceMax<keepdims=1>(i, a) "
        "output_0 = Identity(v) w = Where(c, m, i) output_1 = Identity(w)",
        False,
    ),
}


@pytest.mark.parametrize("sorts", [False, True])
@pytest.mark.parametrize("name", _ORDERS)
def test_only_the_same_elements_in_one_order_are_reordered(name: str, sorts: bool, tmp_path: Path) -> None:
    body, is_right = _ORDERS[name]
    head = (
        '<ir_version: 10, opset_import: ["": 21]> g (float[9,40] x) => (float[9,9] output_0, int64[9,9] output_1) '
        "<int64[1] k = {9}, int64[1] a = {1}, int64[1] f = {-1}, int64[1] e = {-1000}, int64[1] z = {0}, "
        "int64[1,9] a2 = {0,0,1,1,1,1,1,1,1}, int64[2] r = {9,1}> "
    )
    onnx.save(onnx.parser.parse_model(f"{head} {{ {body} }}"), tmp_path / "target.onnx")
    x = _drawn(40, "distinct")
    module = Applies(lambda x: tuple(x.topk(9, sorted=sorts))).eval()
    found = trueport.verify(module, tmp_path / "target.onnx", data=[{"x": x}], example_inputs=(torch.from_numpy(x),))
    assert found.verdict == (Verdict.FAITHFUL if is_right and not sorts else Verdict.DEPARTS), str(found)
