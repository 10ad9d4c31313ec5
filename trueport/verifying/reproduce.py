"""The smallest thing that still shows a fault: the node as ONNX, the target's part, inputs, a few lines of Python."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.errors import UsageError
from trueport.ir.schemas import CANONICAL_OPSETS
from trueport.passes.lower.model import lower_model
from trueport.passes.outgoing import DEFAULT_OPSET
from trueport.runtimes.base import Model
from trueport.runtimes.wide.evaluate import captured
from trueport.verifying.locate import Culprit, NodeCase

__all__ = ["write_reproducer"]

_SCRIPT = '''"""{what}"""

import numpy as np
import onnxruntime
{imports}
inputs = dict(np.load("inputs.npz"))
session = onnxruntime.InferenceSession("source.onnx", providers=["CPUExecutionProvider"])
source = session.run(None, {{i.name: inputs[i.name] for i in session.get_inputs()}})[0]
{run}
print("source", np.asarray(source).ravel()[:5])
print("target", np.asarray(target).ravel()[:5])
difference = np.max(np.abs(source.astype(np.float64) - target)) if source.shape == target.shape else "other shapes"
print("largest difference:", difference)
raise SystemExit(0 if source.shape != target.shape or not np.array_equal(source, target, equal_nan=True) else 1)
'''
_RUNS = {
    "onnxruntime": (
        "",
        'other = onnxruntime.InferenceSession("target.onnx", providers=["CPUExecutionProvider"])\n'
        "target = other.run(None, {i.name: inputs[i.name] for i in other.get_inputs()})[0]",
    ),
    "tensorflow": (
        "import tensorflow as tf\n",
        'loaded = tf.saved_model.load("target")\n'
        "target = loaded.part(*(inputs[name] for name in sorted(inputs))).numpy()",
    ),
}


def write_reproducer(culprit: Culprit, target: Model, feeds: Mapping[str, Any], folder: Path) -> Path:
    """A folder: ``source.onnx``, the target's part, ``inputs.npz`` and ``show.py``; that ends with 0 if they differ."""
    case = culprit.case
    where = culprit.node or culprit.value
    if case is None:
        raise UsageError("the node could not be run by itself, so it can't be cut out", where=where)
    if list(captured(case.node)):
        raise UsageError("its graphs use values around it, so it can't be cut out", where=where)
    folder.mkdir(parents=True, exist_ok=False)
    try:
        names = _write(case, target, feeds, folder)
        imports, run = _RUNS[target.runtime]
        causes = "; ".join(cause.what for cause in culprit.causes) or "cause unknown"
        what = f"{culprit.op} departs from its source: {causes}"
        (folder / "show.py").write_text(_SCRIPT.format(what=what, imports=imports, run=run), encoding="utf-8")
        np.savez(folder / "inputs.npz", **names)  # type: ignore[arg-type]  # the stub lets no keyword be an array
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder


def _write(case: NodeCase, target: Model, feeds: Mapping[str, Any], folder: Path) -> dict[str, np.ndarray]:
    """Both parts under the same names for what goes in."""
    pairs = zip(case.node.inputs, case.inputs, strict=True)
    arrays = {v.name or "": _own_type(v, a) for v, a in pairs if v is not None and v.const_value is None}
    ir.save(_one_node(case.node, case.output), folder / "source.onnx")
    fed = {name: array for name, array in arrays.items() if name in target.inner() or name in feeds}
    target.cut(fed, case.output, feeds, folder / ("target.onnx" if target.runtime == "onnxruntime" else "target"))
    return arrays


def _own_type(value: ir.Value, array: Any) -> np.ndarray:
    """The source's own array again: it was widened to be evaluated."""
    if value.dtype is None:
        return np.asarray(array)
    return np.asarray(array).astype(value.dtype.numpy()) if value.dtype != ir.DataType.STRING else np.asarray(array)


def _one_node(node: ir.Node, output: str) -> ir.Model:
    """A model of the node alone, at an opset that ONNX Runtime runs."""
    values: dict[ir.Value, ir.Value] = {}
    for value in node.inputs:
        if value is not None and value not in values:
            copy = ir.Value(name=value.name, type=value.type, shape=value.shape, const_value=value.const_value)
            values[value] = copy
    made = [ir.Value(name=value.name, type=value.type, shape=value.shape) for value in node.outputs]
    alone = ir.Node(
        node.domain,
        node.op_type,
        [None if value is None else values[value] for value in node.inputs],
        list(node.attributes.values()),
        outputs=made,
        name=node.name,
    )
    graph = ir.Graph(
        [copy for copy in values.values() if copy.const_value is None],
        [value for value in made if value.name == output],
        nodes=[alone],
        initializers=[copy for copy in values.values() if copy.const_value is not None],
        opset_imports=dict(CANONICAL_OPSETS),
        name="reproducer",
    )
    model = ir.Model(graph, ir_version=10)
    lower_model(model, DEFAULT_OPSET)
    return model
