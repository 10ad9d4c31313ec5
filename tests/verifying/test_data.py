"""A user's own inputs, and what may be asked of the outputs: streamed, named, strict, within a tolerance."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest
from onnx import TensorProto, numpy_helper

import trueport
from tests.models import model_of, relu_chain
from trueport.cli.verify import read_bytes, read_dims
from trueport.errors import UsageError
from trueport.fidelity import Verdict
from trueport.verifying.verification import Verification

X = np.array([[1, -2, 3]], np.float32)


def scaled(factor: float) -> onnx.ModelProto:
    return model_of(
        [oh.make_node("Mul", ["x", "f"], ["y"], "mul")],
        [oh.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
        [oh.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])],
        initializers=[numpy_helper.from_array(np.array(factor, np.float32), "f")],
    )


def verified(data: Any, **options: Any) -> Verification:
    return trueport.verify(relu_chain(), relu_chain(), data=data, **options)


def test_all_forms_of_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "sets"
    folder.mkdir()
    np.savez(folder / "a.npz", x=X)
    np.savez(folder / "b.npz", X)
    np.save(folder / "c.npy", X)
    (tmp_path / "loaders.py").write_text(
        "import numpy as np\n"
        "def load():\n    for n in (1, 2):\n        yield {'x': np.ones((n, 3), np.float32)}\n"
        "sets = [(np.ones((4, 3), np.float32),)]\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for data, count in [
        (folder / "a.npz", 1),
        (str(folder / "b.npz"), 1),
        (folder / "c.npy", 1),
        (folder, 3),
        ([folder / "a.npz", "loaders:load"], 3),
        ("loaders:sets", 1),
        (f"{tmp_path / 'loaders.py'}:load", 2),
        ([{"x": X}, (X,), X], 3),
        (lambda: iter([X]), 1),
        ({"x": X}, 1),
    ]:
        found = verified(data)
        assert (found.samples, found.verdict, found.special_samples) == (count, Verdict.FAITHFUL, 0), data
    assert verified(folder, samples=2).samples == 2


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("nowhere.npz", "there is no such file"),
        ("nothing", "is no file with inputs"),
        ("no_such_module:load", "can't be imported"),
        ("json:nothing", "has no 'nothing'"),
        ("sys:maxsize", "can't be walked through"),
        ([(X, X)], "holds 2 arrays, the model has 1 inputs"),
        ([{"z": X}], "'x': is missing"),
    ],
)
def test_data_that_can_not_be_used_is_a_clear_error(data: Any, words: str) -> None:
    with pytest.raises(trueport.errors.TrueportError) as caught:
        verified(data)
    assert words in str(caught.value)


def test_a_file_that_is_broken_or_pickled_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.npz").write_bytes(b"PK no zip")
    np.save(tmp_path / "objects.npy", np.array([{"a": 1}], object), allow_pickle=True)
    for name in ("bad.npz", "objects.npy"):
        with pytest.raises(UsageError, match="can't be read"):
            verified(tmp_path / name)


def test_data_is_streamed() -> None:
    """Each set is compared before the next one is asked for."""
    live: list[int] = []

    class Watched(np.ndarray):
        def __del__(self) -> None:
            live.pop()

    def sets() -> Iterator[dict[str, np.ndarray]]:
        for _ in range(50):
            live.append(1)
            assert len(live) <= 3, "sets are held"
            yield {"x": X.copy().view(Watched)}

    assert verified(sets()).samples == 50
    endless = (X for _ in iter(int, 1))
    assert verified(endless, samples=3).samples == 3


TINY = 1 + 2.0**-23 * 4


@pytest.mark.parametrize(
    ("factor", "options", "verdict"),
    [
        (1.0, {"strict": True}, Verdict.FAITHFUL),
        (TINY, {"strict": True}, Verdict.DEPARTS),
        (1.001, {}, Verdict.DEPARTS),
        (1.001, {"rtol": 0.01}, Verdict.WITHIN_TOLERANCE),
        (1.001, {"rtol": 1e-5}, Verdict.DEPARTS),
        (1.001, {"atol": 1.0}, Verdict.WITHIN_TOLERANCE),
        (1.001, {"k": 1e9}, Verdict.FAITHFUL),
        (1.0, {"rtol": 0.1}, Verdict.FAITHFUL),
    ],
)
def test_what_may_be_asked(factor: float, options: dict[str, Any], verdict: Verdict) -> None:
    found = trueport.verify(scaled(1.0), scaled(factor), samples=4, **options)
    assert found.verdict == verdict
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert (data["strict"], data["rtol"]) == (options.get("strict", False), found.rtol)


@pytest.mark.parametrize("options", [{"strict": True, "rtol": 1.0}, {"strict": True, "k": 2}, {"k": -1}, {"atol": -1}])
def test_contradictions_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        verified([X], **options)


def test_a_target_that_fails_departs_and_says_why() -> None:
    picky = model_of(
        [oh.make_node("Reshape", ["x", "s"], ["y"])],
        [oh.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
        [oh.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])],
        initializers=[numpy_helper.from_array(np.array([1, 3]), "s")],
    )
    found = trueport.verify(relu_chain(), picky, data=[np.ones((2, 3), np.float32)])
    assert found.verdict == Verdict.DEPARTS
    assert "the target fails" in found.outputs[0].why
    assert found.shown_by["x"].shape == (2, 3)


def test_special_numbers_are_said_but_do_not_decide() -> None:
    """Where(x != x, 0, x) is x but for NaN."""
    same = model_of(
        [
            oh.make_node("IsNaN", ["x"], ["n"]),
            oh.make_node("Where", ["n", "zero", "x"], ["y"]),
        ],
        [oh.make_tensor_value_info("x", TensorProto.FLOAT, [9, 3])],
        [oh.make_tensor_value_info("y", TensorProto.FLOAT, [9, 3])],
        initializers=[numpy_helper.from_array(np.array(0, np.float32), "zero")],
    )
    plain = model_of(
        [oh.make_node("Identity", ["x"], ["y"])],
        [oh.make_tensor_value_info("x", TensorProto.FLOAT, [9, 3])],
        [oh.make_tensor_value_info("y", TensorProto.FLOAT, [9, 3])],
    )
    found = trueport.verify(plain, same)
    assert found.verdict == Verdict.FAITHFUL
    assert found.special_samples == 3
    assert found.special[0].verdict == Verdict.DEPARTS


def test_words_of_the_command_line() -> None:
    assert read_dims(["batch=1,3,8", "x:1=2..9"]) == {"batch": [1, 3, 8], "x:1": range(2, 10)}
    assert read_dims(None) is None
    assert [read_bytes(word) for word in ("2GB", "1.5 GiB", "500mb", "7", None)] == [
        2 * 10**9,
        3 << 29,
        500 * 10**6,
        7,
        None,
    ]
    for bad in ("batch", "batch=", "=3", "batch=9..2", "batch=a"):
        with pytest.raises(UsageError, match="--dims"):
            read_dims([bad])
    with pytest.raises(UsageError, match="--memory"):
        read_bytes("much")


def test_two_runs_with_one_seed_are_equal_byte_for_byte(tmp_path: Path) -> None:
    from bench.faults.kinds import FAULTS, faulty
    from bench.faults.zoo import ZOO

    source = ZOO["residual"]()
    kind = next(kind for kind in FAULTS if kind.name == "epsilon")
    changed = next(found for index in range(20) if (found := faulty(source, kind, index, 0)) is not None)[0]
    onnx.save(source, tmp_path / "a.onnx")
    onnx.save(changed, tmp_path / "b.onnx")
    for command in ("verify", "locate"):
        words = [sys.executable, "-m", "trueport", command, "a.onnx", "b.onnx", "--json", "--seed", "3"]
        runs = [subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE) for _ in range(2)]
        once, again = (run.communicate()[0] for run in runs)
        assert [run.returncode for run in runs] == [1, 1]
        assert once == again
        assert json.loads(once)
