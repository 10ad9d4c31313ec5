"""Ensembles of decision trees as tables: all trees of all rows are walked at once, level by level."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from trueport.backends.tensorflow._tf import tf
from trueport.errors import InvalidModel

__all__ = ["MODES", "Forest", "Names", "aggregated", "forest_of", "leaves_of"]

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER")
"""In the order in which TreeEnsemble numbers them."""

_LEAF = -1
_UNROLLED = 8
"""Levels up to which repeating the operations is faster than a loop."""


@dataclass(frozen=True)
class Forest:
    """Nodes of all trees in one table; a leaf is its own child."""

    features: np.ndarray
    splits: np.ndarray
    modes: np.ndarray
    """index into MODES, -1 for a leaf"""
    children: np.ndarray
    """``[nodes, 2]``: where to go when the test is false, and when it is true"""
    missing_goes_true: np.ndarray
    roots: np.ndarray
    weighted: np.ndarray
    """per weight: the leaf it belongs to"""
    targets: np.ndarray
    weights: np.ndarray
    members: Sequence[np.ndarray] = ()
    """per node that tests membership, in their order: the set"""

    def depth(self) -> int:
        """The number of steps after which every walk has ended."""
        steps, front = 0, np.unique(self.roots)
        while np.any(self.modes[front] != _LEAF):
            if steps > len(self.modes):
                raise InvalidModel(
                    "the nodes of a tree form a circle", remedy="lead every branch of the tree to a leaf"
                )
            front = np.unique(self.children[front])
            steps += 1
        return steps


class Names(NamedTuple):
    """Nodes named by (tree, node), children by the names in their tree: as regressor and classifier have them."""

    trees: Sequence[int]
    nodes: Sequence[int]
    true: Sequence[int]
    false: Sequence[int]
    modes: Sequence[str]


def forest_of(
    names: Names,
    *,
    features: Sequence[int],
    splits: np.ndarray,
    missing_goes_true: np.ndarray,
    weighted: Iterable[tuple[int, int]],
    targets: Sequence[int],
    weights: np.ndarray,
) -> Forest:
    """The table of nodes that go by names; a root is a node that is nobody's child."""
    place = {name: index for index, name in enumerate(zip(names.trees, names.nodes, strict=True))}
    modes = np.array([_LEAF if mode == "LEAF" else MODES.index(mode) for mode in names.modes])
    children = np.repeat(np.arange(len(modes))[:, np.newaxis], 2, 1)
    is_child = np.zeros(len(modes), bool)
    for index in np.flatnonzero(modes != _LEAF).tolist():
        tree = names.trees[index]
        children[index] = place[tree, names.false[index]], place[tree, names.true[index]]
        is_child[children[index]] = True
    roots = {tree: index for index, tree in reversed(list(enumerate(names.trees))) if not is_child[index]}
    return Forest(
        features=np.array(features),
        splits=splits,
        modes=modes,
        children=children,
        missing_goes_true=missing_goes_true,
        roots=np.array([roots[tree] for tree in dict.fromkeys(names.trees)]),
        weighted=np.array([place[leaf] for leaf in weighted]),
        targets=np.array(targets),
        weights=weights,
    )


def leaves_of(forest: Forest, X: Any) -> Any:
    """For each row of ``X`` and each tree the leaf where the walk ends, int32 ``[N, trees]``."""
    at = tf.tile(tf.constant(forest.roots[np.newaxis], tf.int32), [tf.shape(X)[0], 1])
    levels = forest.depth()
    step = _step(forest, X)
    if levels <= _UNROLLED:
        for _ in range(levels):
            at = step(at)
        return at
    return tf.while_loop(lambda i, _: i < levels, lambda i, at: (i + 1, step(at)), (tf.constant(0), at))[1]


def _step(forest: Forest, X: Any) -> Callable[[Any], Any]:
    features = tf.constant(np.where(forest.modes == _LEAF, 0, forest.features), tf.int32)
    splits = tf.constant(forest.splits, X.dtype)
    children = tf.constant(forest.children.ravel(), tf.int32)
    used = sorted(set(forest.modes.tolist()) - {_LEAF})
    modes = tf.constant(forest.modes, tf.int32)
    missing = tf.constant(forest.missing_goes_true) if forest.missing_goes_true.any() else None
    sets = _padded_sets(forest, X.dtype) if MODES.index("BRANCH_MEMBER") in used else None

    def step(at: Any) -> Any:
        x = tf.gather(X, tf.gather(features, at), batch_dims=1)
        tests = {mode: _test(MODES[mode], x, at, splits, sets) for mode in used}
        holds = tests[used[0]]
        for mode in used[1:]:
            holds = tf.where(tf.equal(tf.gather(modes, at), mode), tests[mode], holds)
        if missing is not None:
            holds |= tf.math.is_nan(x) & tf.gather(missing, at)
        return tf.gather(children, 2 * at + tf.cast(holds, tf.int32))

    return step


