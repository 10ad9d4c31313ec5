"""Fit estimators, export them by skl2onnx and onnxmltools, and store what they predict.

    python -m venv env && env/bin/pip install skl2onnx==1.20.0 onnxmltools==1.16.0 scikit-learn==1.9.1 \
        lightgbm==4.7.0 xgboost==3.2.0 onnxruntime
    PYTHONHASHSEED=0 env/bin/python tests/families/estimators/fit.py tests/families/estimators

Writes ``models.npz``: per estimator the bytes of the .onnx file, its inputs and the estimator's own predictions. Data
and fits are seeded, so a second run with the same releases gives the same models. The tests need none of the packages.
"""

from __future__ import annotations

import io
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

warnings.simplefilter("ignore")
OPSETS = {"": 18, "ai.onnx.ml": 3}
ROWS, PROBED, FEATURES = 60, 12, 4
random = np.random.default_rng(11)
X = random.normal(size=(ROWS, FEATURES)).astype(np.float32)
PROBE = random.normal(size=(PROBED, FEATURES)).astype(np.float32) * 1.5
BINARY = (X[:, 0] + X[:, 1] > 0).astype(np.int64)
THREE = np.digitize(X[:, 0] + 0.3 * X[:, 2], [-0.5, 0.6]).astype(np.int64)
NAMES = np.array(["ant", "bee", "cat"])[THREE]
LABELS = np.stack([BINARY, (X[:, 2] > 0.2).astype(np.int64), (X[:, 3] > 0).astype(np.int64)], 1)
REAL = (X @ np.array([1.0, -2.0, 0.5, 0.0]) + 0.3).astype(np.float32)
REALS = np.stack([REAL, X[:, 1] ** 2], 1).astype(np.float32)
COUNTS = random.poisson(np.exp(0.4 * X[:, 0] + 1)).astype(np.float32)
GAPS, PROBE_GAPS = X.copy(), PROBE.copy()
GAPS[random.random(X.shape) < 0.15] = np.nan
PROBE_GAPS[random.random(PROBE.shape) < 0.2] = np.nan
WORDS = np.array(["red", "green", "blue"])[random.integers(0, 3, (ROWS, 2))].astype(object)
PROBE_WORDS = np.array(["red", "green", "blue"])[random.integers(0, 3, (PROBED, 2))].astype(object)
NUMBERS = random.integers(0, 4, (ROWS, 2))
TEXTS = np.array(["a red bee", "the cat sat", "red red cat", "bee and ant", "an ant sat on a cat"], object)


