"""Ensembles of decision trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.forest import Forest, Names, aggregated, forest_of, leaves_of
from trueport.backends.tensorflow.kernels.scores import as_rows, labelled, transformed, two_columns
from trueport.mapping.declare import maps

__all__: list[str] = []

_ML = "ai.onnx.ml"
_NO_HITRATES = "they tell how often a node was visited in training and take no part in inference"
_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


@maps("TreeEnsemble", domain=_ML, audited=5, ignores={"nodes_hitrates": _NO_HITRATES})
def tree_ensemble(
    t: Emission,
    X: Tensor,
    *,
    aggregate_function: int,
    leaf_targetids: list[int],
    leaf_weights: ir.TensorProtocol,
    membership_values: ir.TensorProtocol | None,
    n_targets: int | None,
    nodes_falseleafs: list[int],
    nodes_falsenodeids: list[int],
    nodes_featureids: list[int],
    nodes_missing_value_tracks_true: list[int] | None,
    nodes_modes: ir.TensorProtocol,
    nodes_splits: ir.TensorProtocol,
    nodes_trueleafs: list[int],
    nodes_truenodeids: list[int],
    post_transform: int,
    tree_roots: list[int],
) -> Tensor:
    nodes, leaves = len(nodes_featureids), len(leaf_targetids)
    # Leaves stand behind the inner nodes in one table.
    ids = np.array([nodes_falsenodeids, nodes_truenodeids]).T + nodes * np.array([nodes_falseleafs, nodes_trueleafs]).T
    own = np.arange(nodes, nodes + leaves)
    forest = Forest(
        features=_extended(nodes_featureids, leaves),
        splits=_extended(nodes_splits.numpy(), leaves),
        modes=np.concatenate([nodes_modes.numpy().astype(np.int64), np.full(leaves, -1)]),
        children=np.concatenate([ids, np.stack([own, own], 1)]),
        missing_goes_true=_extended(_flags(nodes_missing_value_tracks_true, nodes), leaves),
        roots=np.array(tree_roots),
        weighted=own,
        targets=np.array(leaf_targetids),
        weights=leaf_weights.numpy(),
        members=_sets(membership_values),
    )
    targets = n_targets if n_targets is not None else max(leaf_targetids) + 1
    scores = _scores(forest, X, targets, _AGGREGATES[aggregate_function])
    return tf.cast(transformed(scores, _TRANSFORMS[post_transform]), t.output_dtype())


@maps(
    "TreeEnsembleRegressor",
    domain=_ML,
    audited=5,
    ignores=dict.fromkeys(("nodes_hitrates", "nodes_hitrates_as_tensor"), _NO_HITRATES),
)
def tree_ensemble_regressor(
    t: Emission,
    X: Tensor,
    *,
    aggregate_function: str,
    base_values: list[float] | None,
    base_values_as_tensor: ir.TensorProtocol | None,
    n_targets: int | None,
    nodes_falsenodeids: list[int],
    nodes_featureids: list[int],
    nodes_missing_value_tracks_true: list[int] | None,
    nodes_modes: list[str],
    nodes_nodeids: list[int],
    nodes_treeids: list[int],
    nodes_truenodeids: list[int],
    nodes_values: list[float] | None,
    nodes_values_as_tensor: ir.TensorProtocol | None,
    post_transform: str,
    target_ids: list[int],
    target_nodeids: list[int],
    target_treeids: list[int],
    target_weights: list[float] | None,
    target_weights_as_tensor: ir.TensorProtocol | None,
) -> Tensor:
    names = Names(nodes_treeids, nodes_nodeids, nodes_truenodeids, nodes_falsenodeids, nodes_modes)
    forest = forest_of(
        names,
        features=nodes_featureids,
        splits=_floats(nodes_values, nodes_values_as_tensor),
        missing_goes_true=_flags(nodes_missing_value_tracks_true, len(nodes_modes)),
        weighted=zip(target_treeids, target_nodeids, strict=True),
        targets=target_ids,
        weights=_floats(target_weights, target_weights_as_tensor),
    )
    targets = n_targets if n_targets is not None else max(target_ids) + 1
    scores = _scores(forest, X, targets, aggregate_function)
    base = _floats(base_values, base_values_as_tensor)
    if len(base) == targets:
        scores += tf.constant(base, scores.dtype)
    return tf.cast(transformed(scores, post_transform), tf.float32)


@maps(
    "TreeEnsembleClassifier",
    domain=_ML,
    audited=5,
    ignores=dict.fromkeys(("nodes_hitrates", "nodes_hitrates_as_tensor"), _NO_HITRATES),
)
def tree_ensemble_classifier(
    t: Emission,
    X: Tensor,
    *,
    base_values: list[float] | None,
    base_values_as_tensor: ir.TensorProtocol | None,
    class_ids: list[int],
    class_nodeids: list[int],
    class_treeids: list[int],
    class_weights: list[float] | None,
    class_weights_as_tensor: ir.TensorProtocol | None,
    classlabels_int64s: list[int] | None,
    classlabels_strings: list[str] | None,
    nodes_falsenodeids: list[int],
    nodes_featureids: list[int],
    nodes_missing_value_tracks_true: list[int] | None,
    nodes_modes: list[str],
    nodes_nodeids: list[int],
    nodes_treeids: list[int],
    nodes_truenodeids: list[int],
    nodes_values: list[float] | None,
    nodes_values_as_tensor: ir.TensorProtocol | None,
    post_transform: str,
) -> tuple[Tensor, Tensor]:
    names = Names(nodes_treeids, nodes_nodeids, nodes_truenodeids, nodes_falsenodeids, nodes_modes)
    forest = forest_of(
        names,
        features=nodes_featureids,
        splits=_floats(nodes_values, nodes_values_as_tensor),
        missing_goes_true=_flags(nodes_missing_value_tracks_true, len(nodes_modes)),
        weighted=zip(class_treeids, class_nodeids, strict=True),
        targets=class_ids,
        weights=_floats(class_weights, class_weights_as_tensor),
    )
    count = len(classlabels_strings or classlabels_int64s or ())
    base = _floats(base_values, base_values_as_tensor)
    best, scores = _classified(forest, X, count, base, post_transform)
    if count == 1 and classlabels_int64s:
        # A single class has no other to win over: the answer is yes or no.
        return tf.cast(best, tf.int64), scores
    return labelled(best if count > 1 else tf.zeros_like(best), classlabels_int64s, classlabels_strings), scores


def _classified(forest: Forest, X: Tensor, count: int, base: np.ndarray, transform: str) -> tuple[Tensor, Tensor]:
    """The best class of each row, and the scores; of a single class, whether its score is positive."""
    # Two classes, and weights for the first only: its sum is the score of the second, positive one.
    if count == 2 and not np.any(forest.targets):
        score = _scores(forest, X, 1, "SUM") + (base[-1] if len(base) else 0.0)
        signed = bool(np.any(forest.weights < 0))
        both = two_columns(tf.cast(score, tf.float32), transform, signed=signed)
        half = 0.0 if signed or transform not in ("NONE", "PROBIT") else 0.5
        return tf.cast(score[:, 0] > half, tf.int32), both
    padded = np.zeros(count)
    padded[: len(base)] = base
    sums = _scores(forest, X, count, "SUM")
    sums += tf.constant(padded, sums.dtype)
    best = tf.argmax(sums, 1) if count > 1 else tf.cast(sums[:, 0] > 0, tf.int64)
    return best, transformed(tf.cast(sums, tf.float32), transform)


def _scores(forest: Forest, X: Tensor, count: int, function: str) -> Tensor:
    dtype = tf.float64 if X.dtype == tf.float64 else tf.float32
    rows = as_rows(X, dtype)
    return aggregated(forest, leaves_of(forest, rows), count, function, dtype)


def _floats(values: Sequence[float] | None, tensor: ir.TensorProtocol | None) -> np.ndarray:
    return np.array(values or [], np.float32) if tensor is None else tensor.numpy().reshape(-1)


def _flags(values: Sequence[int] | None, count: int) -> np.ndarray:
    return np.array(values, bool) if values else np.zeros(count, bool)


def _extended(values: Any, count: int) -> np.ndarray:
    return np.concatenate([np.asarray(values), np.zeros(count, np.asarray(values).dtype)])


def _sets(members: ir.TensorProtocol | None) -> list[np.ndarray]:
    """The sets that NaN delimits, in the order of the nodes that test membership."""
    if members is None:
        return []
    values = members.numpy()
    ends = np.flatnonzero(np.isnan(values))
    starts = [0, *(ends[:-1] + 1)]
    return [values[start:end] for start, end in zip(starts, ends, strict=True)]
