"""Control flow of TensorFlow 1 in a graph: frames of loops, and the branches on which an operation runs.

A loop is a frame: Enter, Merge, LoopCond, Switch, NextIteration, Exit. A branch is a Switch; Merge takes the value of
the branch that ran. The condition of an operation is the conjunction of all Switch outputs that it depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from trueport.errors import ConversionError
from trueport.runtimes.tensorflow_functions import FunctionLibrary, called_functions

__all__ = ["ARRAYS", "Branch", "Condition", "Flow", "Frame", "base_type", "in_order", "uses_tf1_flow"]

ARRAYS = "TensorArray"
_FLOW = frozenset(("Switch", "_SwitchN", "Merge", "Enter", "Exit", "NextIteration", "LoopCond"))
_SWITCHES = frozenset(("Switch", "_SwitchN"))

Condition = Mapping[str, int] | None
"""The branch taken by the name of each predicate's tensor; None for an operation that never runs."""


def base_type(operation: Any) -> str:
    """The type of an operation; of one on references that of its counterpart on values."""
    kind = str(operation.type)
    return kind.removeprefix("Ref") if kind.startswith("Ref") else kind


def uses_tf1_flow(graph: Any, library: FunctionLibrary) -> bool:
    """True if a graph, or a function that it calls, has loops, branches or arrays of TensorFlow 1."""
    waiting, seen = [graph], set()
    while waiting:
        current = waiting.pop()
        for operation in current.get_operations():
            if base_type(operation) in _FLOW or operation.type.startswith(ARRAYS):
                return True
            fresh = [name for name in called_functions(operation) if name not in seen]
            seen.update(fresh)
            waiting += [library.body(current, name) for name in fresh]
    return False


@dataclass
class Frame:
    """One loop."""

    name: str
    parent: Frame | None
    enters: list[Any] = field(default_factory=list)
    merges: list[Any] = field(default_factory=list)
    """the loop variables: Merge operations of an Enter and a NextIteration"""
    exits: list[Any] = field(default_factory=list)
    condition: Any = None
    """the LoopCond operation"""


@dataclass(frozen=True)
class Branch:
    """How a Merge chooses: the predicate's tensor, and the input by the branch taken."""

    predicate: Any
    inputs: Mapping[int, Any]