def classifiers() -> dict[str, tuple[Any, Any, Any, Any]]:
    """Name: estimator, training data, targets, probe."""
    from sklearn import ensemble, linear_model, naive_bayes, neighbors, neural_network, svm, tree
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
    from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
    from sklearn.multioutput import MultiOutputClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    logistic = linear_model.LogisticRegression
    small = {"max_depth": 3, "random_state": 0}
    few = {"n_estimators": 5, **small}
    pair = [("a", logistic()), ("b", tree.DecisionTreeClassifier(**small))]
    return {
        "logistic-binary": (logistic(), X, BINARY, PROBE),
        "logistic-one-feature": (logistic(), X[:, :1], BINARY, PROBE[:, :1]),
        "logistic-three": (logistic(), X, THREE, PROBE),
        "logistic-names": (logistic(), X, NAMES, PROBE),
        "logistic-one-class-each": (OneVsRestClassifier(logistic()), X, THREE, PROBE),
        "logistic-binary-names": (logistic(), X, np.where(BINARY, "yes", "no"), PROBE),
        "logistic-negative-labels": (logistic(), X, THREE - 5, PROBE),
        "logistic-cv": (linear_model.LogisticRegressionCV(Cs=2, cv=2), X, THREE, PROBE),
        "ridge-classifier": (linear_model.RidgeClassifier(), X, THREE, PROBE),
        "ridge-classifier-binary": (linear_model.RidgeClassifier(), X, BINARY, PROBE),
        "ridge-classifier-labels": (linear_model.RidgeClassifier(), X, LABELS, PROBE),
        "perceptron": (linear_model.Perceptron(random_state=0), X, THREE, PROBE),
        "sgd-log": (linear_model.SGDClassifier(loss="log_loss", random_state=0), X, THREE, PROBE),
        "sgd-hinge-binary": (linear_model.SGDClassifier(random_state=0), X, BINARY, PROBE),
        "linear-svc": (svm.LinearSVC(random_state=0), X, THREE, PROBE),
        "linear-svc-binary": (svm.LinearSVC(random_state=0), X, BINARY, PROBE),
        "svc-rbf": (svm.SVC(), X, THREE, PROBE),
        "svc-poly-binary": (svm.SVC(kernel="poly"), X, BINARY, PROBE),
        "svc-linear-names": (svm.SVC(kernel="linear"), X, NAMES, PROBE),
        "nu-svc-sigmoid": (svm.NuSVC(kernel="sigmoid", nu=0.2), X, BINARY, PROBE),
        "tree": (tree.DecisionTreeClassifier(**small), X, THREE, PROBE),
        "tree-labels": (tree.DecisionTreeClassifier(**small), X, LABELS, PROBE),
        "tree-names": (tree.DecisionTreeClassifier(**small), X, NAMES, PROBE),
        "extra-tree-one-feature": (tree.ExtraTreeClassifier(**small), X[:, :1], BINARY, PROBE[:, :1]),
        "forest": (ensemble.RandomForestClassifier(**few), X, THREE, PROBE),
        "forest-binary": (ensemble.RandomForestClassifier(**few), X, BINARY, PROBE),
        "forest-labels": (ensemble.RandomForestClassifier(**few), X, LABELS, PROBE),
        "extra-trees": (ensemble.ExtraTreesClassifier(**few), X, NAMES, PROBE),
        "boosting-binary": (ensemble.GradientBoostingClassifier(**few), X, BINARY, PROBE),
        "boosting-three": (ensemble.GradientBoostingClassifier(**few), X, THREE, PROBE),
        "ada-boost": (
            ensemble.AdaBoostClassifier(tree.DecisionTreeClassifier(max_depth=1), n_estimators=4, random_state=0),
            X, THREE, PROBE,
        ),
        "bagging": (
            ensemble.BaggingClassifier(tree.DecisionTreeClassifier(**small), n_estimators=3, random_state=0),
            X, THREE, PROBE,
        ),
        "voting-soft": (ensemble.VotingClassifier(pair, voting="soft", flatten_transform=False), X, THREE, PROBE),
        "voting-hard": (ensemble.VotingClassifier(pair, flatten_transform=False), X, THREE, PROBE),
        "stacking": (ensemble.StackingClassifier(pair, cv=2), X, BINARY, PROBE),
        "naive-gauss": (naive_bayes.GaussianNB(), X, THREE, PROBE),
        "naive-bernoulli": (naive_bayes.BernoulliNB(), X, THREE, PROBE),
        "naive-multinomial": (naive_bayes.MultinomialNB(), np.abs(X), THREE, np.abs(PROBE)),
        "naive-complement": (naive_bayes.ComplementNB(), np.abs(X), THREE, np.abs(PROBE)),
        "neighbours": (neighbors.KNeighborsClassifier(3), X, THREE, PROBE),
        "neighbours-labels": (neighbors.KNeighborsClassifier(3), X, LABELS, PROBE),
        "radius-neighbours": (neighbors.RadiusNeighborsClassifier(50.0), X, THREE, PROBE),
        "network-binary": (neural_network.MLPClassifier((5,), max_iter=40, random_state=0), X, BINARY, PROBE),
        "network-three": (
            neural_network.MLPClassifier((5, 3), "tanh", max_iter=40, random_state=0), X, THREE, PROBE,
        ),
        "network-labels": (neural_network.MLPClassifier((5,), max_iter=40, random_state=0), X, LABELS, PROBE),
        "linear-discriminant": (LinearDiscriminantAnalysis(), X, THREE, PROBE),
        "quadratic-discriminant": (QuadraticDiscriminantAnalysis(), X, THREE, PROBE),
        "calibrated": (CalibratedClassifierCV(svm.LinearSVC(random_state=0), cv=2), X, THREE, PROBE),
        "calibrated-isotonic": (
            CalibratedClassifierCV(logistic(), method="isotonic", cv=2), X, BINARY, PROBE,
        ),
        "one-vs-one": (OneVsOneClassifier(logistic()), X, THREE, PROBE),
        "one-vs-rest-labels": (OneVsRestClassifier(logistic()), X, LABELS, PROBE),
        "multi-output": (MultiOutputClassifier(tree.DecisionTreeClassifier(**small)), X, LABELS, PROBE),
        "pipeline": (make_pipeline(StandardScaler(), MinMaxScaler(), logistic()), X, NAMES, PROBE),
    }  # fmt: skip


