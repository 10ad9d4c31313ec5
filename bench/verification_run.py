"""One conversion and its verification in a process of its own: what each costs, in CPU seconds, as JSON.

Run as a file, with ``PYTHONPATH`` naming the version of Trueport that is measured.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["main"]


def main(source: str) -> None:
    import trueport
    from trueport.pipeline import convert_file
    from trueport.runtimes.base import Model

    costs, runs = {}, []
    plain_run: Callable[..., Any] = Model.run

    def timed_run(self: Model, *arguments: Any, **options: Any) -> Any:
        start = time.process_time()
        result = plain_run(self, *arguments, **options)
        runs.append(time.process_time() - start)
        return result

    with tempfile.TemporaryDirectory(prefix="bench-verification-") as folder:
        targets = [Path(folder) / name for name in ("first", "plain", "verified")]
        # Imports, and what is compiled at first use, of verification as well.
        convert_file(_small(Path(folder)), Path(folder) / "small", verify=True)
        convert_file(source, targets[0], verify=False)
        costs["convert"] = _cpu(lambda: convert_file(source, targets[1], verify=False))
        costs["verified"] = _cpu(lambda: convert_file(source, targets[2], verify=True))
        Model.run = timed_run  # type: ignore[method-assign]
        costs["verify"] = _cpu(lambda: trueport.verify(source, targets[1]))
    costs["runs"] = sum(runs)
    print(json.dumps(costs), flush=True)


def _small(folder: Path) -> str:
    """Write a model of two nodes, and return its path."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    value = helper.make_tensor_value_info
    weight = numpy_helper.from_array(np.eye(4, dtype=np.float32), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["product"]), helper.make_node("Relu", ["product"], ["y"])]
    ports = [value(name, TensorProto.FLOAT, ["N", 4]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "small", ports[:1], ports[1:], [weight])
    path = folder / "small.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return str(path)


def _cpu(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


if __name__ == "__main__":
    main(sys.argv[1])
