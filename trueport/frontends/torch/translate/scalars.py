"""Tensors without axes where an operator is given an axis: vectors of one element to PyTorch, refused by ONNX."""

from __future__ import annotations

import copy
import operator
from typing import Any

from trueport.frontends.torch._torch import torch

__all__ = ["spell_out_vectors"]

_OF_NO_AXIS = frozenset({"diagonal", "flatten", "select", "slice", "squeeze", "unflatten", "unsqueeze"})
"""Operators whose ``dim`` is not an axis of their operand, and those that add axes."""


def spell_out_vectors(program: Any) -> Any:
    """Return a captured program in which such operators take a vector; the same one where there are none."""
    if not any(map(_takes_a_scalar_along_an_axis, program.graph.nodes)):
        return program
    made = copy.deepcopy(program)
    graph = made.graph_module.graph
    for node in [node for node in graph.nodes if _takes_a_scalar_along_an_axis(node)]:
        _spell_out(graph, node)
    graph.eliminate_dead_code()
    made.graph_module.recompile()
    return made


def _takes_a_scalar_along_an_axis(node: Any) -> bool:
    schema = getattr(node.target, "_schema", None)
    if node.op != "call_function" or schema is None or not node.args or not isinstance(node.args[0], torch.fx.Node):
        return False
    if getattr(node.args[0].meta.get("val"), "shape", None) != torch.Size([]):
        return False
    given = {argument.name for argument in schema.arguments[: len(node.args)]} | set(node.kwargs)
    given |= {argument.name for argument in schema.arguments if argument.default_value is not None}
    name = schema.name.partition("::")[2].partition(".")[0]
    return name not in _OF_NO_AXIS and bool({"dim", "dims", "axis"} & given)


def _spell_out(graph: Any, node: Any) -> None:
    results = [node] if isinstance(node.meta.get("val"), torch.Tensor) else list(node.users)
    with graph.inserting_before(node):
        vector = _called(graph, node, torch.ops.aten.reshape.default, (node.args[0], [1]), {})
        places = [_as_vector(graph, node, argument) for argument in node.args[1:]]
        whole = _called(graph, node, node.target, (vector, *places), node.kwargs)
    for result in results:
        with graph.inserting_before(result):
            part = whole if result is node else _called(graph, result, operator.getitem, (whole, result.args[1]), {})
        # The node keeps its name, which the program's signature may hold.
        result.target, result.args, result.kwargs = torch.ops.aten.reshape.default, (part, _sizes(result)), {}


def _as_vector(graph: Any, node: Any, argument: Any) -> Any:
    """Indices without axes beside the operand."""
    if not isinstance(argument, torch.fx.Node) or getattr(argument.meta.get("val"), "shape", None) != torch.Size([]):
        return argument
    return _called(graph, node, torch.ops.aten.reshape.default, (argument, [1]), {})


def _sizes(node: Any) -> list[int]:
    return list(node.meta["val"].shape)


def _called(graph: Any, like: Any, target: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    made = graph.call_function(target, args, dict(kwargs))
    made.meta = {key: value for key, value in like.meta.items() if key != "val"}
    with like.meta["val"].fake_mode if hasattr(like.meta["val"], "fake_mode") else _mode(like):
        made.meta["val"] = target(*torch.fx.map_arg(args, lambda n: n.meta["val"]), **kwargs)
    return made


def _mode(node: Any) -> Any:
    return next(value.fake_mode for value in torch.utils._pytree.tree_leaves(node.meta["val"]))
