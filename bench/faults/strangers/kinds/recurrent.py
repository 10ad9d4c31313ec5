"""LSTM, GRU and RNN: gates, directions, activations, clipping; and trees, whose lists belong together."""

from __future__ import annotations

import numpy as np

from bench.faults.strangers.kind import Change, Collector, name_words
from bench.faults.strangers.site import Site

__all__ = ["KINDS"]

_collect = Collector()
_GATES = {"LSTM": 4, "GRU": 3}
_CELLS = frozenset({"LSTM", "GRU", "RNN"})
_GATE_WORDS = (r"\bgate", r"\bweight", r"\border\b", r"\bkernel", r"\boperand", r"'[WRB]'")


def _by_gate(array: np.ndarray, gates: int, axis: int) -> list[np.ndarray]:
    return list(np.split(array, gates, axis))


@_collect("gate_order", _GATES)
def reorder_gates(site: Site) -> Change | None:
    """Exchange two gates in all weights: another framework's order."""
    gates = _GATES[site.op]
    i, j = (int(n) for n in site.rng.choice(gates, 2, replace=False))
    order = list(range(gates))
    order[i], order[j] = order[j], order[i]
    for slot in (1, 2):
        array = site.constant(slot)
        if array is None:
            return None
        site.set_constant(slot, np.concatenate([_by_gate(array, gates, 1)[n] for n in order], 1))
    bias = site.constant(3)
    if bias is not None:
        parts = _by_gate(bias, 2 * gates, 1)
        site.set_constant(3, np.concatenate([parts[n + half] for half in (0, gates) for n in order], 1))
    return Change(f"gates {i} and {j} are exchanged", _GATE_WORDS)


@_collect("recurrent_weight_transposed", _CELLS)
def transpose_recurrence(site: Site) -> Change | None:
    array, gates = site.constant(2), _GATES.get(site.op, 1)
    if array is None or array.shape[2] < 2:
        return None
    site.set_constant(2, np.concatenate([gate.swapaxes(1, 2) for gate in _by_gate(array, gates, 1)], 1))
    return Change(
        "the recurrent weight of each gate is transposed",
        (r"\btranspos", r"\bweight", r"\brecurr", r"\boperand", r"'R'"),
    )


@_collect("recurrent_bias_dropped", _CELLS)
def drop_recurrent_bias(site: Site) -> Change | None:
    """Drop the half of the bias that belongs to the recurrence."""
    bias = site.constant(3)
    if bias is None:
        return None
    new = np.array(bias)
    new[:, bias.shape[1] // 2 :] = 0
    site.set_constant(3, new)
    return Change("the recurrent bias is zero", (r"\bbias", r"'B'", r"\boperand"))


@_collect("directions_exchanged", _CELLS)
def exchange_directions(site: Site) -> Change | None:
    if site.attribute("direction") != b"bidirectional":
        return None
    for slot in range(1, 4):
        array = site.constant(slot)
        if array is not None:
            site.set_constant(slot, array[::-1])
    return Change("weights of both directions are exchanged", (r"\bdirection", r"\bweight", r"\boperand", r"\bkernel"))


_DEFAULT = {"LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh"), "RNN": ("Tanh",)}


@_collect("recurrent_activation_changed", _CELLS)
def change_activation(site: Site) -> Change | None:
    directions = 2 if site.attribute("direction") == b"bidirectional" else 1
    given = site.attribute("activations") if any(a.name == "activations" for a in site.node.attribute) else None
    names = [n.decode() for n in given] if given else [*_DEFAULT[site.op]] * directions
    at = int(site.rng.integers(len(names)))
    new = site.pick([name for name in ("Sigmoid", "Tanh", "Relu", "HardSigmoid", "Softsign") if name != names[at]])
    old, names[at] = names[at], new
    site.set_attribute("activations", names)
    return Change(f"activation {at}: {old} becomes {new}", (*name_words("activations", new), r"\bactivation"))


@_collect("recurrent_clip_changed", _CELLS)
def change_clip(site: Site) -> Change | None:
    """Clip the input of activations, or do not."""
    if not site.drop_attribute("clip"):
        site.set_attribute("clip", 0.5)
    return Change("clip is added or dropped", (r"\bclip", r"\bclamp"))


@_collect("hidden_and_cell_exchanged", {"LSTM"})
def exchange_states(site: Site) -> Change | None:
    """Hand out the cell state as the hidden state."""
    if len(site.node.output) < 3 or not site.node.output[1]:
        return None
    outputs = list(site.node.output)
    if outputs[2]:
        outputs[1], outputs[2] = outputs[2], outputs[1]
    else:
        outputs[1], outputs[2] = "", outputs[1]
    del site.node.output[:]
    site.node.output.extend(outputs)
    return Change("Y_h and Y_c are exchanged", (*name_words("Y_h", "Y_c"), r"\bcell", r"\bhidden", r"\bstate"))


_TREES = frozenset({"TreeEnsembleRegressor", "TreeEnsembleClassifier"})


@_collect("tree_comparison_strict", _TREES)
def change_comparison(site: Site) -> Change | None:
    modes = [mode.decode() for mode in site.attribute("nodes_modes")]
    new = ["BRANCH_LT" if mode == "BRANCH_LEQ" else "BRANCH_LEQ" if mode == "BRANCH_LT" else mode for mode in modes]
    site.set_attribute("nodes_modes", new)
    return Change(
        "<= becomes <", (*name_words("nodes_modes"), r"BRANCH_", r"\bstrict", r"\bcomparison", r"\bthreshold")
    )


@_collect("tree_children_swapped", _TREES)
def swap_children(site: Site) -> Change | None:
    yes, no = list(site.attribute("nodes_truenodeids")), list(site.attribute("nodes_falsenodeids"))
    inner = [n for n, mode in enumerate(site.attribute("nodes_modes")) if mode != b"LEAF"]
    at = site.pick(inner)
    if at is None:
        return None
    yes[at], no[at] = no[at], yes[at]
    site.set_attribute("nodes_truenodeids", yes)
    site.set_attribute("nodes_falsenodeids", no)
    return Change("both children of a node are swapped", (r"nodeids", r"\bbranch", r"\bchild"))


@_collect("tree_threshold_changed", _TREES)
def change_split(site: Site) -> Change | None:
    values = list(site.attribute("nodes_values"))
    inner = [n for n, mode in enumerate(site.attribute("nodes_modes")) if mode != b"LEAF"]
    values[site.pick(inner)] += 0.4
    site.set_attribute("nodes_values", values)
    return Change("the threshold of a node differs", (*name_words("nodes_values"), r"\bthreshold"))


@_collect("tree_leaf_changed", _TREES)
def change_leaf(site: Site) -> Change | None:
    name = "target_weights" if site.op.endswith("Regressor") else "class_weights"
    weights = list(site.attribute(name))
    at = int(site.rng.integers(len(weights)))
    weights[at] = weights[at] * 1.5 + 0.1
    site.set_attribute(name, weights)
    return Change("the weight of a leaf differs", (*name_words(name), r"\bleaf", r"\bweight"))


KINDS = _collect.kinds
