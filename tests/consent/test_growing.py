"""A small file never takes gigabytes in `info` and `check`, which compute nothing but small constants."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import trueport
from tests.command_line import Cli
from tests.consent.growing_files import MODELS
from tests.consent.growing_graphs import GRAPHS

_GROWTH = 2**30
"""Bytes of address space that a command may take beyond what the process has."""


@pytest.mark.parametrize("name", MODELS)
def test_constants_stay_small(name: str, tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / f"{name}.onnx"
    file.write_bytes(MODELS[name]().SerializeToString())
    for command in ("info", "check"):
        with _limited():
            done = cli(command, file)
        assert done.code in (0, 1, 2), f"{command}: {done}"
        assert "Traceback" not in done.err


_SLOW = ("picture", "packed-text")
"""A gigabyte must be packed first."""


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if n in _SLOW else []) for n in GRAPHS])
def test_constants_of_tensorflow_stay_small(name: str, tmp_path: Path) -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="x")], autograph=False)
    def call(x: Any) -> Any:
        return x + GRAPHS[name]()

    concrete = call.get_concrete_function()
    with _limited():
        report = trueport.check(concrete, to="onnx")
    assert report.findings


@contextmanager
def _limited() -> Iterator[None]:
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + _GROWTH, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
