"""Inside loops and branches: the step at which the body first departs, and the node in it.

The body of either side is a model of its own, fed with the source's state before each step.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from trueport.reference.onnx.evaluate import captured
from trueport.runtimes.onnxruntime import OnnxRuntimeModel

__all__ = ["Body", "Unrolled", "unrolled"]

_STEPS = 64
"""Steps of a loop that are looked at."""


@dataclass(frozen=True)
class Body:
    """A loop's or a branch's graph as a model, and what it is fed beside its own inputs."""

    proto: onnx.ModelProto
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Unrolled:
    """Both bodies under the same inputs, and the inputs of every step."""

    source: onnx.ModelProto
    target: onnx.ModelProto
    steps: tuple[Mapping[str, Any], ...]


def unrolled(
    source: OnnxRuntimeModel, target: OnnxRuntimeModel, makes: tuple[str, str], feeds: Mapping[str, Any]
) -> Unrolled | None:
    """The node that makes a value in either model, taken apart; None where one is neither a Loop nor an If."""
    mine, theirs = (_maker(model.graph(), name) for model, name in zip((source, target), makes, strict=True))
    if mine is None or theirs is None or mine.op_type != theirs.op_type or mine.op_type not in ("Loop", "If"):
        return None
    outer = dict.fromkeys(v.name or "" for node in (mine, theirs) for v in captured(node) if v.const_value is None)
    given = [v.name or "" for v in mine.inputs if v is not None and v.const_value is None]
    wanted = [name for name in dict.fromkeys((*given, *outer)) if name not in feeds]
    taken = {**feeds, **(source.run(feeds, fetch=wanted) if wanted else {})}
    read = [None if v is None else _array(v, taken) for v in mine.inputs]
    branch = "body" if mine.op_type == "Loop" else "then_branch" if np.all(read[0]) else "else_branch"
    around = {name: taken[name] for name in outer}
    bodies = [_body(node, branch, around) for node in (mine, theirs)]
    if len(bodies[0].inputs) != len(bodies[1].inputs) or len(bodies[0].outputs) != len(bodies[1].outputs):
        return None
    other = _renamed(bodies[1], bodies[0])
    steps = _steps(bodies[0], read, around) if branch == "body" else iter([around])
    return Unrolled(bodies[0].proto, other, tuple(itertools.islice(steps, _STEPS)))


def _steps(body: Body, read: Sequence[Any], around: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """What the source's body begins each step with."""
    model = OnnxRuntimeModel(body.proto, optimize=False)
    trips = None if read[0] is None else int(read[0])
    going = len(read) < 2 or read[1] is None or bool(read[1])
    state = list(read[2:])
    step = 0
    while going and (trips is None or step < trips):
        begin = [np.asarray(step, np.int64), np.asarray(going), *state]
        fed = {**around, **dict(zip(body.inputs, begin, strict=True))}
        yield fed
        made = model.run(fed)
        results = [made[name] for name in body.outputs]
        going, state = bool(results[0]), results[1 : 1 + len(state)]
        step += 1


def _maker(graph: ir.Graph, name: str) -> ir.Node | None:
    return next((node for node in graph if any(value.name == name for value in node.outputs)), None)


def _array(value: ir.Value, taken: Mapping[str, Any]) -> Any:
    return value.const_value.numpy() if value.const_value is not None else taken[value.name or ""]


def _body(node: ir.Node, branch: str, around: Mapping[str, Any]) -> Body:
    """A graph as a model: what it uses from outside are inputs, or weights of its own."""
    graph = node.attributes[branch].as_graph()
    proto = ir.to_proto(graph)
    inputs, outputs = tuple(i.name for i in proto.input), tuple(o.name for o in proto.output)
    for value in captured(node):
        if value.const_value is not None:
            proto.initializer.append(ir.to_proto(value.const_value))
            proto.initializer[-1].name = value.name or ""
    for name, array in around.items():
        kind = onnx.helper.np_dtype_to_tensor_dtype(np.asarray(array).dtype)
        proto.input.append(onnx.helper.make_tensor_value_info(name, kind, None))
    opsets = node.graph.opset_imports if isinstance(node.graph, ir.Graph) else {"": 21}
    ids = [onnx.helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    return Body(onnx.helper.make_model(proto, opset_imports=ids, ir_version=10), inputs, outputs)


def _renamed(body: Body, like: Body) -> onnx.ModelProto:
    """The other body with the first one's names at its border, by place."""
    pairs = zip((*body.inputs, *body.outputs), (*like.inputs, *like.outputs), strict=True)
    made = onnx.ModelProto()
    made.CopyFrom(body.proto)
    names = dict(pairs)
    inner = {name for node in made.graph.node for name in node.output} | {w.name for w in made.graph.initializer}
    taken = (inner | set(body.inputs)) & set(names.values()) - {old for old, new in names.items() if old == new}
    names.update({name: f"{name}.other" for name in taken if name not in names})
    for node in made.graph.node:
        _rename(node, names)
    for value in (*made.graph.input, *made.graph.output, *made.graph.initializer, *made.graph.value_info):
        value.name = names.get(value.name, value.name)
    return made


def _rename(node: onnx.NodeProto, names: Mapping[str, str]) -> None:
    node.input[:] = [names.get(name, name) for name in node.input]
    node.output[:] = [names.get(name, name) for name in node.output]
    for graph in (g for a in node.attribute for g in [a.g, *a.graphs]):
        for inner in graph.node:
            _rename(inner, names)
        for value in graph.output:
            value.name = names.get(value.name, value.name)
