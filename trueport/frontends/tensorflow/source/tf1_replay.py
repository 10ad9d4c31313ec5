"""A graph of TensorFlow 1 traced again: its loops become While operations, its branches If, its arrays lists.

Operations are copied one by one into the graph that is being traced. TensorFlow's own ``tf.while_loop``, ``tf.cond``
and ``tf.switch_case`` make the functions and capture what comes from outside.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from trueport.errors import ConversionError
from trueport.frontends.tensorflow._tf import tf
from trueport.frontends.tensorflow.source.tf1_arrays import Array, run_array_operation
from trueport.frontends.tensorflow.source.tf1_flow import ARRAYS, Flow, Frame, base_type, in_order, uses_tf1_flow
from trueport.runtimes.tensorflow_functions import FunctionLibrary, called_functions

__all__ = ["instantiate", "replay"]

_HANDED_ON = frozenset(("Identity", "Enter", "Exit", "NextIteration", "LoopCond", "StopGradient"))
_CALLS = frozenset(("PartitionedCall", "StatefulPartitionedCall"))
_BY_FUNCTIONS = _CALLS | {"If", "Case", "While"}
_AGAIN = "trace or save the model again with TensorFlow 2, whose branches and loops are functions"


def instantiate(graph: Any, feeds: Mapping[str, Any], fetches: Sequence[str]) -> list[Any]:
    """Tensors of a graph by their names, made in the graph that is being traced; ``feeds`` take others' place."""
    if uses_tf1_flow(graph, FunctionLibrary()):
        return replay(graph, feeds, [graph.get_tensor_by_name(name) for name in fetches])
    found: list[Any] = tf.graph_util.import_graph_def(
        graph.as_graph_def(), input_map=dict(feeds), return_elements=list(fetches), name=""
    )
    return found


def replay(graph: Any, feeds: Mapping[str, Any], fetches: Sequence[Any]) -> list[Any]:
    """Copy what ``fetches``, tensors of ``graph``, depend on; loops, branches and arrays in their newer form."""
    replayed = _Replay(graph, FunctionLibrary(), feeds, fetches)
    region = _Region(replayed, dict(feeds))
    for tensor in fetches:
        if tensor.name not in feeds and replayed.flow.condition(tensor) != {}:
            raise ConversionError(
                "has a value only if one branch is taken; an output of an ONNX model always has one",
                where=_place(tensor.op),
                remedy="name the Merge operation that follows it as the output",
            )
    found = region.values_of(fetches)
    for tensor, value in zip(fetches, found, strict=True):
        if isinstance(value, Array) or value.dtype != tensor.dtype.base_dtype:
            raise ConversionError(
                "is the handle of an array, not a tensor", where=_place(tensor.op), remedy="name the values it holds"
            )
    return found


class _Replay:
    """What holds for all regions of a graph."""

    def __init__(self, graph: Any, library: FunctionLibrary, feeds: Mapping[str, Any], fetches: Sequence[Any]) -> None:
        self.graph = graph
        self.flow = Flow(graph)
        self.library = library
        self._definition: Any = None
        self._provided: list[Any] = []
        self.acting = self._acting()
        self.needed = self._needed(feeds, fetches)
        self.choices = self.flow.choices(self.needed)
        self._fetched = frozenset(tensor.name for tensor in fetches)

    def is_used(self, tensor: Any) -> bool:
        """True if a tensor is an output or an operation takes it."""
        return tensor.name in self._fetched or any(user.name in self.needed for user in tensor.consumers())

    def _needed(self, feeds: Mapping[str, Any], fetches: Sequence[Any]) -> frozenset[str]:
        """Operations that the outputs depend on."""
        waiting = [tensor.op for tensor in fetches if tensor.name not in feeds]
        found = {operation.name for operation in waiting}
        while waiting:
            operation = waiting.pop()
            effects = [other for other in operation.control_inputs if other.name in self.acting]
            parents = [*(tensor.op for tensor in operation.inputs if tensor.name not in feeds), *effects]
            fresh = [other for other in parents if other.name not in found]
            found.update(other.name for other in fresh)
            waiting += fresh
        return frozenset(found)

    def _acting(self) -> frozenset[str]:
        """Operations that do more than make their outputs, and all that come after them by data or control."""
        waiting = [operation for operation in self.graph.get_operations() if self.library.acts(self.graph, operation)]
        waiting = [operation for operation in waiting if not operation.type.startswith(ARRAYS)]
        found = {operation.name for operation in waiting}
        while waiting:
            operation = waiting.pop()
            after = [
                *(user for tensor in operation.outputs for user in tensor.consumers()),
                *operation._control_outputs,
            ]
            fresh = [user for user in after if user.name not in found]
            found.update(user.name for user in fresh)
            waiting += fresh
        return frozenset(found)

    def provide_functions(self, target: Any) -> None:
        """Give the graph that is being traced the functions of this one."""
        if any(target is known for known in self._provided):
            return
        self._provided.append(target)
        if self._definition is None:
            whole = self.graph.as_graph_def()
            self._definition = tf.compat.v1.GraphDef(library=whole.library, versions=whole.versions)
        tf.graph_util.import_graph_def(self._definition, name="")

    def is_old(self, function: str) -> bool:
        """True if a function, or one that it calls, has control flow of TensorFlow 1."""
        return uses_tf1_flow(self.library.body(self.graph, function), self.library)


