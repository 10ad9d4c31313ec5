"""Control flow: trip counts, branches, states; and what differs between steps."""

from __future__ import annotations

import copy

import numpy as np
import onnx
from onnx import helper

from bench.faults.strangers.kind import Change, Collector, name_words
from bench.faults.strangers.site import Site, subgraphs

__all__ = ["KINDS"]

_collect = Collector()


@_collect("trip_count_changed", {"Loop"})
def change_trips(site: Site) -> Change | None:
    count = site.constant(0)
    if count is None:
        return None
    by = int(site.pick([-1, 1]))
    site.set_constant(0, (count + by).astype(np.int64).reshape(count.shape))
    return Change(
        f"the loop runs {by:+d} times", (r"\btrip", r"\biteration", r"\bsteps?\b", r"'M'", r"\boff by one", r"\bcount")
    )


@_collect("branches_swapped", {"If"})
def swap_branches(site: Site) -> Change | None:
    branches = {item.name: item for item in site.node.attribute}
    then, other = branches["then_branch"], branches["else_branch"]
    first, second = copy.deepcopy(then.g), copy.deepcopy(other.g)
    then.g.CopyFrom(second)
    other.g.CopyFrom(first)
    return Change("then and else are swapped", (r"\bbranch", r"\bthen\b", r"\belse\b", r"\bcondition", r"\bcond\b"))


@_collect("branch_always_taken", {"If"})
def take_one_branch(site: Site) -> Change | None:
    """Record one branch only, as tracing does."""
    site.set_constant(0, np.asarray(bool(site.rng.integers(2))))
    return Change("one branch is always taken", (r"\bbranch", r"\bthen\b", r"\belse\b", r"\bcondition", r"\bcond\b"))


def _body(site: Site) -> tuple[onnx.GraphProto, int, int]:
    """Return the body, the number of states and how many inputs and outputs come before them (iteration, condition)."""
    body = next(subgraphs(site.node))
    if site.op == "Loop":
        return body, len(body.input) - 2, 2
    return body, len(body.input) - int(site.attribute("num_scan_inputs")), 0


@_collect("state_not_updated", {"Loop", "Scan"})
def freeze_state(site: Site) -> Change | None:
    """Hand on a state as it came in."""
    body, states, skip = _body(site)
    if not states:
        return None
    at = int(site.rng.integers(states))
    before, after = body.input[at + skip].name, body.output[at + max(0, skip - 1)].name
    for node in body.node:
        for slot, name in enumerate(node.output):
            if name == after:
                node.output[slot] = f"{name}_unused"
        for slot, name in enumerate(node.input):
            if name == after:
                node.input[slot] = f"{name}_unused"
    body.node.append(helper.make_node("Identity", [before], [after]))
    return Change("a state is not updated", (r"\bstate", r"\bcarried", r"\bupdat", r"\binitial", r"loop.carried"))


@_collect("state_reset_each_step", {"Loop"})
def reset_state(site: Site) -> Change | None:
    """Start every step from the initial value."""
    body, states, skip = _body(site)
    at = int(site.rng.integers(states)) if states else 0
    if not states or not site.node.input[at + skip]:
        return None
    inside, outside = body.input[at + skip].name, site.node.input[at + skip]
    for node in body.node:
        for slot, name in enumerate(node.input):
            if name == inside:
                node.input[slot] = outside
    return Change("a state is reset in each step", (r"\bstate", r"\bcarried", r"\breset", r"\binitial"))


@_collect("initial_state_zero", {"Loop", "Scan"})
def zero_initial(site: Site) -> Change | None:
    _, states, skip = _body(site)
    known = [slot for slot in range(skip, skip + states) if (t := site.input(slot)) is not None and t.shape is not None]
    slot = site.pick(known)
    if slot is None:
        return None
    zero = site.insert("Sub", [site.node.input[slot]] * 2)
    site.node.input[slot] = zero
    return Change("an initial state is zero", (r"\bstate", r"\binitial", r"\bzero", r"\boperand"))


@_collect("loop_condition_ignored", {"Loop"})
def ignore_condition(site: Site) -> Change | None:
    """Run all iterations, or one only."""
    body, _, _ = _body(site)
    always = bool(site.rng.integers(2))
    name = f"{body.output[0].name}_fixed"
    body.node.append(
        helper.make_node("Constant", [], [name], value=helper.make_tensor("", onnx.TensorProto.BOOL, [], [always]))
    )
    body.output[0].name = name
    return Change(f"the condition is always {always}", (r"\bcond", r"\btrip", r"\biteration", r"\bsteps?\b"))


@_collect("scan_reversed", {"Scan"})
def reverse_scan(site: Site) -> Change | None:
    side, count = "input", int(site.attribute("num_scan_inputs"))
    if site.rng.random() < 0.5:
        side, count = "output", len(site.node.output) - _body(site)[1]
    if not count:
        return None
    name = f"scan_{side}_directions"
    flags = list(site.attribute(name) or [0] * count)
    flags[int(site.rng.integers(count))] ^= 1
    site.set_attribute(name, flags)
    return Change(f"{name} becomes {flags}", (*name_words(name), r"\bdirection", r"\brevers"))


@_collect("loop_output_reversed", {"Loop"})
def reverse_trace(site: Site) -> Change | None:
    """Stack the values of the steps in reverse order."""
    _, states, _ = _body(site)
    slots = [n for n in range(states, len(site.node.output)) if site.node.output[n]]
    slot = site.pick(slots)
    if slot is None:
        return None
    arrays = [np.asarray(value, np.int64).reshape(1) for value in (-1, np.iinfo(np.int64).min, 0, -1)]
    site.after("Slice", *(site.add_constant(array) for array in arrays), slot=slot)
    return Change("stacked values are in reverse order", (r"\brevers", r"\border\b", r"\bdirection", r"\bscan"))


KINDS = _collect.kinds