def _test(mode: str, x: Any, at: Any, splits: Any, sets: tuple[Any, Any] | None) -> Any:
    if mode == "BRANCH_MEMBER":
        assert sets is not None
        of_node, members = sets
        return tf.reduce_any(tf.equal(tf.gather(members, tf.gather(of_node, at)), x[..., tf.newaxis]), -1)
    split = tf.gather(splits, at)
    match mode:
        case "BRANCH_LEQ":
            return x <= split
        case "BRANCH_LT":
            return x < split
        case "BRANCH_GTE":
            return x >= split
        case "BRANCH_GT":
            return x > split
        case "BRANCH_EQ":
            return tf.equal(x, split)
        case _:
            return tf.not_equal(x, split)


def _padded_sets(forest: Forest, dtype: Any) -> tuple[Any, Any]:
    """For each node the row of its set, and the sets as rows padded with NaN, which equals nothing."""
    width = max(len(s) for s in forest.members)
    rows = np.full([len(forest.members), max(width, 1)], np.nan)
    for row, members in zip(rows, forest.members, strict=True):
        row[: len(members)] = members
    of_node = np.zeros(len(forest.modes), np.int32)
    of_node[forest.modes == MODES.index("BRANCH_MEMBER")] = np.arange(len(rows))
    return tf.constant(of_node), tf.constant(rows, dtype)


def aggregated(forest: Forest, leaves: Any, count: int, function: str, dtype: Any) -> Any:
    """Scores ``[N, count]`` of all trees together; 0 for a target that no leaf has a weight for."""
    per_leaf = _weights_per_leaf(forest, count)
    if per_leaf.full:
        values = tf.gather(tf.constant(per_leaf.weights, dtype), tf.gather(tf.constant(per_leaf.row), leaves))
        scores = {"MIN": tf.reduce_min, "MAX": tf.reduce_max}.get(function, tf.reduce_sum)(values, 1)
    else:
        scores = _scattered(per_leaf, leaves, count, function, dtype)
    return scores / len(forest.roots) if function == "AVERAGE" else scores


@dataclass(frozen=True)
class _LeafWeights:
    row: np.ndarray
    """per node its row in the tables"""
    targets: np.ndarray
    weights: np.ndarray
    full: bool
    """each leaf has one weight for each target, in order"""


def _weights_per_leaf(forest: Forest, count: int) -> _LeafWeights:
    order = np.argsort(forest.weighted, kind="stable")
    nodes, first, sizes = np.unique(forest.weighted[order], return_index=True, return_counts=True)
    width = int(sizes.max(initial=1))
    # Row 0 is for leaves without any weight, target ``count`` for places without one.
    targets = np.full([len(nodes) + 1, width], count, np.int32)
    weights = np.zeros([len(nodes) + 1, width], forest.weights.dtype)
    row = np.zeros(len(forest.modes), np.int32)
    for index, (node, start, size) in enumerate(zip(nodes, first, sizes, strict=True), 1):
        row[node] = index
        targets[index, :size] = forest.targets[order[start : start + size]]
        weights[index, :size] = forest.weights[order[start : start + size]]
    all_leaves = set(np.flatnonzero(forest.modes == _LEAF).tolist()) <= set(nodes.tolist())
    full = all_leaves and width == count and bool(np.all(targets[1:] == np.arange(count)))
    return _LeafWeights(row, targets, weights, full)


def _scattered(per_leaf: _LeafWeights, leaves: Any, count: int, function: str, dtype: Any) -> Any:
    rows = tf.gather(tf.constant(per_leaf.row), leaves)
    height = tf.shape(leaves)[0]
    targets = tf.reshape(tf.gather(tf.constant(per_leaf.targets), rows), [height, -1])
    cells = tf.reshape(targets + tf.range(height)[:, tf.newaxis] * (count + 1), [-1])
    values = tf.reshape(tf.gather(tf.constant(per_leaf.weights, dtype), rows), [-1])

    def table(reduce: Callable[..., Any], items: Any) -> Any:
        return tf.reshape(reduce(items, cells, height * (count + 1)), [height, count + 1])[:, :count]

    if function in ("SUM", "AVERAGE"):
        return table(tf.math.unsorted_segment_sum, values)
    touched = table(tf.math.unsorted_segment_max, tf.ones_like(cells)) > 0
    reduce = tf.math.unsorted_segment_min if function == "MIN" else tf.math.unsorted_segment_max
    return tf.where(touched, table(reduce, values), tf.zeros([], dtype))
