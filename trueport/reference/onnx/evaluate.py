"""The oracle: a canonical ONNX graph evaluated node by node in float64, by none of the runtimes that are compared.

Operators are ONNX's own reference in NumPy, and a few kernels of this package. Branches, loops and scans are walked
node by node. With noise every node also errs as a float of the model's own type may.
"""

from __future__ import annotations

import contextlib
import functools
import mmap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from trueport.errors import NoOracle
from trueport.fidelity import Against
from trueport.ir.places import place
from trueport.ir.schemas import CANONICAL_OPSETS, canonical_schema
from trueport.mapping.bind import attribute_value, bind_by_schema
from trueport.quoting import plain_text
from trueport.reference.noise import Rounding, RoundingNoise, Run, error_sizes, is_wide
from trueport.reference.onnx.cache import BoundedCache
from trueport.reference.onnx.kernels import kernel_of
from trueport.reference.onnx.linear import narrow_sizes, product_differences
from trueport.reference.onnx.noise import NodeRounding
from trueport.reference.onnx.widen import widened_array, widened_node
from trueport.reference.walk import nbytes

__all__ = ["Body", "WideEvaluator", "captured", "values_read"]

Body = Callable[[ir.Node], ir.Graph | None]
"""The graph that says the same as a node in smaller steps; its inputs are those that the node has."""

_FIRST_ONLY = frozenset({"BatchNormalization", "LayerNormalization", "MaxPool"})
"""Kernels that give the first of several results."""