def regressors() -> dict[str, tuple[Any, Any, Any, Any]]:
    """Name: estimator, training data, targets, probe."""
    from sklearn import ensemble, gaussian_process, linear_model, neighbors, neural_network, svm, tree
    from sklearn.cross_decomposition import PLSRegression
    from sklearn.multioutput import MultiOutputRegressor

    small = {"max_depth": 3, "random_state": 0}
    few = {"n_estimators": 5, **small}
    lm = linear_model
    return {
        "linear": (lm.LinearRegression(), X, REAL, PROBE),
        "linear-two": (lm.LinearRegression(), X, REALS, PROBE),
        "linear-one-feature": (lm.LinearRegression(fit_intercept=False), X[:, :1], REAL, PROBE[:, :1]),
        "ridge": (lm.Ridge(), X, REALS, PROBE),
        "lasso": (lm.Lasso(0.1), X, REAL, PROBE),
        "elastic": (lm.MultiTaskElasticNet(0.1), X, REALS, PROBE),
        "bayes-ridge": (lm.BayesianRidge(), X, REAL, PROBE),
        "huber": (lm.HuberRegressor(), X, REAL, PROBE),
        "poisson": (lm.PoissonRegressor(), X, COUNTS, PROBE),
        "gamma": (lm.GammaRegressor(), X, COUNTS + 1, PROBE),
        "tweedie": (lm.TweedieRegressor(power=1.5), X, COUNTS, PROBE),
        "ransac": (lm.RANSACRegressor(random_state=0), X, REAL, PROBE),
        "quantile": (lm.QuantileRegressor(alpha=0.01), X, REAL, PROBE),
        "svr-rbf": (svm.SVR(), X, REAL, PROBE),
        "svr-poly": (svm.SVR(kernel="poly", degree=2), X, REAL, PROBE),
        "nu-svr": (svm.NuSVR(kernel="linear"), X, REAL, PROBE),
        "linear-svr": (svm.LinearSVR(random_state=0), X, REAL, PROBE),
        "tree-regressor": (tree.DecisionTreeRegressor(**small), X, REAL, PROBE),
        "tree-regressor-two": (tree.DecisionTreeRegressor(**small), X, REALS, PROBE),
        "forest-regressor": (ensemble.RandomForestRegressor(**few), X, REAL, PROBE),
        "extra-trees-regressor-two": (ensemble.ExtraTreesRegressor(**few), X, REALS, PROBE),
        "boosting-regressor": (ensemble.GradientBoostingRegressor(**few), X, REAL, PROBE),
        "ada-boost-regressor": (
            ensemble.AdaBoostRegressor(tree.DecisionTreeRegressor(**small), n_estimators=3, random_state=0),
            X, REAL, PROBE,
        ),
        "bagging-regressor": (ensemble.BaggingRegressor(n_estimators=2, random_state=0), X[:15], REAL[:15], PROBE),
        "voting-regressor": (ensemble.VotingRegressor(
            [("a", lm.LinearRegression()), ("b", tree.DecisionTreeRegressor(**small))]), X, REAL, PROBE),
        "neighbours-regressor": (neighbors.KNeighborsRegressor(3), X, REALS, PROBE),
        "network-regressor": (
            neural_network.MLPRegressor(hidden_layer_sizes=(5,), max_iter=40, random_state=0), X, REALS, PROBE,
        ),
        "gauss-process": (gaussian_process.GaussianProcessRegressor(alpha=0.1), X[:12], REAL[:12], PROBE),
        "pls": (PLSRegression(2), X, REALS, PROBE),
        "multi-output-regressor": (MultiOutputRegressor(lm.Ridge()), X, REALS, PROBE),
    }  # fmt: skip


