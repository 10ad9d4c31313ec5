"""A TensorFlow function or Keras model: converted to a real .onnx file, run by ONNX Runtime, compared with TensorFlow.

Floats may differ by the declared bounds of the nodes in the file, added up, or by what the float64 truth and
TensorFlow's own noise allow; everything else must be equal.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import tensorflow as tf

from trueport.backends.tensorflow.registry import registry as onnx_operators
from trueport.fidelity import Verdict
from trueport.frontends.tensorflow.registry import registry as tensorflow_operators
from trueport.frontends.tensorflow.source.capture import Captured
from trueport.pipeline import convert_file
from trueport.reference.tensorflow.oracle import TensorflowOracle
from trueport.runtimes.onnxruntime import OnnxRuntimeModel
from trueport.verifying.judge.budget import allowed_ulps
from trueport.verifying.judge.output import Judgement, judge
from trueport.verifying.judge.summed_bounds import compare_outputs

__all__ = ["agree", "op_types", "specs_of", "traced"]

Arrays = Sequence[Any]


def specs_of(samples: Sequence[Arrays]) -> list[Any]:
    """A spec per input: dims that differ between the samples are open."""
    specs = []
    for versions in zip(*samples, strict=True):
        tensors = [tf.convert_to_tensor(array) for array in versions]
        dims = [dims[0] if len(set(dims)) == 1 else None for dims in zip(*(t.shape for t in tensors), strict=True)]
        specs.append(tf.TensorSpec(dims, tensors[0].dtype))
    return specs


def traced(function: Callable[..., Any], samples: Sequence[Arrays]) -> Any:
    """A tf.function with a signature that fits all samples."""
    named = [tf.TensorSpec(s.shape, s.dtype, name=f"x{i}") for i, s in enumerate(specs_of(samples))]
    return tf.function(lambda *inputs: function(*inputs), input_signature=named)


def agree(
    source: Any,
    *samples: Arrays,
    ignore_values: bool = False,
    referee: Any = None,
    **options: Any,
) -> onnx.ModelProto:
    """Convert ``source`` (a Python function over tensors, or anything that convert takes) and compare on all samples.

    A plain function is traced with the dims that differ between samples left open.
    ``ignore_values``: for random operators, shapes and types only.
    ``referee``: an equal function or model, run in the place of ``source`` where TensorFlow has kernels for the latter
    on some CPUs only.
    Returns the written model, for assertions on its structure.
    """
    model = traced(source, samples) if _is_plain(source) else source
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "model.onnx")
        convert_file(model, place, verify=False, **options)
        written = onnx.load(place)
        target = OnnxRuntimeModel(place)
        target.prepare()
        runs = model if referee is None else traced(referee, samples) if _is_plain(referee) else referee
        captured = _captured(runs, options)
        allowed = allowed_ulps(ir.from_proto(written), onnx_operators())
        for sample in samples:
            want = [tensor.numpy() for tensor in _run(captured, sample)]
            feeds = {port.name: _fed(array) for port, array in zip(target.inputs, _flat(sample), strict=True)}
            got = list(target.run(feeds).values())
            assert len(want) == len(got), f"{len(got)} outputs, TensorFlow has {len(want)}"
            for index, (w, g) in enumerate(zip(want, got, strict=True)):
                result = compare_outputs(f"output {index}", _plain(w), g, allowed, shapes_only=ignore_values)
                if result.verdict != Verdict.FAITHFUL:
                    truth = _judged(captured, sample, index, _plain(w), g)
                    assert truth.verdict == Verdict.FAITHFUL, f"{result}\n{truth}\nwant {w}\ngot {g}"
    return written


def op_types(model: onnx.ModelProto) -> list[str]:
    """Operators of all nodes, those of inner graphs included, in order."""
    return [node.op_type for node in ir.from_proto(model).graph.all_nodes()]


def _is_plain(source: Any) -> bool:
    return callable(source) and type(source).__name__ in ("function", "builtin_function_or_method", "partial", "method")


def _captured(model: Any, options: dict[str, Any]) -> Captured:
    from trueport.frontends.tensorflow.source.resolve import Options
    from trueport.sources.tensorflow import TensorflowSource

    known = {name: value for name, value in options.items() if name in Options.__dataclass_fields__}
    return TensorflowSource(model, (), Options(**known)).captured


def _flat(sample: Arrays) -> list[Any]:
    return tf.nest.flatten(list(sample), expand_composites=True)


def _run(captured: Captured, sample: Arrays) -> list[Any]:
    tensors = [
        tf.constant(array, dtype=tensor.dtype)
        for array, tensor in zip(_flat(sample), captured.function.inputs, strict=False)
    ]
    made = captured.function(*tensors)
    return [made[port.parts[0]] for port in captured.outputs]


def _not_translated(part: Captured) -> ir.Model:
    raise AssertionError("the float64 reference translates nothing")


def _judged(captured: Captured, sample: Arrays, index: int, want: np.ndarray, got: Any) -> Judgement:
    """Beyond the declared bounds: as near to the float64 truth as TensorFlow's own float32 is, but for rounding?"""
    feeds = {port.name: np.asarray(array) for port, array in zip(captured.inputs, _flat(sample), strict=True)}
    name = captured.outputs[index].name
    truth, noisy = TensorflowOracle(captured, tensorflow_operators(), _not_translated).run(feeds)
    return judge(name, [want], got, _plain(truth[name]), [_plain(run[name]) for run in noisy])


def _fed(array: Any) -> np.ndarray:
    found = array.numpy() if hasattr(array, "numpy") else np.asarray(array)
    found = np.asarray(found)
    if found.dtype.kind == "c":
        return np.stack([found.real, found.imag], axis=-1)
    if found.dtype.kind in "SU":
        return np.asarray(found, dtype=object)
    return found


def _plain(array: Any) -> np.ndarray:
    found = np.asarray(array)
    if found.dtype.kind == "c":
        return np.stack([found.real, found.imag], axis=-1)
    if found.dtype.kind in "OS":
        flat = np.empty(found.size, object)
        flat[:] = [item.decode() if isinstance(item, bytes) else item for item in found.ravel()]
        return flat.reshape(found.shape)
    return found
