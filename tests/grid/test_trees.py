"""Tree ensembles against ONNX Runtime: random trees with ties and missing values, all branch modes and aggregates."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from tests.grid.classic_ml import ML, TRANSFORMS, ml, node_model
from tests.grid.harness import assert_close, run_ort
from trueport.backend import prepare
from trueport.backends.tensorflow.registry import registry


def make_trees(
    trees: int, depth: int, features: int, modes: list[str], rng: np.random.Generator
) -> tuple[dict[str, list[Any]], list[tuple[int, int]]]:
    """Random trees, not balanced, on a grid of split values so that ties happen; and their leaves."""
    nodes: dict[str, list[Any]] = {
        f"nodes_{k}": []
        for k in (
            "treeids",
            "nodeids",
            "featureids",
            "values",
            "modes",
            "truenodeids",
            "falsenodeids",
            "missing_value_tracks_true",
        )
    }
    leaves = []

    def grow(tree: int, level: int, counter: list[int]) -> int:
        node = counter[0]
        counter[0] += 1
        row = len(nodes["nodes_modes"])
        for name, value in zip(nodes, (tree, node, 0, 0.0, "LEAF", 0, 0, 0), strict=True):
            nodes[name].append(value)
        if level == depth or (level and rng.random() < 0.2):
            leaves.append((tree, node))
            return node
        nodes["nodes_featureids"][row] = int(rng.integers(features))
        nodes["nodes_values"][row] = float(rng.integers(-2, 3)) / 2
        nodes["nodes_modes"][row] = str(rng.choice(modes))
        nodes["nodes_missing_value_tracks_true"][row] = int(rng.integers(2))
        nodes["nodes_truenodeids"][row] = grow(tree, level + 1, counter)
        nodes["nodes_falsenodeids"][row] = grow(tree, level + 1, counter)
        return node

    for tree in range(trees):
        grow(tree, 0, [0])
    return nodes, leaves


def tree_inputs(rng: np.random.Generator, rows: int = 40, features: int = 4) -> np.ndarray:
    x = (rng.integers(-4, 5, (rows, features)) / 2).astype(np.float32)
    x[rng.random(x.shape) < 0.1] = np.nan
    return x


BRANCHES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


@pytest.mark.parametrize("modes", [["BRANCH_LEQ"], BRANCHES])
@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("targets", [1, 3])
def test_tree_ensemble_regressor(modes: list[str], aggregate: str, targets: int) -> None:
    rng = np.random.default_rng(targets)
    nodes, leaves = make_trees(5, 4 if len(modes) > 1 else 11, 4, modes, rng)
    weights = {
        "target_treeids": [tree for tree, _ in leaves],
        "target_nodeids": [node for _, node in leaves],
        "target_ids": rng.integers(targets, size=len(leaves)).tolist(),
        "target_weights": rng.normal(size=len(leaves)).astype(np.float32).tolist(),
    }
    x = tree_inputs(rng)
    given = {**nodes, **weights, "aggregate_function": aggregate, "n_targets": targets}
    ml("TreeEnsembleRegressor", [x], [x[:1]], terms=6, **given)
    if targets == 1:  # ONNX Runtime leaves the base value out where no leaf has a weight for the target.
        ml("TreeEnsembleRegressor", [x.astype(np.float64)], terms=6, base_values=[0.25], **given)


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_tree_ensemble_regressor_of_integers(dtype: Any) -> None:
    """ONNX Runtime has none of these; the answers must be those for the same numbers as floats."""
    rng = np.random.default_rng(4)
    nodes, leaves = make_trees(3, 3, 4, ["BRANCH_LT"], rng)
    weights = dict(zip(("target_treeids", "target_nodeids"), map(list, zip(*leaves, strict=True)), strict=True))
    weights |= {"target_ids": [0] * len(leaves), "target_weights": rng.normal(size=len(leaves)).tolist()}
    x = rng.integers(-3, 4, (9, 4))
    results = []
    for given in (x.astype(dtype), x.astype(np.float32)):
        model = node_model("TreeEnsembleRegressor", [given], 1, n_targets=1, **nodes, **weights)
        results.append(prepare(model).run([given])[0])
    np.testing.assert_array_equal(*results)


def classifier_weights(leaves: list[tuple[int, int]], classes: int, rng: np.random.Generator) -> dict[str, list[Any]]:
    """Each leaf has a weight for each class."""
    entries = [(tree, node, k) for tree, node in leaves for k in range(classes)]
    return {
        "class_treeids": [tree for tree, _, _ in entries],
        "class_nodeids": [node for _, node, _ in entries],
        "class_ids": [k for _, _, k in entries],
        "class_weights": rng.uniform(0.01, 0.2, len(entries)).astype(np.float32).tolist(),
    }


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("based", [False, True])
def test_tree_ensemble_classifier(transform: str, based: bool) -> None:
    rng = np.random.default_rng(1)
    nodes, leaves = make_trees(4, 4, 4, BRANCHES, rng)
    given = {**nodes, **classifier_weights(leaves, 3, rng), "post_transform": transform}
    if based:
        given["base_values"] = [0.1, -0.05, 0.02]
    x = tree_inputs(rng)
    ml("TreeEnsembleClassifier", [x], [x[:3]], outputs=2, terms=6, classlabels_int64s=[7, -2, 30], **given)
    ml("TreeEnsembleClassifier", [x], outputs=2, terms=6, classlabels_strings=["x", "y", "ž"], **given)


# With LOGISTIC and weights that are all positive ONNX Runtime's label is not the class with the higher score.
@pytest.mark.parametrize(("transform", "signed"), [("NONE", False), ("NONE", True), ("LOGISTIC", True)])
@pytest.mark.parametrize("base", [None, [0.05]])
def test_tree_ensemble_classifier_with_one_score(transform: str, signed: bool, base: list[float] | None) -> None:
    rng = np.random.default_rng(2)
    nodes, leaves = make_trees(4, 4, 4, BRANCHES, rng)
    weights = classifier_weights(leaves, 1, rng)
    if signed:
        weights["class_weights"] = (np.array(weights["class_weights"]) - 0.1).tolist()
    given = {**nodes, **weights, "post_transform": transform} | ({} if base is None else {"base_values": base})
    ml("TreeEnsembleClassifier", [tree_inputs(rng)], outputs=2, terms=6, classlabels_int64s=[0, 1], **given)


def test_tree_ensemble_classifier_takes_the_top_class_of_two() -> None:
    """With weights for both classes ONNX Runtime answers 1 where the second's score is positive."""
    rng = np.random.default_rng(3)
    nodes, leaves = make_trees(4, 4, 4, BRANCHES, rng)
    x = tree_inputs(rng)
    given = {**nodes, **classifier_weights(leaves, 2, rng), "classlabels_strings": ["no", "yes"]}
    labels, scores = prepare(node_model("TreeEnsembleClassifier", [x], 2, **given)).run([x])
    model = node_model("TreeEnsembleClassifier", [x], 2, **given)
    _, expected = run_ort(model, {"x0": x})
    mapping = registry().find("TreeEnsembleClassifier", ML)
    assert mapping is not None and mapping.error is not None
    assert_close(scores, expected, mapping.error, terms=6)
    np.testing.assert_array_equal(labels, np.array(["no", "yes"], object)[np.argmax(scores, 1)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("aggregate", [0, 1, 2, 3])
def test_tree_ensemble_with_sets(dtype: Any, aggregate: int) -> None:
    def tensor(items: Any, kind: Any = dtype) -> onnx.TensorProto:
        return onnx.numpy_helper.from_array(np.array(items, kind), "t")

    x = np.array([[1.2, 3.4, 1.7], [-0.12, 1.66, 1.0], [4.14, 1.77, 5.0], [np.nan, np.nan, np.nan]], dtype)
    ml(
        "TreeEnsemble",
        [x],
        [x[1:2]],
        opset=5,
        terms=3,
        n_targets=4,
        aggregate_function=aggregate,
        membership_values=tensor([1.2, 3.7, 8, 9, np.nan, 12, 7, np.nan]),
        nodes_missing_value_tracks_true=[1, 0, 0, 0, 1],
        nodes_splits=tensor([11, 232344.0, 1.0, 1.77, 2.0]),
        nodes_featureids=[0, 0, 0, 1, 2],
        nodes_modes=tensor([0, 6, 6, 3, 5], np.uint8),
        nodes_truenodeids=[1, 0, 3, 4, 2],
        nodes_falsenodeids=[2, 2, 3, 5, 1],
        nodes_trueleafs=[0, 1, 1, 1, 1],
        nodes_falseleafs=[0, 1, 1, 1, 1],
        leaf_targetids=[0, 1, 2, 3, 0, 2],
        leaf_weights=tensor([1, 10, 1000, 100, -3, 7]),
        tree_roots=[0, 3, 4],
    )
