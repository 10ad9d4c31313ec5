"""Tree ensembles of both encodings as plain lists of nodes: where rows end, and rows that end in a given leaf."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.verifying.coverage.count import beside, margin

__all__ = ["Trees", "read_trees"]

_MOST_NODES = 4096
_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
_TESTS: Mapping[str, Callable[[Any, float], Any]] = {
    "BRANCH_LEQ": np.less_equal,
    "BRANCH_LT": np.less,
    "BRANCH_GTE": np.greater_equal,
    "BRANCH_GT": np.greater,
    "BRANCH_EQ": np.equal,
    "BRANCH_NEQ": np.not_equal,
}
Interval = tuple[float, float]


@dataclass(frozen=True)
class _Split:
    """An inner node; a child is the number of a split, or ``~leaf``."""

    feature: int
    mode: str
    point: float
    true: int
    false: int


@dataclass(frozen=True)
class Trees:
    """Splits and leaves of all trees; parts are the leaves, then two for each split: just below, above."""

    splits: tuple[_Split, ...]
    roots: tuple[int, ...]
    leaves: int

    def reached(self, x: np.ndarray) -> np.ndarray:
        """Return which parts the rows reach."""
        hit = np.zeros(self.leaves + 2 * len(self.splits), bool)
        waiting = [(root, np.arange(len(x))) for root in self.roots]
        while waiting:
            place, rows = waiting.pop()
            if not len(rows):
                continue
            if place < 0:
                hit[~place] = True
                continue
            split = self.splits[place]
            values = x[rows, split.feature]
            near = np.abs(values - split.point) <= margin(split.point, np.dtype("float64"))
            hit[self.leaves + 2 * place] |= bool(np.any(near & (values < split.point)))
            hit[self.leaves + 2 * place + 1] |= bool(np.any(near & (values > split.point)))
            taken = _TESTS[split.mode](values, split.point)
            waiting += [(split.true, rows[taken]), (split.false, rows[~taken])]
        return hit

    def rows(self, parts: Sequence[int], around: np.ndarray, *, exact: bool) -> np.ndarray:
        """Return a row for each part; features that do not matter to it are as in ``around``."""
        wanted = set(parts)
        made: list[np.ndarray] = []
        for part, intervals, split, side in self._paths():
            if part not in wanted or any(low > high for low, high in intervals.values()):
                continue
            row = around[len(made) % len(around)].copy()
            for feature, interval in intervals.items():
                row[feature] = _inside(interval, row[feature])
            if split is not None:
                row[split.feature] = beside(split.point, side, np.dtype("float64"), exact=exact)[0]
                at = row.copy()
                at[split.feature] = split.point
                made += [at] if exact and side < 0 else []
            made.append(row)
        return np.array(made) if made else around[:0]

    def _paths(self) -> Iterator[tuple[int, dict[int, Interval], _Split | None, int]]:
        """Yield each part with the intervals of the features that lead to it."""
        waiting: list[tuple[int, dict[int, Interval]]] = [(root, {}) for root in self.roots]
        while waiting:
            place, known = waiting.pop()
            if place < 0:
                yield ~place, known, None, 0
                continue
            split = self.splits[place]
            low, high = known.get(split.feature, (-np.inf, np.inf))
            for turn, side in enumerate((-1, 1)):
                yield self.leaves + 2 * place + turn, known, split, side
            for child, interval in zip((split.true, split.false), _halves(split, low, high), strict=True):
                waiting.append((child, {**known, split.feature: interval}))


def _halves(split: _Split, low: float, high: float) -> tuple[Interval, Interval]:
    """Return what is left of an interval on the true and on the false branch."""
    point = split.point
    before, after = (float(np.nextafter(np.float32(point), np.float32(side))) for side in (-np.inf, np.inf))
    if split.mode in ("BRANCH_EQ", "BRANCH_NEQ"):
        same, other = (point, point), (max(low, after), high)
        return (same, other) if split.mode == "BRANCH_EQ" else (other, same)
    upper = split.mode in ("BRANCH_LT", "BRANCH_GTE")
    below, above = (low, min(high, before if upper else point)), (max(low, point if upper else after), high)
    return (below, above) if split.mode in ("BRANCH_LEQ", "BRANCH_LT") else (above, below)


def _inside(interval: Interval, known: float) -> float:
    low, high = interval
    if low <= known <= high:
        return known
    if np.isfinite(low) and np.isfinite(high):
        return (low + high) / 2
    step = max(abs(low if np.isfinite(low) else high) * 0.05, 0.1)
    return low + step if np.isfinite(low) else high - step


@functools.lru_cache(maxsize=32)
def read_trees(node: ir.Node) -> Trees | None:
    """Return the trees of a node; None where they are too many or test for membership."""
    names = set(node.attributes)
    if node.op_type == "TreeEnsemble":
        return _read_new(node) if "nodes_splits" in names else None
    return _read_old(node) if "nodes_nodeids" in names else None


def _read_new(node: ir.Node) -> Trees | None:
    def tensor(name: str) -> np.ndarray:
        return np.asarray(node.attributes[name].as_tensor().numpy()).ravel()

    def numbers(name: str) -> Sequence[int]:
        return node.attributes[name].as_ints()

    modes, points = tensor("nodes_modes"), tensor("nodes_splits").astype(np.float64)
    if len(modes) > _MOST_NODES or np.any(modes >= len(_MODES)):
        return None
    children = [
        [~place if leaf else place for place, leaf in zip(numbers(ids), numbers(leaves), strict=True)]
        for ids, leaves in (("nodes_truenodeids", "nodes_trueleafs"), ("nodes_falsenodeids", "nodes_falseleafs"))
    ]
    facts = zip(numbers("nodes_featureids"), modes.tolist(), points.tolist(), *children, strict=True)
    splits = tuple(_Split(feature, _MODES[mode], point, true, false) for feature, mode, point, true, false in facts)
    return Trees(splits, tuple(numbers("tree_roots")), len(numbers("leaf_targetids")))


def _read_old(node: ir.Node) -> Trees | None:
    ids = list(zip(node.attributes["nodes_treeids"].as_ints(), node.attributes["nodes_nodeids"].as_ints(), strict=True))
    modes = [mode.decode() if isinstance(mode, bytes) else mode for mode in node.attributes["nodes_modes"].value]
    if len(ids) > _MOST_NODES or not set(modes) <= {*_MODES, "LEAF"}:
        return None
    tensor = node.attributes.get("nodes_values_as_tensor")
    points = node.attributes["nodes_values"].as_floats() if tensor is None else tensor.as_tensor().numpy().tolist()
    number: dict[tuple[int, int], int] = {}
    counts = {True: 0, False: 0}
    for key, mode in zip(ids, modes, strict=True):
        leaf = mode == "LEAF"
        number[key] = ~counts[leaf] if leaf else counts[leaf]
        counts[leaf] += 1
    features, true, false = (
        node.attributes[f"nodes_{kind}"].as_ints() for kind in ("featureids", "truenodeids", "falsenodeids")
    )
    splits = tuple(
        _Split(features[at], modes[at], float(points[at]), number[tree, true[at]], number[tree, false[at]])
        for at, (tree, _) in enumerate(ids)
        if modes[at] != "LEAF"
    )
    pointed = {child for split in splits for child in (split.true, split.false)}
    return Trees(splits, tuple(place for place in number.values() if place not in pointed), counts[True])