class Flow:
    """What is known of a graph's control flow before it is rebuilt."""

    def __init__(self, graph: Any) -> None:
        self._operations = graph.get_operations()
        self._frames: dict[str, Frame | None] = {}
        self._conditions: dict[str, Condition] = {}
        self._predicates: dict[str, Any] = {}
        self._branches: dict[str, int] = {}
        self._find_frames()
        self._order = in_order(self._operations, self._before)
        for operation in self._order:
            self._conditions[operation.name] = self._condition(operation)

    def frame(self, operation: Any) -> Frame:
        """The loop that an Enter begins, or that any other operation stands in."""
        found = self._frames[operation.name]
        assert found is not None, "asked of operations of loops only"
        return found

    def is_loop_variable(self, operation: Any) -> bool:
        """True for the Merge of a value before the loop and one of the iteration before."""
        return base_type(operation) == "Merge" and any(_comes_back(tensor) for tensor in operation.inputs)

    def is_loop_switch(self, operation: Any) -> bool:
        """True for a Switch between the next iteration and the end of a loop."""
        return base_type(operation) in _SWITCHES and plain(operation.inputs[1]).op.type == "LoopCond"

    def is_branch_switch(self, operation: Any) -> bool:
        """True for a Switch between branches."""
        return base_type(operation) in _SWITCHES and not self.is_loop_switch(operation)

    def predicate(self, switch: Any) -> str:
        """The name of the tensor by which a Switch chooses."""
        return str(plain(switch.inputs[1]).name)

    def condition(self, tensor: Any) -> Condition:
        """The branches on which a tensor has a value."""
        known = self._conditions[tensor.op.name]
        if known is None or not self.is_branch_switch(tensor.op):
            return known
        return _both(known, {self.predicate(tensor.op): tensor.value_index})

    def branch(self, merge: Any) -> Branch | None:
        """How a Merge that is not a loop variable chooses; None where only one of its inputs ever has a value."""
        alive = self._alive(merge)
        if len(alive) < 2:
            return None
        name = self._chosen_by(merge, [condition for _, condition in alive])
        return Branch(self._predicates[name], {condition[name]: tensor for tensor, condition in alive})

    def only_input(self, merge: Any) -> Any:
        """The one input of a Merge that may have a value."""
        (alive,) = self._alive(merge)
        return alive[0]

    def choices(self, needed: Collection[str]) -> dict[str, list[Any]]:
        """Merge operations that one If makes, by the name of each: none of them depends on another."""
        depths: dict[str, dict[Any, int]] = {}
        groups: dict[Any, list[Any]] = {}
        for operation in (operation for operation in self._order if operation.name in needed):
            deepest: dict[Any, int] = {}
            for parent in self._before(operation):
                for key, depth in depths.get(parent.name, {}).items():
                    deepest[key] = max(depth, deepest.get(key, 0))
            depths[operation.name] = deepest
            is_choice = base_type(operation) == "Merge" and not self.is_loop_variable(operation)
            branch = self.branch(operation) if is_choice else None
            if branch is not None:
                around = frozenset((self.condition(operation.outputs[0]) or {}).items())
                key = branch.predicate.name, around, tuple(sorted(branch.inputs)), id(self._frames[operation.name])
                deepest[key] = deepest.get(key, 0) + 1
                groups.setdefault((key, deepest[key]), []).append(operation)
        return {merge.name: group for group in groups.values() for merge in group}

    def _alive(self, merge: Any) -> list[tuple[Any, Mapping[str, int]]]:
        known = [(tensor, self.condition(tensor)) for tensor in merge.inputs]
        return [(tensor, condition) for tensor, condition in known if condition is not None]

    def _find_frames(self) -> None:
        made: dict[tuple[int, str], Frame] = {}
        waiting = [operation for operation in self._operations if not _parents(operation)]
        self._frames.update({operation.name: None for operation in waiting})
        while waiting:
            operation = waiting.pop()
            after = self._frame_after(operation)
            for user in _users(operation):
                if user.name in self._frames:
                    continue
                inside = after
                if base_type(user) == "Enter":
                    key = id(after), user.get_attr("frame_name").decode("utf-8", "replace")
                    inside = made.setdefault(key, Frame(key[1], after))
                    inside.enters.append(user)
                self._frames[user.name] = inside
                waiting.append(user)
        for operation in self._operations:
            frame = self._frames.setdefault(operation.name, None)
            if frame is not None and operation.type == "LoopCond":
                frame.condition = operation
            elif frame is not None and base_type(operation) == "Exit":
                frame.exits.append(operation)
            elif frame is not None and self.is_loop_variable(operation):
                frame.merges.append(operation)

    def _frame_after(self, operation: Any) -> Frame | None:
        frame = self._frames[operation.name]
        return frame.parent if frame is not None and base_type(operation) == "Exit" else frame

    def _before(self, operation: Any) -> list[Any]:
        """Operations whose condition is needed first: what comes back from an iteration is not."""
        if base_type(operation) == "Exit":
            return [*_parents(operation), *self._frame_enters(operation)]
        return [parent for parent in _parents(operation) if base_type(parent) != "NextIteration"]

    def _frame_enters(self, operation: Any) -> list[Any]:
        frame = self._frames[operation.name]
        return [] if frame is None else frame.enters

    def _condition(self, operation: Any) -> Condition:
        kind = base_type(operation)
        if kind == "Exit":
            return _all(self._outer_condition(enter) for enter in self._frame_enters(operation))
        if kind == "Enter" or self.is_loop_variable(operation):
            return {}
        if self.is_branch_switch(operation):
            predicate = plain(operation.inputs[1])
            self._predicates[predicate.name] = predicate
            self._branches[predicate.name] = len(operation.outputs)
        if kind == "Merge":
            return self._merged_condition(operation)
        return self._outer_condition(operation)

    def _outer_condition(self, operation: Any) -> Condition:
        """The condition of what an operation takes."""
        inputs = (self.condition(tensor) for tensor in operation.inputs if not _comes_back(tensor))
        return _all([*inputs, *(self._conditions.get(parent.name, {}) for parent in operation.control_inputs)])

    def _merged_condition(self, merge: Any) -> Condition:
        conditions = [condition for _, condition in self._alive(merge)]
        if len(conditions) < 2:
            return conditions[0] if conditions else None
        try:
            name = self._chosen_by(merge, conditions)
        except ConversionError:
            return {}  # raised again if the Merge is needed
        return {key: value for key, value in conditions[0].items() if key != name}

    def _chosen_by(self, merge: Any, conditions: list[Mapping[str, int]]) -> str:
        """The predicate by which the inputs of a Merge differ, and nothing else."""
        names = [name for name in conditions[0] if all(name in condition for condition in conditions)]
        for name in names:
            if sorted(condition[name] for condition in conditions) != list(range(self._branches[name])):
                continue
            rest = [{key: value for key, value in condition.items() if key != name} for condition in conditions]
            if all(other == rest[0] for other in rest):
                return name
        raise ConversionError(
            "cannot make it an If, because the values that it merges do not depend on one common condition",
            where=_place(merge),
            remedy=_REMEDY,
        )


_REMEDY = "trace or save the model again with TensorFlow 2, whose branches and loops are functions"


def plain(tensor: Any) -> Any:
    """The tensor behind Identity operations."""
    while tensor.op.type in ("Identity", "RefIdentity"):
        tensor = tensor.op.inputs[0]
    return tensor


def in_order(operations: Iterable[Any], before: Callable[[Any], Iterable[Any]]) -> list[Any]:
    """Operations and all that comes before them, each after what ``before`` names."""
    found: dict[str, Any] = {}
    entered: set[str] = set()
    for first in operations:
        stack = [first]
        while stack:
            operation = stack[-1]
            if operation.name in found:
                stack.pop()
            elif operation.name in entered:
                found[operation.name] = stack.pop()
            else:
                entered.add(operation.name)
                stack += [other for other in before(operation) if other.name not in entered]
    return list(found.values())


def _comes_back(tensor: Any) -> bool:
    return base_type(tensor.op) == "NextIteration"


def _parents(operation: Any) -> list[Any]:
    return [*(tensor.op for tensor in operation.inputs), *operation.control_inputs]


def _users(operation: Any) -> list[Any]:
    return [*(user for tensor in operation.outputs for user in tensor.consumers()), *operation._control_outputs]


def _both(one: Mapping[str, int], other: Mapping[str, int]) -> Condition:
    if any(one.get(name, branch) != branch for name, branch in other.items()):
        return None
    return {**one, **other}


def _all(conditions: Iterable[Condition]) -> Condition:
    found: Condition = {}
    for condition in conditions:
        found = None if found is None or condition is None else _both(found, condition)
    return found


def _place(operation: Any) -> str:
    return f"{operation.name} ({operation.type})"