class _Region:
    """Values of one loop's body, one branch, or the whole graph, by the names of the source's tensors."""

    def __init__(
        self,
        replayed: _Replay,
        values: Mapping[str, Any],
        outer: _Region | None = None,
        taken: Mapping[str, int] | None = None,
    ) -> None:
        self._replay, self._flow = replayed, replayed.flow
        self._values = dict(values)
        self._outer = outer
        """the region around a branch: what has a value there has it here"""
        self._taken: dict[str, int] = {**(outer._taken if outer is not None else {}), **(taken or {})}
        self._done: set[str] = set()

    def values_of(self, tensors: Sequence[Any]) -> list[Any]:
        """The values of tensors; operations that they depend on are copied."""
        for operation in in_order([tensor.op for tensor in tensors], self._before):
            if not self._is_done(operation):
                self._done.add(operation.name)
                self._run(operation)
        return [self._value(tensor) for tensor in tensors]

    def _find(self, name: str) -> Any:
        if name in self._values:
            return self._values[name]
        return self._outer._find(name) if self._outer is not None else None

    def _value(self, tensor: Any) -> Any:
        found = self._find(tensor.name)
        assert found is not None, f"{tensor.name} is computed in a branch that is not taken"
        return found

    def _is_done(self, operation: Any) -> bool:
        given = bool(operation.outputs) and all(self._find(tensor.name) is not None for tensor in operation.outputs)
        return given or operation.name in self._done or (self._outer is not None and self._outer._is_done(operation))

    def _before(self, operation: Any) -> list[Any]:
        """Operations that must have run in this region before one can."""
        if self._is_done(operation):
            return []
        kind = base_type(operation)
        if kind == "Exit":
            needed = [enter.inputs[0] for enter in self._entered(operation)]
        elif kind == "Merge":
            group = self._replay.choices.get(operation.name, [operation])
            needed = [tensor for merge in group for tensor in self._around(merge)]
        elif self._flow.is_branch_switch(operation) or self._flow.is_loop_switch(operation):
            needed = [operation.inputs[0]]
        else:
            needed = list(operation.inputs)
        effects = [other for other in operation.control_inputs if other.name in self._replay.acting]
        return [*(tensor.op for tensor in needed if self._find(tensor.name) is None), *effects]

    def _run(self, operation: Any) -> None:
        kind = base_type(operation)
        if kind == "Exit":
            self._run_loop(self._flow.frame(operation), self._entered(operation))
        elif kind == "Merge":
            self._run_merge(operation)
        elif self._flow.is_branch_switch(operation):
            branch = self._taken.get(self._flow.predicate(operation))
            if branch is not None:
                self._values[operation.outputs[branch].name] = self._value(operation.inputs[0])
        elif self._flow.is_loop_switch(operation):
            # The body sees the value of this iteration; what leaves the loop that of the last.
            self._values.update({tensor.name: self._value(operation.inputs[0]) for tensor in operation.outputs})
        else:
            made = self._copied(operation, [self._value(tensor) for tensor in operation.inputs])
            self._values.update({tensor.name: value for tensor, value in zip(operation.outputs, made, strict=True)})

    # Branches

    def _around(self, merge: Any) -> list[Any]:
        """What a Merge needs from the region around its branches."""
        branch = self._flow.branch(merge)
        if branch is None:
            return [self._flow.only_input(merge)]
        found = {branch.predicate.name: branch.predicate}
        waiting, seen = list(branch.inputs.values()), set()
        while waiting:
            tensor = waiting.pop()
            operation = tensor.op
            if tensor.name in seen or self._find(tensor.name) is not None:
                continue
            seen.add(tensor.name)
            condition = self._flow.condition(tensor) or {}
            if self._flow.is_branch_switch(operation) and self._flow.predicate(operation) == branch.predicate.name:
                found[operation.inputs[0].name] = operation.inputs[0]
            elif branch.predicate.name not in condition:
                found[tensor.name] = tensor
            elif base_type(operation) == "Exit":
                waiting += [enter.inputs[0] for enter in self._entered(operation)]
            else:
                waiting += operation.inputs
        return list(found.values())

    def _run_merge(self, merge: Any) -> None:
        branch = self._flow.branch(merge)
        if branch is None:
            only = self._flow.only_input(merge)
            self._keep(merge, [self._value(only), tf.constant(_position(merge, only))])
            return
        merges = self._replay.choices[merge.name]
        indexed = [other for other in merges if self._replay.is_used(other.outputs[1])]
        chosen = {other.name: self._flow.branch(other) for other in merges}

        def taking(number: int) -> Callable[[], list[Any]]:
            def run() -> list[Any]:
                inner = _Region(self._replay, {}, self, {branch.predicate.name: number})
                inputs = {name: other.inputs[number] for name, other in chosen.items() if other is not None}
                positions = [tf.constant(_position(other, inputs[other.name])) for other in indexed]
                return [*inner.values_of(list(inputs.values())), *positions]

            return run

        made = self._chosen(merge, branch.predicate, sorted(branch.inputs), taking)
        for other, value in zip(merges, made[: len(merges)], strict=True):
            self._keep(other, [value])
        for other, value in zip(indexed, made[len(merges) :], strict=True):
            self._values[other.outputs[1].name] = value

    def _chosen(
        self, merge: Any, predicate: Any, numbers: Sequence[int], taking: Callable[[int], Callable[[], list[Any]]]
    ) -> list[Any]:
        value = self._value(predicate)
        if predicate.dtype.base_dtype == tf.bool:
            return list(tf.cond(value, taking(1), taking(0), name=_scope(merge.name, "cond")))
        return list(tf.switch_case(value, [taking(number) for number in numbers]))

    def _keep(self, merge: Any, values: Sequence[Any]) -> None:
        self._done.add(merge.name)
        self._values.update({tensor.name: value for tensor, value in zip(merge.outputs, values, strict=False)})

    # Loops

    def _entered(self, leaving: Any) -> list[Any]:
        """The Enter operations of a loop that are needed."""
        return [enter for enter in self._flow.frame(leaving).enters if enter.name in self._replay.needed]

    def _run_loop(self, frame: Frame, enters: Sequence[Any]) -> None:
        entered = {enter.outputs[0].name: self._value(enter.inputs[0]) for enter in enters}
        merges = [merge for merge in frame.merges if merge.name in self._replay.needed]
        exits = [leaving for leaving in frame.exits if leaving.name in self._replay.needed]
        initial = [entered[_first(merge).name] for merge in merges]

        def inside(variables: Sequence[Any]) -> _Region:
            current = {merge.outputs[0].name: value for merge, value in zip(merges, variables, strict=True)}
            return _Region(self._replay, {**entered, **current})

        def goes_on(*variables: Any) -> Any:
            return inside(variables).values_of([frame.condition.inputs[0]])[0]

        def step(*variables: Any) -> list[Any]:
            return inside(variables).values_of([_next(merge) for merge in merges])

        final = list(initial)
        if frame.condition is not None:
            shapes = _lasting_shapes(step, initial)
            final = list(tf.while_loop(goes_on, step, initial, shapes, name=_scope(frame.name, "while")))
        after = inside(final)
        # What leaves the loop is what the last test of the condition saw.
        values = after.values_of([leaving.inputs[0] for leaving in exits])
        for leaving, value in zip(exits, values, strict=True):
            self._done.add(leaving.name)
            self._values[leaving.outputs[0].name] = value

    # Other operations

    def _copied(self, operation: Any, inputs: list[Any]) -> list[Any]:
        kind = base_type(operation)
        if operation.type.startswith(ARRAYS):
            return run_array_operation(operation, inputs)
        if kind in _HANDED_ON and (kind != "Identity" or _is_array(operation, inputs)):
            return inputs[:1]
        functions = called_functions(operation)
        if operation.type.removeprefix("Stateless") in _BY_FUNCTIONS and any(map(self._replay.is_old, functions)):
            return self._run_functions(operation, inputs)
        if kind in ("Variable", "VariableV2"):
            raise ConversionError(
                "is a variable that stands in a function; its value can't be read",
                where=_place(operation),
                remedy=_AGAIN,
            )
        graph = tf.compat.v1.get_default_graph()
        if functions:
            self._replay.provide_functions(graph)
        attributes = {name: value for name, value in operation.node_def.attr.items() if not name.startswith("_")}
        dtypes = [tensor.dtype.base_dtype for tensor in operation.outputs]
        with graph.name_scope(None):
            made = graph.create_op(kind, inputs, dtypes, name=operation.name, attrs=attributes, compute_device=False)
        return list(made.outputs)

    def _run_functions(self, operation: Any, inputs: list[Any]) -> list[Any]:
        """A call, branch or loop of functions that have control flow of TensorFlow 1."""

        def run(name: str, given: Sequence[Any]) -> list[Any]:
            body = self._replay.library.body(self._replay.graph, name)
            feeds = {tensor.name: value for tensor, value in zip(body.inputs, given, strict=True)}
            return replay(body, feeds, body.outputs)

        kind = operation.type.removeprefix("Stateless")
        if kind in _CALLS:
            return run(operation.get_attr("f").name, inputs)
        if kind == "If":
            names = [operation.get_attr(name).name for name in ("then_branch", "else_branch")]
            return list(tf.cond(inputs[0], lambda: run(names[0], inputs[1:]), lambda: run(names[1], inputs[1:])))
        if kind == "Case":
            cases = [function.name for function in operation.get_attr("branches")]
            return list(tf.switch_case(inputs[0], [lambda n=name: run(n, inputs[1:]) for name in cases]))
        cond, body = operation.get_attr("cond").name, operation.get_attr("body").name

        def step(*variables: Any) -> list[Any]:
            return run(body, variables)

        shapes = _lasting_shapes(step, inputs)
        return list(tf.while_loop(lambda *variables: run(cond, variables)[0], step, inputs, shapes))


