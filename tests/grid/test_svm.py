"""Support vector machines against ONNX Runtime: every kernel, with and without vectors and probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.grid.classic_ml import NUMBERS, TRANSFORMS, ml, numbers

KERNELS = [
    ("LINEAR", [0.0, 0, 0]),
    ("POLY", [0.5, 1.0, 3]),
    ("POLY", [0.2, 3.0, 2.5]),
    ("RBF", [0.7, 0, 0]),
    ("SIGMOID", [0.3, 0.1, 0]),
]


@pytest.mark.parametrize(("kernel", "params"), KERNELS)
@pytest.mark.parametrize("one_class", [0, 1])
def test_svm_regressor(kernel: str, params: list[float], one_class: int) -> None:
    rng = np.random.default_rng(0)
    given = {
        "coefficients": rng.normal(size=5).astype(np.float32).tolist(),
        "support_vectors": rng.uniform(0, 1, 15).astype(np.float32).tolist(),
        "rho": [0.3],
        "n_supports": 5,
    }
    x = rng.uniform(0, 1, (6, 3)).astype(np.float32)
    ml("SVMRegressor", [x], [x[:1]], terms=20, kernel_type=kernel, kernel_params=params, one_class=one_class, **given)


def test_svm_regressor_without_vectors() -> None:
    given = {"coefficients": [0.3, -0.2, 1.0], "rho": [0.3], "kernel_params": [0.0, 0.0, 0.0], "n_supports": 0}
    ml("SVMRegressor", [numbers((4, 3))], terms=4, **given)


def svm(classes: int, rng: np.random.Generator) -> dict[str, Any]:
    per_class = [2, 3, 1, 4][:classes]
    vectors, pairs = sum(per_class), classes * (classes - 1) // 2
    return {
        "vectors_per_class": per_class,
        "support_vectors": rng.uniform(0, 1, vectors * 3).astype(np.float32).tolist(),
        "coefficients": rng.normal(size=(classes - 1) * vectors).astype(np.float32).tolist(),
        "rho": (rng.normal(size=pairs) / 4).astype(np.float32).tolist(),
    }


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize(("kernel", "params"), KERNELS)
@pytest.mark.parametrize("classes", [2, 4])
def test_svm_classifier(dtype: Any, kernel: str, params: list[float], classes: int) -> None:
    rng = np.random.default_rng(classes)
    x = (rng.uniform(0, 2, (7, 3))).astype(dtype)
    given = {**svm(classes, rng), "kernel_type": kernel, "kernel_params": params}
    ml("SVMClassifier", [x], [x[:2]], outputs=2, terms=20, classlabels_ints=[4, -1, 0, 9][:classes], **given)


@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_svm_classifier_with_probabilities(classes: int, transform: str) -> None:
    rng = np.random.default_rng(classes)
    pairs = classes * (classes - 1) // 2
    given = {
        **svm(classes, rng),
        "prob_a": rng.uniform(-2, -1, pairs).astype(np.float32).tolist(),
        "prob_b": rng.normal(size=pairs).astype(np.float32).tolist(),
        "classlabels_strings": ["a", "b", "c", "d"][:classes],
    }
    x = rng.uniform(0, 1, (12, 3)).astype(np.float32)
    kernel = {"kernel_type": "RBF", "kernel_params": [0.7, 0.0, 0.0]}
    ml("SVMClassifier", [x], outputs=2, terms=60, post_transform=transform, **kernel, **given)


@pytest.mark.parametrize(
    ("classes", "transform"), [(2, "LOGISTIC"), (3, "LOGISTIC"), (3, "SOFTMAX"), (3, "SOFTMAX_ZERO")]
)
def test_svm_classifier_with_transforms(classes: int, transform: str) -> None:
    rng = np.random.default_rng(9)
    given = {**svm(classes, rng), "kernel_params": [0.0, 0.0, 0.0], "classlabels_ints": [1, 2, 3][:classes]}
    ml(
        "SVMClassifier",
        [rng.uniform(0, 1, (5, 3)).astype(np.float32)],
        outputs=2,
        terms=20,
        post_transform=transform,
        **given,
    )


@pytest.mark.parametrize("classes", [2, 3])
def test_svm_classifier_without_vectors(classes: int) -> None:
    coefficients = np.random.default_rng(0).normal(size=classes * 3).astype(np.float32).tolist()
    given = {
        "coefficients": coefficients,
        "rho": [0.1],
        "kernel_params": [0.0, 0, 0],
        "classlabels_ints": [3, 4, 5][:classes],
    }
    ml("SVMClassifier", [numbers((8, 3))], outputs=2, terms=4, **given)