def transformers() -> dict[str, tuple[Any, Any, Any, Any]]:
    """Name: transformer, training data, targets or None, probe."""
    from sklearn import cluster, decomposition, ensemble, feature_selection, impute, mixture, neighbors, svm
    from sklearn import preprocessing as p
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
    from sklearn.pipeline import make_union
    from sklearn.random_projection import GaussianRandomProjection

    return {
        "standard-scaler": (p.StandardScaler(), X, None, PROBE),
        "robust-scaler": (p.RobustScaler(), X, None, PROBE),
        "max-abs-scaler": (p.MaxAbsScaler(), X, None, PROBE),
        "normalizer-l1": (p.Normalizer("l1"), X, None, PROBE),
        "normalizer-l2": (p.Normalizer("l2"), X, None, PROBE),
        "normalizer-max": (p.Normalizer("max"), X, None, PROBE),
        "binarizer": (p.Binarizer(threshold=0.2), X, None, PROBE),
        "bins-ordinal": (p.KBinsDiscretizer(3, encode="ordinal"), X, None, PROBE),
        "bins-one-hot": (p.KBinsDiscretizer(3, encode="onehot-dense"), X, None, PROBE),
        "polynomial": (p.PolynomialFeatures(2), X, None, PROBE),
        "power": (p.PowerTransformer(), X, None, PROBE),
        "one-hot-words": (p.OneHotEncoder(sparse_output=False), WORDS, None, PROBE_WORDS),
        "one-hot-unknown": (
            p.OneHotEncoder(sparse_output=False, handle_unknown="ignore"), WORDS, None,
            np.where(PROBE_WORDS == "red", "pink", PROBE_WORDS).astype(object),
        ),
        "one-hot-numbers": (p.OneHotEncoder(sparse_output=False), NUMBERS, None, NUMBERS[:PROBED]),
        "ordinal-words": (p.OrdinalEncoder(), WORDS, None, PROBE_WORDS),
        "label-words": (p.LabelEncoder(), WORDS[:, 0], None, PROBE_WORDS[:, 0]),
        "imputer-mean": (impute.SimpleImputer(), GAPS, None, PROBE_GAPS),
        "imputer-constant": (impute.SimpleImputer(strategy="constant", fill_value=-1.0), GAPS, None, PROBE_GAPS),
        "imputer-neighbours": (impute.KNNImputer(n_neighbors=2), GAPS, None, PROBE_GAPS),
        "best-features": (feature_selection.SelectKBest(k=2), X, THREE, PROBE),
        "variance": (feature_selection.VarianceThreshold(0.8), X, None, PROBE),
        "pca": (decomposition.PCA(2, svd_solver="full"), X, None, PROBE),
        "truncated-svd": (decomposition.TruncatedSVD(2, random_state=0), X, None, PROBE),
        "k-means": (cluster.KMeans(3, n_init=1, random_state=0), X, None, PROBE),
        "mixture": (mixture.GaussianMixture(2, random_state=0), X, None, PROBE),
        "isolation": (ensemble.IsolationForest(n_estimators=4, max_samples=20, random_state=0), X, None, PROBE),
        "one-class": (svm.OneClassSVM(), X, None, PROBE),
        "local-outliers": (neighbors.LocalOutlierFactor(5, novelty=True), X, None, PROBE),
        "random-projection": (GaussianRandomProjection(2, random_state=0), X, None, PROBE),
        "count-words": (CountVectorizer(), TEXTS, None, TEXTS),
        "tf-idf": (TfidfVectorizer(ngram_range=(1, 2)), TEXTS, None, TEXTS),
        "union": (make_union(p.StandardScaler(), p.MinMaxScaler()), X, None, PROBE),
        "columns": (ColumnTransformer([("a", p.StandardScaler(), [0, 2]), ("b", "passthrough", [1])]), X, None, PROBE),
    }  # fmt: skip


