"""The catalogue: what is measured, and the inputs it is measured with."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from bench import architectures
from bench.layers import Net
from bench.onnx_net import QuantizedOnnxNet, onnx_model
from bench.real_models import from_package, light

__all__ = ["CACHE", "CATALOGUE", "BenchModel", "find", "matching"]

CACHE = Path(__file__).parent / ".cache"
"""Where models and their conversions are kept."""
Architecture = Callable[[Net], Any]
Feeds = dict[str, np.ndarray]


@dataclass(frozen=True)
class BenchModel:
    """A model, how its file is made, and one sample."""

    name: str
    make: Callable[[Path], onnx.ModelProto | Path]
    """given a cache folder: the model, or the path of one"""
    feeds: Callable[[np.random.Generator], Feeds]
    architecture: Architecture | None = None
    """for models that there is a hand-written Keras form of"""
    quick: bool = False

    def file(self, cache: Path) -> Path:
        """The model's file, made once."""
        path = cache / "models" / f"{self.name}.onnx"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            made = self.make(cache)
            onnx.save(onnx.load(made) if isinstance(made, Path) else made, path)
        return path

    def sample(self) -> Feeds:
        return self.feeds(np.random.default_rng(0))


def _normal(name: str, *shape: int) -> Callable[[np.random.Generator], Feeds]:
    return lambda rng: {name: rng.normal(size=shape).astype(np.float32)}


def _written(architecture: Architecture, *shape: int, quick: bool = False) -> BenchModel:
    return BenchModel(
        architecture.__name__, lambda cache: onnx_model(architecture), _normal("x", *shape), architecture, quick
    )


def _packaged(name: str, package: str, file: str, feeds: Callable[[np.random.Generator], Feeds]) -> BenchModel:
    return BenchModel(name, lambda cache: from_package(package, file, cache), feeds)


def _light(name: str, port: str, *shape: int) -> BenchModel:
    return BenchModel(f"light_{name}", lambda cache: light(name), _normal(port, *shape))


def _loop(cache: Path) -> onnx.ModelProto:
    """Forty steps of x ← W x, scaled down in those steps where it has grown: a Loop with an If in it."""
    rng = np.random.default_rng(0)
    weight = numpy_helper.from_array(rng.normal(0, 0.2, (64, 64)).astype(np.float32), "w")
    value = helper.make_tensor_value_info

    def branch(name: str, kind: str, *inputs: str) -> onnx.GraphProto:
        node = helper.make_node(kind, list(inputs), [name])
        return helper.make_graph([node], name, [], [value(name, TensorProto.FLOAT, None)])

    body = helper.make_graph(
        [
            helper.make_node("MatMul", ["before", "w"], ["grown"]),
            helper.make_node("ReduceMax", ["grown"], ["peak"], keepdims=0),
            helper.make_node("Greater", ["peak", "one"], ["large"]),
            helper.make_node(
                "If",
                ["large"],
                ["after"],
                then_branch=branch("shrunk", "Div", "grown", "peak"),
                else_branch=branch("same", "Tanh", "grown"),
            ),
            helper.make_node("Identity", ["going"], ["on"]),
        ],
        "body",
        [
            value("i", TensorProto.INT64, []),
            value("going", TensorProto.BOOL, []),
            value("before", TensorProto.FLOAT, [8, 64]),
        ],
        [value("on", TensorProto.BOOL, []), value("after", TensorProto.FLOAT, [8, 64])],
    )
    constants = [
        weight,
        numpy_helper.from_array(np.array(1, np.float32), "one"),
        numpy_helper.from_array(np.array(40), "trips"),
        numpy_helper.from_array(np.array(True), "yes"),
    ]
    graph = helper.make_graph(
        [helper.make_node("Loop", ["trips", "yes", "x"], ["y"], body=body)],
        "loop",
        [value("x", TensorProto.FLOAT, [8, 64])],
        [value("y", TensorProto.FLOAT, [8, 64])],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _silero(rng: np.random.Generator) -> Feeds:
    sound, state = (rng.normal(size=size).astype(np.float32) for size in ((1, 576), (2, 1, 128)))
    return {"input": 0.1 * sound, "state": state, "sr": np.array(16000, np.int64)}


def _magika(rng: np.random.Generator) -> Feeds:
    return {"bytes": rng.integers(0, 257, (1, 2048)).astype(np.int32)}


OCR = "rapidocr_onnxruntime/models"
CATALOGUE = (
    _written(architectures.small_cnn, 1, 1, 28, 28, quick=True),
    _written(architectures.resnet18, 1, 3, 224, 224, quick=True),
    _written(architectures.mobilenet_v2, 1, 3, 224, 224),
    _written(architectures.vgg11, 1, 3, 224, 224),
    _written(architectures.squeezenet, 1, 3, 224, 224),
    _written(architectures.densenet, 1, 3, 224, 224),
    _written(architectures.transformer, 1, 64, 256, quick=True),
    _written(architectures.lstm, 1, 64, 64, quick=True),
    _written(architectures.gru, 1, 64, 64),
    BenchModel(
        "quantized_resnet18",
        lambda cache: onnx_model(architectures.resnet18, QuantizedOnnxNet()),
        _normal("x", 1, 3, 224, 224),
    ),
    BenchModel("loop", _loop, _normal("x", 8, 64)),
    _light("resnet50", "gpu_0/data_0", 1, 3, 224, 224),
    _light("bvlc_alexnet", "data_0", 1, 3, 224, 224),
    _light("inception_v2", "data_0", 1, 3, 224, 224),
    _light("shufflenet", "gpu_0/data_0", 1, 3, 224, 224),
    _light("densenet121", "data_0", 1, 3, 224, 224),
    _packaged("silero_vad", "silero-vad==6.2.3", "silero_vad/data/silero_vad.onnx", _silero),
    _packaged("magika", "magika==1.0.3", "magika/models/standard_v3_3/model.onnx", _magika),
    _packaged(
        "ocr_detect",
        "rapidocr-onnxruntime==1.4.4",
        f"{OCR}/ch_PP-OCRv4_det_infer.onnx",
        _normal("x", 1, 3, 320, 320),
    ),
    _packaged(
        "ocr_classify",
        "rapidocr-onnxruntime==1.4.4",
        f"{OCR}/ch_ppocr_mobile_v2.0_cls_infer.onnx",
        _normal("x", 1, 3, 48, 192),
    ),
    _packaged(
        "ocr_recognize",
        "rapidocr-onnxruntime==1.4.4",
        f"{OCR}/ch_PP-OCRv4_rec_infer.onnx",
        _normal("x", 1, 3, 48, 320),
    ),
    _packaged("yolo_nudenet", "nudenet==3.4.2", "nudenet/320n.onnx", _normal("images", 1, 3, 320, 320)),
    _packaged("yolox_ddddocr", "ddddocr==1.6.1", "ddddocr/common_det.onnx", _normal("images", 1, 3, 416, 416)),
)


def find(name: str) -> BenchModel:
    """The model of this name."""
    return next(model for model in CATALOGUE if model.name == name)


def matching(pattern: str, quick: bool) -> Iterator[BenchModel]:
    """The models whose name holds the pattern."""
    return (model for model in CATALOGUE if re.search(pattern, model.name) and (model.quick or not quick))