class WideEvaluator:
    """Evaluates a model whose opsets are canonical; constants are widened once."""

    def __init__(self, model: ir.Model, rounding: NodeRounding, body: Body, custom: Sequence[type[OpRun]] = ()) -> None:
        """``rounding`` and ``body``: how a node errs, and by which steps, in evaluations with noise."""
        self.graph = model.graph
        self._rounding, self._body = rounding, body
        self._custom = list(custom)
        self._noise: RoundingNoise | None = None
        self.peak_bytes = 0
        """what the values of one evaluation took at most, in the last run"""
        self._runs: dict[ir.Node, Run] = {}
        self._constants = BoundedCache()
        self._roundings: dict[ir.Node, Rounding | None] = {}
        self._bodies: dict[ir.Node, ir.Graph | None] = {}

    def with_noise(self, noise: RoundingNoise) -> WideEvaluator:
        """Return the same model, its prepared nodes shared, evaluated with errors."""
        other = WideEvaluator.__new__(WideEvaluator)
        other.__dict__.update(self.__dict__)
        other._noise = noise
        return other

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        """Return the graph's outputs by name."""
        return self.run_beside(feeds, ())[0]

    def run_beside(
        self, feeds: Mapping[str, Any], noisy: Sequence[WideEvaluator]
    ) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Return the graph's outputs by name, and those of ``noisy`` evaluations of the same model.

        All go through the graph side by side: what does not round is evaluated once, and what an error is relative to
        is computed once for all. Values are dropped after their last use.
        """
        given = {v: widened_array(feeds[v.name]) for v in self.graph.inputs if v.name is not None and v.name in feeds}
        held = [dict(given) for _ in (self, *noisy)]
        self.peak_bytes = 0
        uses = Counter(value for node in self.graph for value in values_read(node))
        uses.update(self.graph.outputs)
        for node in self.graph:
            for made, results in zip(held, self._steps(node, held, noisy), strict=True):
                made.update((v, a) for v, a in zip(node.outputs, results, strict=False) if v.name and uses[v])
            self.peak_bytes = max(self.peak_bytes, sum(map(nbytes, held[0].values())))
            for value in values_read(node):
                uses[value] -= 1
                if not uses[value]:
                    for made in held:
                        made.pop(value, None)
        first, *others = ({v.name or "": self.value(v, made) for v in self.graph.outputs} for made in held)
        return first, others

    def _steps(
        self, node: ir.Node, held: Sequence[dict[ir.Value, Any]], noisy: Sequence[WideEvaluator]
    ) -> list[Sequence[Any]]:
        """Return one node's results of all evaluations, each on what it holds."""
        first = [None if v is None else self.value(v, held[0]) for v in node.inputs]
        # Constants are those of the first run: to widen one again may cost more than the node.
        others = [
            [array if v is None else made.get(v, array) for v, array in zip(node.inputs, first, strict=True)]
            for made in held[1:]
        ]
        results = self.step(node, first, held[0])
        if not noisy:
            return [results]
        plain = not _is_control_flow(node) and not self._rounding.by_steps(node)
        if plain and not self._rounding.varies(node) and not _differ(node, held):
            return [results] * len(held)
        sizes = self._sizes(node, first, results, held[0]) if plain else None
        if sizes is not None and (moved := self._products(node, first, results, others, noisy, sizes)):
            return [results, *moved]
        pairs = zip(noisy, others, held[1:], strict=True)
        return [results, *(run.step(node, inputs, made, sizes) for run, inputs, made in pairs)]

    def _sizes(
        self, node: ir.Node, inputs: Sequence[Any], results: Sequence[Any], around: Mapping[ir.Value, Any]
    ) -> Sequence[Any] | None:
        """Return what the node's errors are relative to; None if it does not round."""
        rounding = self._rounding_of(node)
        if rounding is None:
            return None
        with _told(node):
            run = self._runner(node, around)
            narrow = narrow_sizes(node, rounding, inputs, run) if rounding.bound.against == Against.TERMS else None
            return error_sizes(rounding.bound.against, inputs, results, run) if narrow is None else narrow

    def _products(
        self,
        node: ir.Node,
        inputs: Sequence[Any],
        results: Sequence[Any],
        others: Sequence[Sequence[Any]],
        noisy: Sequence[WideEvaluator],
        sizes: Sequence[Any],
    ) -> list[Sequence[Any]]:
        """Return the results of noisy runs of a product by what differs in them; none if it is to be evaluated."""
        rounding = self._rounding_of(node)
        noises = [run._noise for run in noisy if run._noise is not None]
        if rounding is None or not is_wide(results[0]) or np.shape(sizes[0]) != results[0].shape:
            return []
        with _told(node):
            found = product_differences(node, rounding, inputs, others, noises, self._runner(node, {}))
            if found is None:
                return []
            scale = rounding.scale_of(inputs, results)
            pairs = zip(noises, found, strict=True)
            return [[noise.moved(results[0], away, sizes[0], scale)] for noise, away in pairs]

    def _rounding_of(self, node: ir.Node) -> Rounding | None:
        if node not in self._roundings:
            self._roundings[node] = self._rounding(node)
        return self._roundings[node]

    def step(
        self,
        node: ir.Node,
        inputs: Sequence[Any],
        around: Mapping[ir.Value, Any] | None = None,
        sizes: Sequence[Any] | None = None,
    ) -> Sequence[Any]:
        """Evaluate one node on given inputs; ``around`` holds what its graphs may see of the graph outside.

        ``sizes``: what errors are relative to, where that is known already.
        """
        with _told(node):
            walked = self._walked(node, inputs, around or {})
            if walked is not None:
                return walked
            run = self._runner(node, around or {})
            results = self._noise(self._rounding_of(node), inputs, run, sizes) if self._noise else run(inputs)
            # Some operators of the reference round what they make to float32.
            return [widened_array(array) for array in results]

    def value(self, value: ir.Value, held: Mapping[ir.Value, Any]) -> Any:
        """A value that was made, or a constant, widened."""
        if value in held:
            return held[value]
        known = self._constants.get(value)
        if known is not None:
            return known
        if value.const_value is None:
            raise NoOracle(f"nothing makes the value {value.name!r}")
        array = _widened_constant(value.const_value)
        self._constants.put(value, array, getattr(array, "nbytes", 0))
        return array

    def _walked(self, node: ir.Node, inputs: Sequence[Any], around: Mapping[ir.Value, Any]) -> list[Any] | None:
        """Node by node: control flow, whose body may be a whole network, and what errs by its steps; else None."""
        if _is_control_flow(node):
            return {"If": self._branch, "Loop": self._loop, "Scan": self._scan}[node.op_type](node, inputs, around)
        if self._noise is None or not self._rounding.by_steps(node):
            return None
        if node not in self._bodies:
            self._bodies[node] = self._body(node)
        body = self._bodies[node]
        if body is None:
            return None
        given = {value: array for value, array in zip(node.inputs, inputs, strict=True) if value is not None}
        made = iter(self._inside(body, list(given.values()), {}))
        return [next(made) if value.name else None for value in node.outputs]

    def _branch(self, node: ir.Node, inputs: Sequence[Any], around: Mapping[ir.Value, Any]) -> list[Any]:
        taken = "then_branch" if bool(np.all(inputs[0])) else "else_branch"
        return self._inside(node.attributes[taken].as_graph(), [], around)

    def _inside(self, graph: ir.Graph, inputs: Sequence[Any], around: Mapping[ir.Value, Any]) -> list[Any]:
        held = {**around, **dict(zip(graph.inputs, inputs, strict=True))}
        for node in graph:
            results = self.step(node, [None if v is None else self.value(v, held) for v in node.inputs], held)
            held.update(zip(node.outputs, results, strict=False))
        return [self.value(value, held) for value in graph.outputs]

    def _loop(self, node: ir.Node, inputs: Sequence[Any], around: Mapping[ir.Value, Any]) -> list[Any] | None:
        """None where no step is made: what is collected then has a shape that only the reference can tell."""
        body = node.attributes["body"].as_graph()
        trips = None if inputs[0] is None else int(inputs[0])
        going = len(inputs) < 2 or inputs[1] is None or bool(inputs[1])
        state = list(inputs[2:])
        collected: list[list[Any]] = [[] for _ in body.outputs[1 + len(state) :]]
        step = 0
        while going and (trips is None or step < trips):
            made = self._inside(body, [np.asarray(step, np.int64), np.asarray(going), *state], around)
            going, state = bool(made[0]), made[1 : 1 + len(state)]
            for rows, row in zip(collected, made[1 + len(state) :], strict=True):
                rows.append(row)
            step += 1
        return [*state, *(np.stack(rows) for rows in collected)] if step else None

    def _scan(self, node: ir.Node, inputs: Sequence[Any], around: Mapping[ir.Value, Any]) -> list[Any] | None:
        """None where there is nothing to scan, as for a loop without a step."""
        body = node.attributes["body"].as_graph()
        count = node.attributes["num_scan_inputs"].as_int()
        state = list(inputs[: len(inputs) - count])
        axes, backward = (_per_value(node, f"scan_input_{kind}", count) for kind in ("axes", "directions"))
        scanned = [np.moveaxis(np.asarray(a), axis, 0) for a, axis in zip(inputs[-count:], axes, strict=True)]
        rows = [array[::-1] if back else array for array, back in zip(scanned, backward, strict=True)]
        collected: list[list[Any]] = [[] for _ in body.outputs[len(state) :]]
        for now in zip(*rows, strict=True):
            made = self._inside(body, [*state, *map(np.asarray, now)], around)
            state = made[: len(state)]
            for made_before, array in zip(collected, made[len(state) :], strict=True):
                made_before.append(array)
        if not len(rows[0]):
            return None
        axes, backward = (_per_value(node, f"scan_output_{kind}", len(collected)) for kind in ("axes", "directions"))
        stacked = [np.stack(listed[::-1] if back else listed) for listed, back in zip(collected, backward, strict=True)]
        return [*state, *(np.moveaxis(array, 0, axis) for array, axis in zip(stacked, axes, strict=True))]

    def _runner(self, node: ir.Node, around: Mapping[ir.Value, Any]) -> Run:
        outer = list(captured(node))
        if outer:
            return self._with_captured(node, outer, around)
        if node not in self._runs:
            reference = functools.partial(self._reference, widened_node(node), ())
            is_declared = any((op.op_domain, op.__name__) == (node.domain, node.op_type) for op in self._custom)
            self._runs[node] = (None if is_declared else _kernel(node, reference)) or reference()
        return self._runs[node]

    def _with_captured(self, node: ir.Node, outer: Sequence[ir.Value], around: Mapping[ir.Value, Any]) -> Run:
        """A node whose graphs use outer values, as a model that has them as inputs."""
        run = self._reference(widened_node(node), outer)
        arrays = [self.value(value, around) for value in outer]
        return lambda inputs: run([*inputs, *arrays])

    def _reference(self, proto: onnx.NodeProto, outer: Sequence[ir.Value]) -> Run:
        fed = [*proto.input, *(value.name or "" for value in outer)]
        # The reference leaves out an operator's result that has no name, and loses count.
        made = [name or f"unnamed.{index}" for index, name in enumerate(proto.output)]
        proto.output[:] = made
        inputs, outputs = (
            [onnx.ValueInfoProto(name=name) for name in listed] for listed in (dict.fromkeys(filter(None, fed)), made)
        )
        graph = onnx.helper.make_graph([proto], "node", inputs, outputs)
        domains = {**CANONICAL_OPSETS, proto.domain: CANONICAL_OPSETS.get(proto.domain, 1)}
        opsets = [onnx.helper.make_opsetid(domain, version) for domain, version in domains.items()]
        evaluator = ReferenceEvaluator(onnx.helper.make_model(graph, opset_imports=opsets), new_ops=self._custom)

        def run(arrays: Sequence[Any]) -> Sequence[Any]:
            return list(evaluator.run(None, {n: a for n, a in zip(fed, arrays, strict=False) if n}))

        return run