def _lasting_shapes(step: Callable[..., list[Any]], initial: Sequence[Any]) -> list[Any]:
    """Shapes of loop variables that hold in all iterations: what an iteration changes is not known."""
    trace = importlib.import_module("tensorflow.python.framework.func_graph").func_graph_from_py_func
    hold = importlib.import_module("tensorflow.python.ops.handle_data_util").copy_handle_data
    shapes = [value.shape for value in initial]

    def described(*variables: Any) -> list[Any]:
        for value, variable in zip(initial, variables, strict=True):
            hold(value, variable)
        return step(*variables)

    while True:
        specs = [tf.TensorSpec(shape, value.dtype) for shape, value in zip(shapes, initial, strict=True)]
        made = trace("shapes", described, specs, {}).outputs
        wider = [shape.most_specific_compatible_shape(end.shape) for shape, end in zip(shapes, made, strict=True)]
        if [str(shape) for shape in wider] == [str(shape) for shape in shapes]:
            return wider
        shapes = wider


def _first(merge: Any) -> Any:
    """The tensor that a loop variable enters with."""
    return next(tensor for tensor in merge.inputs if base_type(tensor.op) == "Enter")


def _next(merge: Any) -> Any:
    """The tensor that an iteration hands to the next."""
    return next(tensor for tensor in merge.inputs if base_type(tensor.op) == "NextIteration").op.inputs[0]


def _is_array(operation: Any, inputs: Sequence[Any]) -> bool:
    return isinstance(inputs[0], Array) or inputs[0].dtype != operation.inputs[0].dtype.base_dtype


def _scope(name: str, otherwise: str) -> str:
    """The name scope of an operation or a frame, where TensorFlow takes it as one."""
    scope = name.rpartition("/")[0]
    return scope if re.fullmatch(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*", scope) else otherwise


def _position(merge: Any, tensor: Any) -> int:
    return [other.name for other in merge.inputs].index(tensor.name)


def _place(operation: Any) -> str:
    return f"{operation.name} ({operation.type})"
