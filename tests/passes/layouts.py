"""Models before and after layout assignment, run the same way.

A marked node means channel-last data around an ONNX node: for ONNX Runtime it is written out as
Transpose, node, Transpose. Data and weights are small integers, so that sums are exact in any order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx.parser
import onnx_ir as ir
import onnxruntime as ort
from onnx_ir.passes.common import LiftConstantsToInitializersPass, ShapeInferencePass

from trueport.ir.layouts import channels_last, held_names, inverse
from trueport.passes.layout import assign_layouts

_CHANNEL_OPS = """
    AveragePool BatchNormalization Conv ConvInteger ConvTranspose DepthToSpace GlobalAveragePool GlobalMaxPool
    InstanceNormalization LRN LpPool MaxPool QLinearConv SpaceToDepth
"""
CHANNEL_OPS = frozenset(_CHANNEL_OPS.split())


def honours(node: ir.Node) -> bool:
    return not node.domain and node.op_type in CHANNEL_OPS


def model_of(text: str, opset: int = 21, **weights: Any) -> ir.Model:
    """A model from its text; ``weights`` become initializers, given as arrays or as shapes to be filled."""
    proto = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]>\n{text}')
    generator = np.random.default_rng(0)
    for name, given in weights.items():
        shaped = isinstance(given, tuple)
        array = generator.integers(-2, 3, given).astype(np.float32) if shaped else np.asarray(given)
        proto.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    model = ir.from_proto(proto)
    prepare(model)
    return model


def prepare(model: ir.Model) -> None:
    LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
    ShapeInferencePass(check_type=False, strict_mode=False, data_prop=True)(model)


def copy(model: ir.Model) -> ir.Model:
    return ir.from_proto(ir.to_proto(model))


def assigned(model: ir.Model) -> ir.Model:
    """A copy of the model with layouts."""
    made = copy(model)
    assign_layouts(made, honours)
    return made


def count(model: ir.Model, op: str) -> int:
    return sum(node.op_type == op for node in model.graph.all_nodes())


def unmarked(model: ir.Model) -> None:
    """Write the mark out as transposes, in place."""
    for node in list(model.graph.all_nodes()):
        if node.meta.pop("channels_last", False):
            data, made = node.inputs[0], node.outputs[0]
            perm = channels_last(data.shape.rank())
            graph = node.graph
            before = ir.node("Transpose", [data], {"perm": inverse(perm)})
            before.outputs[0].name = f"{made.name}@unmarked.before"
            graph.insert_before(node, before)
            node.replace_input_with(0, before.outputs[0])
            users, outputs = list(made.uses()), [i for i, v in enumerate(graph.outputs) if v is made]
            after = ir.node("Transpose", [made], {"perm": perm})
            graph.insert_after(node, after)
            name, made.name = made.name, f"{made.name}@unmarked"
            after.outputs[0].name, after.outputs[0].type = name, made.type
            after.outputs[0].shape, made.shape = made.shape, None
            for user, index in users:
                user.replace_input_with(index, after.outputs[0])
            for index in outputs:
                graph.outputs[index] = after.outputs[0]


def run(model: ir.Model, feeds: Mapping[str, np.ndarray], fetch: tuple[str, ...] = ()) -> list[np.ndarray]:
    """ONNX Runtime's results, without its own optimizations; ``fetch`` adds inner values."""
    proto = ir.to_proto(model)
    proto.graph.output.extend(onnx.ValueInfoProto(name=name) for name in fetch)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    return ort.InferenceSession(proto.SerializeToString(), options).run(None, dict(feeds))


def feeds_of(model: ir.Model, size: int = 2) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(1)
    feeds = {}
    for value in model.graph.inputs:
        shape = [dim if isinstance(dim, int) else size for dim in value.shape]
        feeds[value.name] = generator.integers(0, 4, shape).astype(value.dtype.numpy())
    return feeds


def check(model: ir.Model, transposes: int, *, rtol: float = 0.0, sizes: tuple[int, ...] = (2,)) -> ir.Model:
    """Assign layouts; count transposes; compare results, and inner values under their original names."""
    after = assigned(model)
    counted = count(after, "Transpose")
    runnable = copy_marked(after)
    for size in sizes:
        feeds = feeds_of(model, size)
        for want, got in zip(run(model, feeds), run(runnable, feeds), strict=True):
            assert want.shape == got.shape and want.dtype == got.dtype
            np.testing.assert_allclose(got, want, rtol=rtol, atol=0)
    assert [v.name for v in after.graph.outputs] == [v.name for v in model.graph.outputs]
    assert counted == transposes, f"{counted} transposes:\n{after.graph}"
    _check_held(model, after, runnable, rtol)
    return after


def copy_marked(model: ir.Model) -> ir.Model:
    """A copy for ONNX Runtime: marks are lost in files, so they are written out."""
    made = copy(model)
    for old, new in zip(model.graph.all_nodes(), made.graph.all_nodes(), strict=True):
        new.meta.update(old.meta)
    unmarked(made)
    return made


def _check_held(before: ir.Model, after: ir.Model, runnable: ir.Model, rtol: float) -> None:
    """Every inner value is there: under its name, or held by a value that says how."""
    known = {value.name for node in after.graph for value in node.outputs} | {v.name for v in after.graph.inputs}
    made = [value for node in after.graph for value in node.outputs] + list(after.graph.inputs)
    held = {name: (value.name, perm) for value in made for name, perm in held_names(value).items()}
    names = [value.name for node in before.graph for value in node.outputs if value.name]
    assert all(name in known or name in held for name in names)
    feeds = feeds_of(before)
    fetched = [name for name in names if name not in known][:40]
    sources = tuple(dict.fromkeys(held[name][0] for name in fetched))
    if not fetched or set(sources) & {v.name for v in after.graph.inputs}:
        return
    outputs = len(before.graph.outputs)
    wanted = run(before, feeds, tuple(fetched))[outputs:]
    got = dict(zip(sources, run(runnable, feeds, sources)[outputs:], strict=True))
    for name, want in zip(fetched, wanted, strict=True):
        source, perm = held[name]
        np.testing.assert_allclose(got[source], want.transpose(perm), rtol=rtol, atol=0)