@contextlib.contextmanager
def _told(node: ir.Node) -> Iterator[None]:
    """Turn whatever an evaluation raises into `NoOracle`, with the node."""
    try:
        with np.errstate(all="ignore"):
            yield
    except NoOracle:
        raise
    except Exception as error:  # the reference raises many kinds for what it can't do
        why = f"can't be evaluated in float64: {type(error).__name__}: {plain_text(error)[:200]}"
        remedy = "declare the operator with reference=… (--ops FILE)"
        raise NoOracle(why, where=place(node), remedy=remedy) from error


def _is_control_flow(node: ir.Node) -> bool:
    return not node.domain and node.op_type in ("If", "Loop", "Scan")


def _differ(node: ir.Node, held: Sequence[Mapping[ir.Value, Any]]) -> bool:
    """True if an evaluation has another value than the first for something that the node reads."""
    read = [value for value in values_read(node) if value in held[0]]
    return any(made[value] is not held[0][value] for made in held[1:] for value in read)


def _per_value(node: ir.Node, name: str, count: int) -> Sequence[int]:
    """An attribute with a number for each of so many values; 0 where it is left out."""
    return node.attributes[name].as_ints() if name in node.attributes else [0] * count


def _kernel(node: ir.Node, reference: Callable[[], Run]) -> Run | None:
    """This package's kernel for a node, if it has one; cases that it leaves go to the reference."""
    function = kernel_of(node)
    wanted = sum(bool(value.name) for value in node.outputs)
    if function is None or (not node.domain and node.op_type in _FIRST_ONLY and wanted > 1):
        return None
    schema = canonical_schema(node.op_type, node.domain)
    spare = 0
    if schema is None:
        attributes = {name: attribute_value(attribute) for name, attribute in node.attributes.items()}
    else:
        attributes = dict(bind_by_schema(node, schema).attributes)
        # A variadic operator takes as many as there are.
        spare = max(0, len(schema.inputs) - len(node.inputs)) if schema.max_input == len(schema.inputs) else 0

    def run(inputs: Sequence[Any]) -> Sequence[Any]:
        given = [np.asarray(array) if isinstance(array, np.generic) else array for array in inputs]
        made = function(*given, *[None] * spare, **attributes)
        if made is None:
            return reference()(inputs)
        return list(made) if isinstance(made, tuple) else [made]

    return run


def values_read(node: ir.Node) -> Iterator[ir.Value]:
    """Yield the values that a node takes, and those that its graphs use of graphs outside."""
    yield from (value for value in node.inputs if value is not None)
    yield from captured(node)


def captured(node: ir.Node) -> Iterable[ir.Value]:
    """Values of graphs outside that the node's graphs use, each once."""
    found: dict[ir.Value, None] = {}
    for attribute in node.attributes.values():
        one, many = attribute.type == ir.AttributeType.GRAPH, attribute.type == ir.AttributeType.GRAPHS
        for graph in [attribute.as_graph()] if one else attribute.as_graphs() if many else []:
            inner = {graph, *graph.subgraphs()}
            used = [value for n in graph.all_nodes() for value in n.inputs if value is not None]
            used += [value for g in inner for value in g.outputs]
            found.update((value, None) for value in used if value.graph not in inner)
    return found


def _widened_constant(tensor: ir.TensorProtocol) -> Any:
    """A weight in float64; the pages of the file that it was read from need not stay in memory beside it."""
    array = widened_array(tensor.numpy())
    if isinstance(tensor, ir.ExternalTensor) and isinstance(tensor.raw, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        tensor.raw.madvise(mmap.MADV_DONTNEED)
    return array