def boosters() -> dict[str, tuple[Any, Any, Any, Any]]:
    """Gradient boosting of other packages, exported by onnxmltools."""
    import lightgbm as lgb
    import xgboost as xgb

    few = {"n_estimators": 4, "max_depth": 3}
    light = {**few, "min_child_samples": 3, "verbose": -1, "deterministic": True, "num_threads": 1}
    rare = {**few, "nthread": 1}
    return {
        "light-binary": (lgb.LGBMClassifier(**light), X, BINARY, PROBE),
        "light-three": (lgb.LGBMClassifier(**light), X, THREE, PROBE),
        "light-names": (lgb.LGBMClassifier(**light), X, NAMES, PROBE),
        "light-gaps": (lgb.LGBMClassifier(**light), GAPS, BINARY, PROBE_GAPS),
        "light-one-feature": (lgb.LGBMClassifier(**light), X[:, :1], BINARY, PROBE[:, :1]),
        "light-regressor": (lgb.LGBMRegressor(**light), X, REAL, PROBE),
        "light-regressor-gaps": (lgb.LGBMRegressor(**light), GAPS, REAL, PROBE_GAPS),
        "light-poisson": (lgb.LGBMRegressor(objective="poisson", **light), X, COUNTS, PROBE),
        "light-forest": (
            lgb.LGBMRegressor(boosting_type="rf", bagging_freq=1, bagging_fraction=0.7, **light), X, REAL, PROBE,
        ),
        "xgb-binary": (xgb.XGBClassifier(**rare), X, BINARY, PROBE),
        "xgb-three": (xgb.XGBClassifier(**rare), X, THREE, PROBE),
        "xgb-gaps": (xgb.XGBClassifier(**rare), GAPS, BINARY, PROBE_GAPS),
        "xgb-one-feature": (xgb.XGBClassifier(**rare), X[:, :1], THREE, PROBE[:, :1]),
        "xgb-regressor": (xgb.XGBRegressor(**rare), X, REAL, PROBE),
        "xgb-regressor-gaps": (xgb.XGBRegressor(**rare), GAPS, REAL, PROBE_GAPS),
        "xgb-poisson": (xgb.XGBRegressor(objective="count:poisson", **rare), X, COUNTS, PROBE),
        "xgb-forest": (xgb.XGBRFRegressor(subsample=0.7, **rare), X, REAL, PROBE),
    }  # fmt: skip


def _exported(name: str, estimator: Any, probe: np.ndarray) -> Any:
    if name.startswith(("light-", "xgb-")):
        from onnxmltools import convert_lightgbm, convert_xgboost
        from onnxmltools.convert.common.data_types import FloatTensorType as Floats

        typed = [("X", Floats([None, probe.shape[1]]))]
        if name.startswith("light-"):
            return convert_lightgbm(estimator, initial_types=typed, target_opset=15, zipmap=name.endswith("names"))
        return convert_xgboost(estimator, initial_types=typed, target_opset=15)
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType

    kind = {"f": FloatTensorType, "i": Int64TensorType}.get(probe.dtype.kind, StringTensorType)
    shape = [None, probe.shape[1]] if probe.ndim == 2 else [None]
    # A classifier's probabilities as a map in every third export: that is what skl2onnx does without options.
    plain = len(name) % 3 != 0
    options = {id(estimator): {"zipmap": False}} if plain and hasattr(estimator, "predict_proba") else None
    try:
        return to_onnx(estimator, initial_types=[("X", kind(shape))], options=options, target_opset=OPSETS)
    except Exception as error:
        if options is None or "zipmap" not in str(error):
            raise
        return to_onnx(estimator, initial_types=[("X", kind(shape))], target_opset=OPSETS)


def _predicted(estimator: Any, probe: np.ndarray) -> dict[str, np.ndarray]:
    found = {}
    for method in ("predict", "predict_proba", "transform"):
        if hasattr(estimator, method):
            made = getattr(estimator, method)(probe)
            made = np.stack(made, 1) if isinstance(made, list) else made
            made = made.toarray() if hasattr(made, "toarray") else np.asarray(made)
            found[method] = made.astype(str) if made.dtype == object else made
    return found


def main(folder: Path) -> None:
    """Write ``models.npz``; what an exporter refuses is named and left out."""
    arrays: dict[str, np.ndarray] = {}
    for group in (classifiers, regressors, transformers, boosters):
        members = group()
        for name, (estimator, data, targets, probe) in members.items():
            try:
                estimator.fit(data) if targets is None else estimator.fit(data, targets)
                predicted = _predicted(estimator, probe)
                model = _exported(name, estimator, probe)
            except Exception as error:
                print(f"left out: {name}: {type(error).__name__}: {' '.join(str(error).split())[:160]}")
                continue
            del model.metadata_props[:]
            model.doc_string = model.graph.doc_string = ""
            model.graph.name = name
            arrays[f"{name}|model"] = np.frombuffer(model.SerializeToString(), np.uint8)
            arrays[f"{name}|X"] = probe.astype(str) if probe.dtype == object else probe
            arrays |= {f"{name}|{method}": made for method, made in predicted.items()}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    (folder / "models.npz").write_bytes(buffer.getvalue())
    print(f"{sum('|model' in key for key in arrays)} estimators, {len(buffer.getvalue()) // 1024} KB")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
