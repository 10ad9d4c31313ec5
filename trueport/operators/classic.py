"""The operators of ai.onnx.ml and of ONNX's previews."""

from __future__ import annotations

from functools import partial

from trueport.fidelity import AGAINST_DATA, accumulation, ulps
from trueport.operators.record import Kind, Operator

__all__ = ["OPERATORS"]

_model = partial(Operator, kind=Kind.CLASSIC, error=accumulation(), domain="ai.onnx.ml")
_encoder = partial(Operator, kind=Kind.CLASSIC, error=None, domain="ai.onnx.ml")
_optimizer = partial(Operator, kind=Kind.TRAINING, error=accumulation(8), domain="ai.onnx.preview.training")
_preview = partial(Operator, kind=Kind.ATTENTION, domain="ai.onnx.preview")

OPERATORS: tuple[Operator, ...] = (
    _model("Binarizer", error=None),
    _model("Imputer", error=None),
    _model("LinearClassifier", error=accumulation(against=AGAINST_DATA)),
    _model("LinearRegressor", error=accumulation(against=AGAINST_DATA)),
    _model("Normalizer", error=accumulation(4)),
    _model("SVMClassifier", error=accumulation(8, against=AGAINST_DATA)),
    _model("SVMRegressor", error=accumulation(8, against=AGAINST_DATA)),
    _model("Scaler", error=ulps(2)),
    _model("TreeEnsemble"),
    _model("TreeEnsembleClassifier"),
    _model("TreeEnsembleRegressor"),
    _encoder("ArrayFeatureExtractor"),
    _encoder("CastMap", error=ulps(0)),
    _encoder("CategoryMapper"),
    _encoder("DictVectorizer"),
    _encoder("FeatureVectorizer", error=ulps(0)),
    _encoder("LabelEncoder"),
    _encoder("OneHotEncoder"),
    _encoder("ZipMap"),
    _optimizer("Adagrad"),
    _optimizer("Adam"),
    _optimizer("Gradient"),
    _optimizer("Momentum"),
    _preview("FlexAttention", error=accumulation(8, against=AGAINST_DATA)),
)
